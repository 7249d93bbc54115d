import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap } from '../../src/index.ts'
import { makeKeys } from '../../src/keys.ts'
import { Queue } from '../../src/queue.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts'

const server = useRedis()
const keys = () => makeKeys(server.namespace).queue('q')

const echo = defineTask('echo:1.0', { idempotent: true }, args => args)

/** How often Redis ran a command since it was started. */
const countOf = async (command: string): Promise<number> => {
  const stats = await server.redis.info('commandstats')
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
}

/** Resolves when the worker waits so that it takes the next call without the claim script. */
const settledDown = async (): Promise<void> => {
  await server.hub().call('echo:1.0', 0)
  await eventually(async () => String(await server.redis.call('CLIENT', 'LIST')).includes('cmd=blpop'))
}

const startProcess = async (): Promise<WorkerProcess> => {
  const worker = await startWorkerProcess(server.url, server.namespace)
  server.onEnd(async () => {
    worker.signal('SIGKILL')
    await worker.exited
    await server.redis.del(keys().leases, keys().bell)
  })
  return worker
}

describe('lone calls', () => {
  it('are taken without the claim script, and nothing of them is left', async () => {
    await server.worker([echo])
    const hub = server.hub()
    await hub.call('echo:1.0', 0)
    const before = await countOf('evalsha')
    const movesBefore = await countOf('lmove')
    for (let n = 1; n <= 20; n++) expect(await hub.call('echo:1.0', n)).toBe(n)
    expect((await countOf('lmove')) - movesBefore).toBeGreaterThanOrEqual(19)
    // One for each push, and those of a few beats.
    expect((await countOf('evalsha')) - before).toBeLessThan(30)
    await eventually(async () => !(await server.keys()).some(key => key.includes(':taken:')))
  })

  it('that turn out to be several are all run at once', async () => {
    const worker = await server.worker([echo])
    await settledDown()
    const hub = server.hub()
    const since = performance.now()
    await Promise.all(Array.from({ length: 50 }, (_, n) => hub.call('echo:1.0', n)))
    // Without a claim for the others they would wait until the end of a wait.
    expect(performance.now() - since).toBeLessThan(1500)
    await eventually(() => worker.busy === 0)
  })

  it('are shown as held while they run', async () => {
    let end: () => void = () => undefined
    const slow = defineTask('slow:1.0', {}, () => new Promise<void>(resolve => (end = resolve)))
    await server.worker([echo, slow])
    await settledDown()
    const hub = server.hub()
    const call = hub.call('slow:1.0', {})
    await eventually(async () => (await server.keys()).some(key => key.startsWith('{q}:taken:')))
    expect(await hub.queues()).toMatchObject([{ queue: 'q', held: 1 }])
    end()
    await call
    await eventually(async () => (await hub.queues())[0]?.held === 0)
  })

  it('that cannot end in time are answered Expired and not started', async () => {
    let starts = 0
    const slow = defineTask('slow:1.0', {}, async () => {
      starts++
      await new Promise(resolve => setTimeout(resolve, 300))
    })
    const worker = await server.worker([slow])
    const hub = server.hub()
    for (let n = 0; n < 3; n++) await hub.call('slow:1.0', {})
    // What it is told of its tasks is as of the last beat.
    await new Promise(resolve => worker.events.on('worker:beat', resolve))
    await eventually(async () => String(await server.redis.call('CLIENT', 'LIST')).includes('cmd=blpop'))
    // Pushed as another caller does, which knows nothing of how long it runs.
    const id = 'of-another'
    const [seconds, us] = await server.redis.time()
    const at = Number(seconds) * 1_000_000 + Number(us)
    const list = `${server.namespace}:reply:{${id}}`
    const text = `{"at":${at},"ttl":150,"id":"${id}","task":"slow:1.0","args":{},"result_queue":"${list}"}`
    await server.redis.multi().rpush(keys().calls, text).rpush(keys().bell, '1').exec()
    const [, reply] = (await server.redis.blpop(list, 2))!
    expect(JSON.parse(reply)).toMatchObject({ id, ok: false, error: { code: 'Expired' } })
    expect(starts).toBe(3)
    await eventually(async () => !(await server.keys()).some(key => key.includes(':taken:')))
    expect(worker.busy).toBe(0)
  })

  it('for a task that only another worker has go to that one', async () => {
    const other = defineTask('other:1.0', {}, () => 'from the other one')
    const first = await server.worker([echo])
    await settledDown()
    const handedBack: EventMap['request:handedback'][] = []
    first.events.on('request:handedback', event => handedBack.push(event))
    const second = await server.worker([other])
    const hub = server.hub()
    // What was not put back at once would be found by two looks, a second apart.
    for (let n = 0; n < 5; n++) expect(await hub.call('other:1.0', n, { timeoutMs: 1500 })).toBe('from the other one')
    await eventually(() => second.busy === 0)
    expect(handedBack.length).toBeGreaterThan(0)
  })

  it('that were pushed by hand run, whatever their fields and order', async () => {
    const seen: unknown[] = []
    const note = defineTask('note:1.0', {}, args => {
      seen.push(args)
    })
    await server.worker([echo, note])
    await settledDown()
    for (const text of ['{"task":"note:1.0","args":1}', '{"args":2,"id":"own","task":"note:1.0"}', 'no request']) {
      await server.redis.multi().rpush(keys().calls, text).rpush(keys().bell, '1').exec()
      await eventually(async () => (await server.redis.llen(keys().calls)) === 0)
    }
    await eventually(() => seen.length === 2)
    expect(seen).toEqual([1, 2])
    await eventually(async () => !(await server.keys()).some(key => /:(held|taken):/.test(key)))
  })
})

describe('a worker that took a call by itself', () => {
  it('and is killed costs an idempotent one nothing but time, and any other ends as WorkerLost', async () => {
    const first = await startProcess()
    const hub = server.hub()
    await hub.call('again:1.0', { n: 0, ms: 0 })
    const again = hub.call('again:1.0', { n: 1, ms: 3000 }, { timeoutMs: 20_000 })
    await eventually(() => first.lines.includes('start 1'))
    const once = failure(hub.call('once:1.0', { n: 2, ms: 3000 }, { timeoutMs: 20_000 }))
    await eventually(() => first.lines.includes('start 2'))
    const [key] = await server.redis.keys(`${server.namespace}:{q}:taken:*`)
    expect(await server.redis.llen(key!)).toBe(2)
    const second = await startProcess()
    first.signal('SIGKILL')
    expect(await once).toMatchObject({ code: 'WorkerLost', ran: 'maybe' })
    expect(await again).toEqual({ n: 1, pid: second.pid })
    expect(second.lines).not.toContain('start 2')
    // What it had sent before it died, and what is still on its way, takes nothing any more.
    expect(await server.redis.type(key!)).toBe('string')
  })

  it('and is stopped puts an idempotent one back at once', async () => {
    const first = await startProcess()
    const hub = server.hub()
    await hub.call('again:1.0', { n: 0, ms: 0 })
    const call = hub.call('again:1.0', { n: 1, ms: 500 }, { timeoutMs: 20_000 })
    await eventually(() => first.lines.includes('start 1'))
    expect(await server.redis.keys(`${server.namespace}:{q}:taken:*`)).toHaveLength(1)
    const second = await startProcess()
    first.signal('SIGTERM')
    first.signal('SIGTERM')
    expect(await call).toMatchObject({ n: 1 })
    expect([...first.lines, ...second.lines].filter(line => line === 'end 1').length).toBeGreaterThanOrEqual(1)
    await first.exited
  })

  it('without a lease puts it back, and rings for others', async () => {
    const { calls, bell, held, taken } = keys()
    const queue = new Queue('q', makeKeys(server.namespace))
    for (const text of ['{"at":1,"ttl":0,"id":"a","task":"echo:1.0","args":1}', '{"task":"echo:1.0"}']) {
      await server.redis.multi().rpush(calls, text).rpush(bell, '1').exec()
      expect(await queue.waitAndTake(server.redis, 'w', { slots: 2, jobs: 0, runTimes: [] })).toBeUndefined()
      expect(await server.redis.lrange(calls, 0, -1)).toEqual([text])
      expect(await server.redis.llen(bell)).toBe(1)
      expect(await server.redis.exists(held('w'), taken('w'))).toBe(0)
      await server.redis.del(calls, bell)
    }
  })

  it('uses the script when Redis is full', async () => {
    const { calls, bell, held, leases } = keys()
    const queue = new Queue('q', makeKeys(server.namespace))
    const text = '{"at":1,"ttl":0,"id":"a","task":"echo:1.0","args":1}'
    await server.redis.zadd(leases, 4e12, 'w')
    await server.redis.multi().rpush(calls, text).rpush(bell, '1').exec()
    await server.redis.config('SET', 'maxmemory', '1')
    const claimed = await queue
      .waitAndTake(server.redis, 'w', { slots: 2, jobs: 0, runTimes: [] })
      .finally(() => server.redis.config('SET', 'maxmemory', '0'))
    expect(claimed?.requests).toEqual([{ text, madeUpId: undefined, isJob: false, isTaken: false }])
    expect(await server.redis.hgetall(held('w'))).toEqual({ a: text })
    await server.redis.del(held('w'), leases)
  })

  it("loses nothing to somebody else's key under the name of its hash", async () => {
    const { taken, held, leases } = keys()
    const queue = new Queue('q', makeKeys(server.namespace))
    const text = '{"at":1,"ttl":0,"id":"a","task":"echo:1.0","args":1}'
    await server.redis.rpush(taken('w'), text)
    await server.redis.set(held('w'), 'somebody else')
    await server.redis.zadd(leases, 1, 'w', 4e12, 'v')
    expect((await failure(queue.leave(server.redis, 'w', []))).message).toMatch(/WRONGTYPE/)
    expect((await failure(queue.adopt(server.redis, 'w', 'v'))).message).toMatch(/WRONGTYPE/)
    expect((await failure(queue.taken.hold(server.redis, 'w', [{ id: 'a', text }]))).message).toMatch(/WRONGTYPE/)
    expect(await server.redis.lrange(taken('w'), 0, -1)).toEqual([text])
    await server.redis.del(taken('w'), held('w'), leases)
  })

  it('tells of a bell that it may not wait for', async () => {
    const { bell } = keys()
    const queue = new Queue('q', makeKeys(server.namespace))
    await server.redis.set(bell, 'somebody else')
    const refused = failure(queue.waitAndTake(server.redis, 'w', { slots: 2, jobs: 0, runTimes: [] }))
    expect((await refused).message).toMatch(/^WRONGTYPE/)
    await server.redis.del(bell)
  })
})
