import { afterEach, describe, expect, it, vi } from 'vitest'
import { isLong } from '../support/runs.ts'
import { type Load, outcomesOf, SimulatedQueue } from '../support/simulated-queue.ts'

afterEach(() => vi.restoreAllMocks())

const wait: Load = { slots: 8, hubs: 1, taskMs: 20, deadlineMs: 1000 }

/** Calls per second that the slots serve; a claim and a reply are on their way meanwhile. */
const capacityOf = ({ slots, taskMs }: Load) => (slots * 1000) / (taskMs + 0.5)

/** Hubs that have called a little: each knows how long a run takes. */
const warm = async (load: Load) => {
  const queue = new SimulatedQueue(load)
  queue.offer(capacityOf(load) / 2, load.taskMs * 100)
  await queue.run(load.taskMs * 100 + load.deadlineMs)
  return queue
}

/** `times` the capacity for so long, and what became of it all. */
const offered = async (load: Load, times: number, forMs: number) => {
  const queue = await warm(load)
  const from = queue.now
  queue.offer(capacityOf(load) * times, forMs)
  await queue.run(forMs + load.deadlineMs)
  return { queue, from, to: from + forMs }
}

describe('more calls than can be served', () => {
  const all = [1, 20, 50].flatMap(hubs => [3, 10].flatMap(times => [0, 0.5].map(spread => ({ hubs, times, spread }))))
  const few = [
    { hubs: 1, times: 3, spread: 0 },
    { hubs: 20, times: 10, spread: 0.5 },
    { hubs: 50, times: 3, spread: 0 },
  ]

  it.each(isLong ? all : few)(
    '$times times as many, from $hubs hubs, spread $spread: short waits, all slots busy',
    async each => {
      const load = { ...wait, ...each }
      const { queue, from, to } = await offered(load, each.times, 4000)
      // In the first second a burst is let in, and a little longer where each hub sees little.
      const seen = outcomesOf(queue, from + (each.hubs > 20 ? 1500 : 1000), to)
      expect(seen.perSecond).toBeGreaterThan(0.95 * capacityOf(load))
      expect(seen.p50Ms).toBeLessThan(4 * load.taskMs)
      expect(seen.p99Ms).toBeLessThan(10 * load.taskMs)
      expect(seen.refusedP99Ms).toBeLessThan(10)
      expect([seen.late, seen.lateStarts]).toEqual([0, 0])
    },
  )

  it('is over when it is over: a second later a burst is let in again', async () => {
    const { queue } = await offered({ ...wait, hubs: 20 }, 10, 2000)
    const from = queue.now
    queue.offer(4000, 50)
    await queue.run(2000)
    expect(outcomesOf(queue, from, queue.now)).toMatchObject({ refused: 0, late: 0 })
  })

  it('whose tasks take half of their time are served, though what is late teaches nobody how long they take', async () => {
    const load = { slots: 8, hubs: 20, taskMs: 2000, spread: 0.5, deadlineMs: 5000 }
    const queue = new SimulatedQueue(load)
    queue.offer(3 * capacityOf(load), 120_000)
    await queue.run(125_000)
    expect(outcomesOf(queue, 60_000, 120_000).perSecond).toBeGreaterThan(0.6 * capacityOf(load))
  })
})

describe('no more than can be served', () => {
  it.each([
    wait,
    { ...wait, hubs: 20 },
    { ...wait, slots: 64, spread: 0.5 },
    { ...wait, taskMs: 1 },
    { slots: 8, hubs: 20, taskMs: 2000, spread: 0.5, deadlineMs: 30_000 },
  ])('is all served: %o', async load => {
    const { queue, from, to } = await offered(load, 0.8, load.taskMs * 150)
    expect(outcomesOf(queue, from, to)).toMatchObject({ refused: 0, late: 0 })
  })

  it.each([
    [1, 0],
    [20, 0],
    [20, 0.4],
  ])(
    'is a burst of 200 calls in 50 ms, from %i hubs, on slots that have %f of their work to do',
    async (hubs, times) => {
      const load = { ...wait, hubs }
      const queue = await warm(load)
      const from = queue.now
      if (times > 0) queue.offer(capacityOf(load) * times, 1500)
      queue.offer(4000, 50)
      await queue.run(3000)
      expect(outcomesOf(queue, from, queue.now)).toMatchObject({ refused: 0, late: 0 })
    },
  )

  it.each([1, 20])('is what came while the worker stood still for a while, from %i hubs', async hubs => {
    const load = { ...wait, hubs, deadlineMs: 5000 }
    const queue = await warm(load)
    const from = queue.now
    queue.offer(capacityOf(load) * 0.5, 4000)
    await queue.run(500)
    queue.stall(1000)
    await queue.run(8000)
    expect(outcomesOf(queue, from, queue.now)).toMatchObject({ refused: 0, late: 0 })
  })
})
