import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { adoptions, blockingWorkers, logged } from '../support/blocking.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { delay } from '../support/delay.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const { start, startBystander, idOf, keepaliveConnections } = blockingWorkers(it_)

/** How many threads with a loop of their own this process has. */
const threads = () => (process.report.getReport() as unknown as { workers: unknown[] }).workers.length

describe('Redis away', () => {
  const proxied = async () => {
    const proxy = await ChaosProxy.start(it_.server.port)
    it_.onEnd(() => proxy.stop())
    let seen = 0
    const spy = (chunk: Buffer) => {
      if (chunk.includes('pshub-worker-keepalive')) seen++
      return false
    }
    proxy.dropAnswersAfter = spy
    return { proxy, attempts: () => seen, heal: () => Object.assign(proxy, { dropToClient: false, refuse: false }) }
  }

  it('is no blocked loop: the thread stays silent', async () => {
    const { proxy, attempts, heal } = await proxied()
    const worker = await start([], proxy.url)
    proxy.dropToClient = true
    await eventually(() => logged(worker, /lost the connection to Redis/).length > 0)
    await delay(3000, 'the thread would connect within half a lease, and tells nobody that it does not')
    expect(attempts()).toBe(0)
    heal()
    await eventually(() => idOf(worker))
    expect(await it_.hub().call('block:1.0', { ms: 2500 }, { timeoutMs: 20_000 })).toBe('done')
    expect(attempts()).toBe(1)
  }, 30_000)

  it('for a part of a blocked loop: the lease is renewed as soon as Redis is back', async () => {
    const { proxy, heal } = await proxied()
    const other = await startBystander()
    const worker = await start(['--lease', '8s'], proxy.url)
    const id = await idOf(worker)
    const result = it_.hub().call('block:1.0', { ms: 12_000 }, { timeoutMs: 30_000 })
    await eventually(() => worker.lines.includes('blocking'))
    proxy.refuse = true
    proxy.cut()
    // With half of the lease gone the thread tries, and tries again.
    await delay(4500, 'half of the lease of a worker whose loop is blocked')
    expect(await keepaliveConnections()).toBe(0)
    heal()
    await eventually(async () => (await keepaliveConnections()) === 1)
    expect(await result).toBe('done')
    expect(adoptions(other)).toEqual([])
    expect(await eventually(() => idOf(worker))).toBe(id)
    const [problem, ...more] = logged(worker, /problem/)
    expect(problem).toMatchObject({ where: 'keepalive', reason: expect.stringMatching(/could not be renewed .*: \S/) })
    expect(more).toEqual([])
  }, 40_000)
})

describe('the keepalive thread', () => {
  it('is one per worker, starts in the background, and is gone when the worker has stopped', async () => {
    expect(threads()).toBe(0)
    const worker = await it_.worker([defineTask('a:1.0', {}, () => 1)])
    await eventually(() => threads() === 1)
    await worker.stop()
    expect(threads()).toBe(0)
    const without = await it_.worker([defineTask('a:1.0', {}, () => 1)], { maxBlockedMs: 0 })
    await delay(300, 'a thread would start in the background, and nothing tells that none does')
    expect(threads()).toBe(0)
    await without.stop()
  })
})
