import { describe, expect, it } from 'vitest'
import type { EventMap } from '../../src/index.ts'
import { adoptions, blockingWorkers, logged } from '../support/blocking.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const { start, idOf, holder, startBystander, keepaliveConnections } = blockingWorkers(it_)

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
    await eventually(() => logged(worker, /going on under a new id/).length === 1)
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

describe('a lease of two seconds', () => {
  it('is kept under load and stalls of 0.4 of it, and a death is found out long before the deadline', async () => {
    const worker = await start()
    const other = await start()
    const ids = [await idOf(worker), await idOf(other)]
    const hub = it_.hub()
    const end = Date.now() + 5000
    const load = async () => {
      while (Date.now() < end) await hub.call('once:1.0', { n: 0, ms: 0 }, { timeoutMs: 20_000 })
    }
    const stalls = async () => {
      while (Date.now() < end) await hub.call('block:1.0', { ms: 800 }, { timeoutMs: 20_000 })
    }
    await Promise.all([...Array.from({ length: 16 }, load), stalls(), stalls()])
    expect([await idOf(worker), await idOf(other)]).toEqual(ids)
    expect([...adoptions(worker), ...adoptions(other)]).toEqual([])

    const call = failure(hub.call('block:1.0', { ms: 30_000, afterMs: 30_000 }, { timeoutMs: 60_000 }))
    const victim = (await eventually(holder)) === ids[0] ? worker : other
    victim.signal('SIGKILL')
    expect(await call).toMatchObject({ code: 'WorkerLost' })
  }, 90_000)
})
