import { describe, expect, it } from 'vitest'
import { defineTask, noOverlap, rateLimit } from '../../src/index.ts'
import { eventually, useCluster } from '../support/cluster-fixture.ts'
import { delay } from '../support/delay.ts'

/** Jobs whose queues live on different nodes. */
const it_ = useCluster({ masters: 3 })

/** One task in each queue, each queue on another node; what they ran. */
const threeQueues = async () => {
  const queues = it_.queues()
  const runs: unknown[] = []
  const tasks = queues.map((_, at) => defineTask(`t${at}:1.0`, { retries: 0 }, args => runs.push(args)))
  let paused = 0
  for (const [at, queue] of queues.entries()) {
    const worker = await it_.worker(queue, [tasks[at]!])
    worker.events.on('queue:paused', () => paused++)
  }
  return { queues, runs, hub: it_.hub(), paused: () => paused }
}

describe('jobs on a Cluster', () => {
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
    const { queues, hub, runs, paused } = await threeQueues()
    for (const queue of queues) expect(await hub.pause(queue)).toBeGreaterThan(0)
    await eventually(() => paused() === 3)
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
