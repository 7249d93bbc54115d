import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { failure } from './stage-calls.ts'
import type { Stage } from './stages.ts'

/** A task that notes what it is given. */
const noting = (name = 'note:1.0', options = {}) => {
  const seen: unknown[] = []
  const task = defineTask(name, options, async (args: unknown, { attempt }) => {
    seen.push(args)
    return { attempt }
  })
  return { task, seen }
}

/** What becomes of jobs. */
export const jobCases = (stage: () => Stage): void => {
  it('runs jobs, and tells how they fare', async () => {
    const { task, seen } = noting()
    await stage().worker([task])
    const hub = stage().hub()
    const job = await hub.enqueue('note:1.0', { month: 11 }, { tracked: true })
    expect(await job.result()).toEqual({ attempt: 1 })
    expect(seen).toEqual([{ month: 11 }])
    expect(await job.status()).toMatchObject({ state: 'done', tries: 0 })
    const { ids } = await hub.enqueueMany(Array.from({ length: 300 }, (_, n) => ['note:1.0', { n }]))
    await stage().pass(1000)
    expect([ids.length, seen.length]).toEqual([300, 301])
  })

  it('runs none before its time, and none that has expired', async () => {
    const { task, seen } = noting()
    await stage().worker([task])
    const hub = stage().hub()
    await hub.enqueue('note:1.0', { at: 'later' }, { delayMs: 1200 })
    await stage().pass(700)
    expect(seen).toEqual([])
    await stage().pass(1000)
    expect(seen).toEqual([{ at: 'later' }])
    await hub.pause('q')
    await stage().pass(1200)
    const late = await hub.enqueue('note:1.0', { at: 'too late' }, { expiresMs: 300, tracked: true })
    await stage().pass(600)
    await hub.resume('q')
    await stage().pass(1500)
    expect((await late.status()).state).toBe('expired')
    expect(seen).toHaveLength(1)
  })

  it('tries again what fails, after longer and longer waits, and buries it at last', async () => {
    const tries: number[] = []
    const flaky = defineTask('flaky:1.0', { retries: 3, backoff: [200, 600] }, (args, { attempt }) => {
      tries.push(attempt)
      if ((args as { fails: number }).fails >= attempt) throw new Error(`failed ${attempt}`)
      return attempt
    })
    await stage().worker([flaky])
    const hub = stage().hub()
    const job = await hub.enqueue('flaky:1.0', { fails: 2 }, { tracked: true })
    await stage().pass(2500)
    expect(await job.result()).toBe(3)
    expect(tries).toEqual([1, 2, 3])
    await hub.enqueue('flaky:1.0', { fails: 9 }, { retries: 1 })
    await stage().pass(1500)
    const dead = hub.dead('q')
    expect(await dead.list()).toMatchObject([{ task: 'flaky:1.0', errors: [{}, { message: 'failed 2' }] }])
    expect(await dead.retry({}, { args: { fails: 0 } })).toBe(1)
    await stage().pass(500)
    expect([tries, await dead.count()]).toEqual([[1, 2, 3, 1, 2, 1], 0])
  })

  it('enqueues what is unique once, until it has ended', async () => {
    const { task, seen } = noting()
    await stage().worker([task])
    const hub = stage().hub()
    const first = await hub.enqueue('note:1.0', { a: 1 }, { unique: true, delayMs: 400, tracked: true })
    const twin = await hub.enqueue('note:1.0', { a: 1 }, { unique: true })
    expect([twin.isTwin, twin.id]).toEqual([true, first.id])
    await stage().pass(1000)
    expect(seen).toHaveLength(1)
    expect((await hub.enqueue('note:1.0', { a: 1 }, { unique: true })).isTwin).toBe(false)
  })

  it('runs chains and batches', async () => {
    const { task, seen } = noting('after:1.0')
    const add = defineTask('add:1.0', {}, args => (args as { n: number }).n + 1)
    await stage().worker([task, add])
    const hub = stage().hub()
    const chain = await hub.chain([
      ['add:1.0', { n: 1 }],
      ['add:1.0', {}, { pass: 'n' }],
      ['after:1.0', { slash: 'a/b' }, { pass: 'sum' }],
    ])
    expect(await chain.result()).toEqual({ attempt: 1 })
    expect(seen).toEqual([{ slash: 'a/b', sum: 3 }])
    const batch = await hub.batch(
      [1, 2, 3].map(n => ['add:1.0', { n }]),
      { then: ['after:1.0', { all: true }, { tracked: true }] },
    )
    await batch.after!.result()
    expect(seen[1]).toEqual({ all: true })
    expect(await batch.status()).toMatchObject({ total: 3, done: 3, dead: 0 })
  })

  it('keeps the order of a key, and merges what waits of one', async () => {
    const order: unknown[] = []
    const ordered = defineTask('ordered:1.0', { keyed: 'ordered' }, async (args, { attempt }) => {
      order.push(args)
      if (order.length === 1 && attempt === 1) throw new Error('once')
    })
    const runs: [string, unknown[]][] = []
    const merged = defineTask('merged:1.0', { keyed: 'merged', batch: 10 }, async byKey => {
      for (const [key, payloads] of byKey) runs.push([key, payloads])
    })
    await stage().worker([ordered, merged])
    const hub = stage().hub()
    for (const n of [1, 2, 3]) await hub.enqueue('ordered:1.0', { n }, { key: 'k', backoff: 200 })
    await stage().pass(1500)
    expect(order).toEqual([{ n: 1 }, { n: 1 }, { n: 2 }, { n: 3 }])
    await hub.pause('q')
    await stage().pass(1200)
    for (const version of [3, 1, 2]) await hub.enqueue('merged:1.0', { version }, { key: 'o/17', score: version })
    await hub.resume('q')
    await stage().pass(1500)
    expect(runs).toEqual([['o/17', [{ version: 1 }, { version: 2 }, { version: 3 }]]])
  })

  it('enqueues at the times of a schedule', async () => {
    const { task, seen } = noting()
    await stage().worker([task])
    const hub = stage().hub()
    const { queue, nextMs } = await hub.schedule('each-second', { cron: '* * * * * *' }, 'note:1.0', { by: 'cron' })
    expect([queue, nextMs! % 1000]).toEqual(['q', 0])
    await stage().pass(3600)
    expect(seen.length).toBeGreaterThanOrEqual(3)
    expect(await hub.schedules('q').remove('each-second')).toBe(true)
    const before = seen.length
    await stage().pass(1600)
    expect(seen).toHaveLength(before)
  })

  it('runs a job again whose worker died, and none that was cancelled', async () => {
    const { task, seen } = noting()
    const stuck = defineTask('note:1.0', {}, () => new Promise(() => undefined))
    const first = await stage().worker([stuck])
    const hub = stage().hub()
    const job = await hub.enqueue('note:1.0', { a: 1 }, { tracked: true })
    const cancelled = await hub.enqueue('note:1.0', { a: 2 }, { tracked: true, delayMs: 2000 })
    await stage().pass(300)
    expect(await cancelled.cancel()).toBe(true)
    await stage().worker([task])
    first.die()
    await stage().pass(6500)
    expect(await job.result()).toEqual({ attempt: 1 })
    expect(seen).toEqual([{ a: 1 }])
    expect((await cancelled.status()).state).toBe('cancelled')
  })

  it('keeps jobs while Redis is away', async () => {
    const { task, seen } = noting()
    await stage().worker([task])
    const hub = stage().hub()
    await hub.enqueue('note:1.0', { a: 1 }, { delayMs: 1000 })
    await stage().goAway()
    const refused = failure(hub.enqueue('note:1.0', { a: 2 }, { timeoutMs: 300 }))
    await stage().pass(600)
    expect(await refused).toMatchObject({ code: 'NotEnqueued', ran: 'no' })
    await stage().comeBack()
    await stage().pass(2500)
    expect(seen).toEqual([{ a: 1 }])
  })

  it('shows what there is', async () => {
    const { task } = noting()
    await stage().worker([task])
    const hub = stage().hub()
    await hub.enqueue('note:1.0', { a: 1 }, { delayMs: 60_000 })
    await hub.call('note:1.0', {})
    await stage().pass(2200)
    const [queue] = await hub.queues()
    expect(queue).toMatchObject({ queue: 'q', scheduled: 1, backlog: 0, workers: 1 })
    expect((await hub.jobs({ queue: 'q', state: 'scheduled' })).jobs).toMatchObject([{ task: 'note:1.0' }])
    expect((await hub.tasks()).map(({ task }) => task)).toEqual(['note:1.0'])
    expect(await hub.workers()).toMatchObject([{ queue: 'q' }])
  })
}
