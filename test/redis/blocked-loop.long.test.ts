import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap } from '../../src/index.ts'
import { blockLoop } from '../support/block-loop.mjs'
import { adoptions, blockingWorkers, logged } from '../support/blocking.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const { start, startBystander, idOf, keepaliveConnections } = blockingWorkers(it_)

describe('a handler that blocks the event loop for three leases', () => {
  it('costs its worker nothing: others adopt nothing, and the result arrives', async () => {
    const other = await startBystander()
    const worker = await start()
    const id = await idOf(worker)
    const hub = it_.hub()
    const held = hub.call('once:1.0', { n: 1, ms: 300 }, { timeoutMs: 20_000 })
    await eventually(() => worker.lines.includes('start 1'))
    const result = hub.call('block:1.0', { ms: 6000 }, { timeoutMs: 20_000 })
    await eventually(() => worker.lines.includes('blocking'))
    expect(await keepaliveConnections()).toBe(0)
    await eventually(async () => (await keepaliveConnections()) === 1)
    // Said while it lasts, and by name.
    const stuck = await eventually(() => logged(worker, /^event loop is blocked$/)[0])
    expect(worker.lines).not.toContain('unblocked')
    expect(stuck).toMatchObject({
      level: 40,
      pid: worker.pid,
      worker: id,
      queue: 'q',
      tasks: expect.arrayContaining(['block:1.0']),
    })
    expect(stuck!.ms).toBeGreaterThanOrEqual(2000)
    const seen = (await hub.workers()).find(({ pid }) => pid === worker.pid)
    expect(seen).toMatchObject({ id, live: true, stats: { draining: false } })
    expect(await result).toBe('done')
    expect(await held).toEqual({ n: 1, pid: worker.pid })
    const over = await eventually(() => logged(worker, /was blocked/)[0])
    expect(over).toMatchObject({ level: 40, worker: id, queue: 'q', tasks: expect.arrayContaining(['block:1.0']) })
    expect(over!.ms).toBeGreaterThanOrEqual(5900)
    await eventually(async () => (await keepaliveConnections()) === 0)
    expect(await idOf(worker)).toBe(id)
    expect(adoptions(other)).toEqual([])
    expect(logged(worker, /lost the connection to Redis|lease expired|problem/)).toEqual([])
  }, 90_000)

  it('is stopped in peace: what runs may end, then the lease is gone and stays gone', async () => {
    const free = await startBystander()
    const blocked = await start()
    const id = await idOf(blocked)
    const result = it_.hub().call('block:1.0', { ms: 4500, afterMs: 800 }, { timeoutMs: 20_000 })
    await eventually(async () => (await it_.redis.exists(`${it_.namespace}:{q}:held:${id}`)) === 1)
    blocked.signal('SIGTERM')
    await eventually(() => logged(blocked, /stopping/).length === 1)
    expect(blocked.lines).toEqual([])
    expect(await result).toBe('done')
    expect(await blocked.exited).toBe(0)
    expect(adoptions(free)).toEqual([])
    expect(logged(blocked, /was blocked/)).toHaveLength(1)
    expect(await it_.redis.zrange(`${it_.namespace}:{q}:leases`, '0', '-1')).toEqual([await idOf(free)])
    expect(await it_.redis.hexists(`${it_.namespace}:workers`, id!)).toBe(0)
  }, 90_000)
})

describe('a loop that is blocked for good', () => {
  it('loses the lease when the limit is over: others take over, and it settles nothing when it comes back', async () => {
    const other = await startBystander()
    const worker = await start(['--max-blocked', '2500ms'])
    const id = await idOf(worker)
    const hub = it_.hub()
    const late: EventMap['reply:late'][] = []
    hub.events.on('reply:late', event => late.push(event))
    const outcome = failure(hub.call('block:1.0', { ms: 8500 }, { timeoutMs: 30_000 }))
    await eventually(() => worker.lines.includes('blocking'))
    expect(await outcome).toMatchObject({ code: 'WorkerLost', ran: 'maybe' })
    // Not the end of the block was the reason.
    expect(worker.lines).not.toContain('unblocked')
    expect(adoptions(other)).toMatchObject([{ worker: id, adopted: 1 }])
    expect(logged(worker, /blocked for too long/)).toMatchObject([{ level: 50, tasks: ['block:1.0'] }])
    expect(await keepaliveConnections()).toBe(0)
    await eventually(() => logged(worker, /continuing under a new worker id/).length === 1)
    const newId = await eventually(() => idOf(worker))
    expect(newId).not.toBe(id)

    // The thread knows the new identity.
    const again = hub.call('block:1.0', { ms: 3500 }, { timeoutMs: 30_000 })
    await eventually(() => worker.lines.filter(line => line === 'blocking').length === 2)
    await delay(2500, 'longer than the lease of the worker that is blocked')
    expect(await idOf(worker)).toBe(newId)
    expect(await again).toBe('done')
    expect(late).toEqual([])
  }, 90_000)
})

describe('after a stall', () => {
  it('the connections are still there, and the event names whose handler it was', async () => {
    const block = defineTask('block:1.0', { timeoutMs: 20_000 }, async args => {
      const [ms, blocked] = args as [number, number]
      await delay(ms, 'so that the other call runs when this one blocks')
      blockLoop(blocked)
      await delay(300, 'so that the loop turns before this call ends')
    })
    const quick = defineTask('quick:1.0', {}, ms => blockLoop(ms as number))
    const idle = defineTask('idle:1.0', {}, () => 1)
    const stubborn = defineTask('stubborn:1.0', {}, async () => {
      await delay(1300, 'until its caller has given up')
      blockLoop(1500)
    })
    const worker = await it_.worker([block, quick, idle, stubborn])
    const hub = it_.hub()
    const events: EventMap['loop:blocked'][] = []
    const down: unknown[] = []
    worker.events.on('loop:blocked', event => events.push(event))
    worker.events.on('redis:down', event => down.push(event))
    hub.events.on('redis:down', event => down.push(event))
    await hub.call('idle:1.0')
    // Longer than what condemns a silent connection. The other one runs as well, and cannot be told from it.
    const both = [hub.call('block:1.0', [100, 3600]), hub.call('block:1.0', [12_000, 0]).catch(() => undefined)]
    await both[0]
    await eventually(() => events.length === 1)
    expect(events[0]).toMatchObject({ worker: worker.id, queue: 'q', tasks: expect.arrayContaining(['block:1.0']) })
    expect(events[0]!.ms).toBeGreaterThanOrEqual(3500)
    // On the stack from its first instruction: it alone, whatever else runs. Unless the machine stalled before it.
    for (let tries = 0; tries < 3 && events.at(-1)?.tasks.join() !== 'quick:1.0'; tries++) {
      const seen = events.length
      await hub.call('quick:1.0', 1500)
      await eventually(() => events.length > seen)
    }
    expect(events.at(-1)).toMatchObject({ tasks: ['quick:1.0'] })
    // Given up long ago, and running still.
    expect((await failure(hub.call('stubborn:1.0', {}, { timeoutMs: 100 }))).code).toBe('Timeout')
    await eventually(() => events.at(-1)?.tasks.join() === 'block:1.0,stubborn:1.0')
    await worker.stop({ graceMs: 0 })
    expect(down).toEqual([])
  })
})
