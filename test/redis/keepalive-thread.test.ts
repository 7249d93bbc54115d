import type { RedisOptions } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap, Worker } from '../../src/index.ts'
import { functionOf } from '../../src/redis/library.ts'
import { blockLoop } from '../support/block-loop.mjs'
import { adoptions, blockingWorkers, logged } from '../support/blocking.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
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
    await eventually(() => logged(worker, /lost Redis/).length > 0)
    await new Promise(resolve => setTimeout(resolve, 3000))
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
    await new Promise(resolve => setTimeout(resolve, 4500))
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
    await new Promise(resolve => setTimeout(resolve, 300))
    expect(threads()).toBe(0)
    await without.stop()
  })

  const block = defineTask('block:1.0', { timeoutMs: 20_000 }, ms => blockLoop(ms as number))
  const workerWith = async (redis: RedisOptions) => {
    const { port } = it_.server
    const options = { queue: 'q', namespace: it_.namespace, leaseMs: 2000, logLevel: 'silent', tasks: [block] }
    const worker = new Worker({ ...options, redis: { host: '127.0.0.1', port, ...redis } })
    it_.onEnd(() => worker.stop())
    const problems: EventMap['problem'][] = []
    const blocked: EventMap['loop:blocked'][] = []
    worker.events.on('problem', event => problems.push(event))
    worker.events.on('loop:blocked', event => blocked.push(event))
    await worker.start()
    await it_.hub().call('block:1.0', 3000)
    await eventually(() => blocked.length === 1)
    expect(blocked[0]).toMatchObject({ tasks: ['block:1.0'] })
    return { worker, problems }
  }

  it('connects with the options of its worker', async () => {
    await it_.redis.call('ACL', 'SETUSER', 'someone', 'on', '>secret', '~*', '+@all')
    it_.onEnd(() => it_.redis.call('ACL', 'DELUSER', 'someone'))
    const monitor = await it_.redis.monitor()
    it_.onEnd(() => monitor.disconnect())
    const renewals: unknown[] = []
    monitor.on('monitor', (_time: string, [command, name, keyCount, ...rest]: string[]) => {
      if (command === 'fcall' && name === functionOf('beat')) renewals.push(rest[Number(keyCount)])
    })
    // Functions that nobody would call are no hindrance.
    const options = {
      username: 'someone',
      password: 'secret',
      retryStrategy: () => 50,
      reconnectOnError: () => 2 as const,
    }
    const { worker, problems } = await workerWith(options)
    expect(problems).toEqual([])
    // The first one is the worker's own.
    expect(renewals).toContain(worker.id)
    expect(renewals.length).toBeGreaterThanOrEqual(2)
  })

  it('goes without Redis where the options cannot be copied, says so once, and still names the task', async () => {
    const { problems } = await workerWith({ sentinelReconnectStrategy: () => null })
    expect(problems).toEqual([
      { where: 'keepalive', reason: expect.stringMatching(/options cannot be copied .*costs/) },
    ])
  })
})
