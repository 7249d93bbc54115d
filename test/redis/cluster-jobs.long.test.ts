import { describe, expect, it } from 'vitest'
import { defineTask, noOverlap, rateLimit } from '../../src/index.ts'
import { eventually, failure, useCluster } from '../support/cluster-fixture.ts'
import { delay } from '../support/delay.ts'

/** Jobs whose queues live on different nodes. */
const it_ = useCluster({ masters: 3 })

interface Run {
  n?: number
  fails?: boolean
  until?: number
}

/** One task in each queue, each queue on another node; what they ran. */
const threeQueues = async () => {
  const queues = it_.queues()
  const runs: { by: string; args: Run; attempt: number }[] = []
  const tasks = queues.map((_, at) =>
    defineTask(`t${at}:1.0`, { retries: 0 }, (args, ctx) => {
      runs.push({ by: `t${at}`, args: args as Run, attempt: ctx.attempt })
      const { fails = false, until = 0 } = (args ?? {}) as Run
      if (fails || ctx.attempt < until) throw new Error('broken')
      return { by: at, args }
    }),
  )
  for (const [at, queue] of queues.entries()) await it_.worker(queue, [tasks[at]!])
  return { queues, tasks, runs, hub: it_.hub() }
}

describe('jobs on a Cluster', () => {
  it('run at their time, are tried again, die, are unique, and tell their results', async () => {
    it_.allowLeftovers()
    const { queues, runs, hub } = await threeQueues()
    const results = await Promise.all(
      queues.map(async (_, at) => (await hub.enqueue(`t${at}:1.0`, { n: at }, { tracked: true })).result()),
    )
    expect(results).toEqual([0, 1, 2].map(at => ({ by: at, args: { n: at } })))
    const again = await hub.enqueue('t1:1.0', { until: 3 }, { retries: 5, backoff: 20, tracked: true })
    expect(await again.result()).toMatchObject({ by: 1 })
    expect(runs.filter(({ args }) => args.until === 3).map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    const laterAt = Date.now() + 300
    await (await hub.enqueue('t2:1.0', {}, { delayMs: 300, tracked: true })).result()
    expect(Date.now()).toBeGreaterThanOrEqual(laterAt - 5)
    const dead = await hub.enqueue('t0:1.0', { fails: true }, { tracked: true })
    expect(await failure(dead.result())).toMatchObject({ code: 'TaskFailed' })
    expect(await hub.dead(queues[0]!).count()).toBe(1)
    const [first, twin] = [
      await hub.enqueue('t1:1.0', {}, { unique: 'x', delayMs: 60_000 }),
      await hub.enqueue('t1:1.0', {}, { unique: 'x', delayMs: 60_000 }),
    ]
    expect([twin.isTwin, twin.id]).toEqual([true, first.id])
    expect(await first.cancel()).toBe(true)
  })

  it('follow each other in chains and batches from node to node', async () => {
    it_.allowLeftovers()
    const { runs, hub } = await threeQueues()
    const chains = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        hub.chain([
          ['t0:1.0', { n }],
          ['t1:1.0', { n }, { pass: 'before' }],
          ['t2:1.0', {}, { pass: 'before' }],
          ['t0:1.0', { n: 1000 + n }],
        ]),
      ),
    )
    for (const [n, chain] of chains.entries()) expect(await chain.result()).toEqual({ by: 0, args: { n: 1000 + n } })
    expect(runs.length).toBe(80)
    const batch = await hub.batch(
      Array.from({ length: 30 }, (_, n) => [`t${n % 3}:1.0`, { n, fails: n === 7 }] as const),
      { then: ['t2:1.0', { n: -1 }] },
    )
    await eventually(() => runs.some(({ args }) => args.n === -1))
    expect(await batch.status()).toMatchObject({ total: 30, done: 29, dead: 1 })
    expect(runs.length).toBe(111)
    await eventually(async () => (await it_.keys()).every(key => !/:(held|came):/.test(key)))
  })

  it('have schedules, keys in their order, and merge', async () => {
    it_.allowLeftovers()
    const [a, b] = it_.queues() as [string, string]
    const order = new Map<string, number[]>()
    const merged: unknown[] = []
    const keyed = defineTask('keyed:1.0', { keyed: 'ordered' }, args => {
      const { key, n } = args as { key: string; n: number }
      order.set(key, [...(order.get(key) ?? []), n])
    })
    const merging = defineTask('merging:1.0', { keyed: 'merged' }, (byKey: unknown) => {
      merged.push(...[...(byKey as Map<string, unknown[]>).values()].flat())
    })
    const ticks: unknown[] = []
    const tick = defineTask('tick:1.0', {}, args => ticks.push(args))
    await it_.worker([a, b], [keyed, merging, tick], { slots: 8 })
    const hub = it_.hub()
    await hub.schedule('each-second', { cron: '* * * * * *' }, 'tick:1.0', { n: 1 }, { queue: b })
    await hub.enqueueMany(
      [a, b].flatMap(queue =>
        Array.from(
          { length: 60 },
          (_, n) => ['keyed:1.0', { key: `${queue}${n % 3}`, n }, { key: `${n % 3}`, queue }] as const,
        ),
      ),
    )
    for (let n = 0; n < 20; n++) await hub.enqueue('merging:1.0', n, { key: `k${n % 2}`, queue: n % 2 ? a : b })
    await eventually(() => [...order.values()].flat().length === 120 && merged.length === 20 && ticks.length > 1)
    for (const own of order.values()) expect(own).toEqual(own.toSorted((x, y) => x - y))
    expect(new Set(merged).size).toBe(20)
    expect(await hub.schedules(b).remove('each-second')).toBe(true)
  })

  it('hold locks and rates, which may live on other nodes than their queue', async () => {
    it_.allowLeftovers()
    const queues = it_.queues()
    let running = 0
    let most = 0
    const alone = defineTask('alone:1.0', { retries: 0 }, async () => {
      most = Math.max(most, ++running)
      await delay(20, 'so that others would run beside it')
      running--
    })
    const startedAt: number[] = []
    const rare = defineTask('rare:1.0', {}, () => startedAt.push(performance.now()))
    const around = [
      noOverlap({ tasks: ['alone:1.0'], name: 'one' }),
      rateLimit({ tasks: ['rare:1.0'], name: 'few', limit: 1, periodMs: 100 }),
    ]
    for (const queue of queues) await it_.worker(queue, [alone, rare], {}, around)
    const hub = it_.hub()
    const options = (n: number) => ({ queue: queues[n % 3]!, tracked: true })
    const jobs = await Promise.all(
      Array.from({ length: 9 }, (_, n) => hub.enqueue(n < 6 ? 'alone:1.0' : 'rare:1.0', {}, options(n))),
    )
    await Promise.all(jobs.map(job => job.result()))
    expect(most).toBe(1)
    const [first, , third] = startedAt.toSorted((x, y) => x - y) as [number, number, number]
    expect(third - first).toBeGreaterThan(150)
  })
})

describe('what is in the queues of a Cluster', () => {
  it('is listed, looked at, changed in bulk, paused and forgotten, wherever it lives', async () => {
    it_.allowLeftovers()
    const { queues, hub, runs } = await threeQueues()
    for (const queue of queues) expect(await hub.pause(queue)).toBeGreaterThan(0)
    await eventually(async () => (await hub.queues()).every(({ pausedMs }) => pausedMs !== undefined))
    for (const at of [0, 1, 2])
      for (let n = 0; n < 4; n++)
        await hub.enqueue(`t${at}:1.0`, { n }, { tracked: true, delayMs: n === 3 ? 60_000 : 0 })
    const listing = await hub.jobs({ state: 'waiting' })
    expect(listing.jobs.length).toBe(9)
    expect(listing.counts).toEqual(
      queues.toSorted().map(queue => ({ queue, waiting: 3, scheduled: 1, retrying: 0, dead: 0 })),
    )
    expect((await hub.queues()).map(({ queue, jobs, pausedMs }) => [queue, jobs, pausedMs !== undefined])).toEqual(
      queues.toSorted().map(queue => [queue, 3, true]),
    )
    const step = await hub.bulkStep('cancel', { state: 'scheduled' })
    expect(step).toMatchObject({ matching: 3, changed: 3 })
    for (const queue of queues) expect(await hub.resume(queue)).toBe(true)
    await eventually(() => runs.length === 9)
    const id = listing.jobs[0]!.id!
    expect(await (await hub.job(id)).result()).toBeDefined()
    expect((await hub.jobDetails(id)).queue).toBe(listing.jobs[0]!.queue)
    const ended = async () => {
      const all = []
      let from: string | undefined
      do {
        const page = await hub.jobs({ state: 'done', limit: 2, from })
        all.push(...page.jobs)
        from = page.next
      } while (from !== undefined)
      return all
    }
    expect(new Set((await ended()).map(job => job.id)).size).toBe(12)
    expect((await ended()).length).toBe(12)
  })
})
