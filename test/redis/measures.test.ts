import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap, type Phases, TaskError, type Waits, type Worker } from '../../src/index.ts'
import { blockLoop } from '../support/block-loop.mjs'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const mixed = defineTask('mixed:1.0', { args: { type: 'integer' } }, async n => {
  await delay(n % 7, 'runs of known lengths')
  if (n % 10 === 3) throw new TaskError('every tenth')
  return n
})
const echo = defineTask('echo:1.0', {}, args => args)

type Settled = EventMap['task:settled']

const settledBy = (...workers: Worker[]): Settled[] => {
  const settled: Settled[] = []
  for (const worker of workers) worker.events.on('task:settled', event => settled.push(event))
  return settled
}

const expectWaits = (waits: Waits | undefined, phases: Phases[], phase: keyof Phases) => {
  const exact = phases.map(us => us[phase]).sort((a, b) => a - b)
  expect(waits).toMatchObject({
    count: exact.length,
    sum: exact.reduce((sum, us) => sum + us, 0),
    max: exact.at(-1),
  })
  for (const [name, q] of [
    ['p50', 0.5],
    ['p95', 0.95],
    ['p99', 0.99],
  ] as const) {
    const value = exact[Math.ceil(q * exact.length) - 1]!
    expect(Math.abs(waits![name] - value), `${phase} ${name}`).toBeLessThanOrEqual(value * 0.05)
  }
}

describe('what workers measured', () => {
  it('adds up to what happened: counts exactly, quantiles within 5 %, on all workers together', async () => {
    const startedAt = performance.now()
    const workers = [await it_.worker([mixed, echo], { slots: 3 }), await it_.worker([mixed, echo], { slots: 3 })]
    const settled = settledBy(...workers)
    const hub = it_.hub()
    const count = 400
    await Promise.allSettled(Array.from({ length: count }, (_, n) => hub.call('mixed:1.0', n)))
    const look = async () => {
      const { tasks, queues, workers: live } = await hub.overview()
      return { task: tasks.find(({ task }) => task === 'mixed:1.0')!, queue: queues[0]!, live }
    }
    await eventually(async () => (await look()).task.totals.ok === count * 0.9)
    const { task, queue, live } = await look()
    const elapsedMs = performance.now() - startedAt
    expect(settled).toHaveLength(count)
    expect(new Set(settled.map(({ id }) => id)).size).toBe(count)
    expect(task.totals).toEqual({ ok: count * 0.9, rejected: {}, failed: { TaskFailed: count * 0.1 } })
    expect(task.load.failed).toEqual({ TaskFailed: count * 0.1 })
    expect(task.load.errorRate).toBeCloseTo(0.1)
    const phases = settled.map(({ us }) => us)
    for (const phase of ['backlog', 'queue', 'exec'] as const) expectWaits(task.load.us[phase], phases, phase)
    // Each window ends with a beat between the end of the load and now.
    expect(task.load.callsPerSecond).toBeGreaterThan((count * 1000) / elapsedMs)
    expect(queue.load).toEqual(task.load)
    const shares = live.map(({ load }) => load.us.exec!.count)
    expect(shares.every(share => share > 0)).toBe(true)
    expect(shares[0]! + shares[1]!).toBe(count)
    expect(queue.busyShare).toBeGreaterThan(0)
    for (const { stats } of live) {
      expect(stats!.busyShare).toBeGreaterThan(0)
      expect(stats!.busyShare).toBeLessThanOrEqual(1)
      expect(stats!.rssBytes).toBeGreaterThan(2 ** 20)
      expect(stats!.loopMs!.max).toBeGreaterThanOrEqual(stats!.loopMs!.p99)
    }
  })

  it('goes with the worker that leaves', async () => {
    const [first, second] = [await it_.worker([echo]), await it_.worker([echo])]
    const bySecond = settledBy(second)
    const hub = it_.hub()
    await Promise.all(Array.from({ length: 200 }, (_, n) => hub.call('echo:1.0', n)))
    const ok = async () => (await hub.tasks())[0]!.totals.ok
    await eventually(async () => (await ok()) === 200)
    await first.stop()
    expect(await ok()).toBe(bySecond.length)
    for (const key of ['workers', 'stats', 'taskstats', 'slow', 'failures'])
      expect(await it_.redis.hkeys(`${it_.namespace}:${key}`), key).toEqual([second.id])
    await second.stop()
    const measured = ['taskstats', 'slow', 'failures'].map(key => `${it_.namespace}:${key}`)
    expect(await it_.redis.exists(...measured)).toBe(0)
  })
})

describe('slow calls', () => {
  const crunch = defineTask('crunch:1.0', { args: { type: 'integer' } }, ms => blockLoop(ms))
  /** Of each task the ten slowest calls are kept: which ones, of those that take about as long, the machine decides. */
  const broken = defineTask('broken:1.0', {}, async () => {
    await delay(5, 'what takes less than a millisecond is not kept')
    throw new TaskError('broken')
  })

  it('show the blocked loop that held them up', async () => {
    const worker = await it_.worker([crunch, echo, mixed, broken], { slots: 4 })
    const settled = settledBy(worker)
    const hub = it_.hub({ name: 'shop' })
    const [from] = await it_.redis.time()
    for (let n = 0; n < 20; n++) await hub.call('mixed:1.0', 4)
    // Their routes are known then, so that the next two go together and are claimed together.
    await Promise.all([hub.call('crunch:1.0', 0), hub.call('echo:1.0')])
    await Promise.all([hub.call('crunch:1.0', 300), hub.call('echo:1.0')])
    await failure(hub.call('broken:1.0', {}))
    const slow = (await eventually(async () => {
      const all = await hub.slowCalls()
      return all.some(({ code }) => code !== undefined) ? all : undefined
    }))!
    const of = (task: string) => slow.filter(call => call.task === task)
    const [held] = of('echo:1.0')
    const event = settled.findLast(({ task }) => task === 'echo:1.0')!
    expect(held).toMatchObject({
      id: event.id,
      from: 'shop',
      us: event.us,
      queue: 'q',
      worker: worker.id,
      pid: process.pid,
    })
    expect(held!.us.queue).toBeGreaterThan(250_000)
    for (const call of [held!, of('crunch:1.0')[0]!]) expect(call.loopMs).toBeGreaterThan(240)
    expect(of('mixed:1.0')).toHaveLength(10)
    expect(of('broken:1.0')).toMatchObject([{ code: 'TaskFailed' }])
    expect(slow.map(({ totalUs }) => totalUs)).toEqual(slow.map(({ totalUs }) => totalUs).sort((a, b) => b - a))
    expect(held!.at / 1e6).toBeGreaterThanOrEqual(Number(from) - 1)
    expect(held!.at / 1e6).toBeLessThanOrEqual(Number((await it_.redis.time())[0]) + 1)
  })

  it('that Redis did not take are written when it does', async () => {
    const worker = await it_.worker([mixed])
    const problems: string[] = []
    worker.events.on('problem', ({ reason }) => problems.push(reason))
    const hub = it_.hub()
    await hub.call('mixed:1.0', 5)
    await eventually(async () => (await hub.slowCalls()).length === 1)
    await it_.redis.del(`${it_.namespace}:slow`)
    await it_.redis.set(`${it_.namespace}:slow`, 'no hash')
    await hub.call('mixed:1.0', 6)
    await eventually(() => problems.some(reason => reason.startsWith('WRONGTYPE')))
    await it_.redis.del(`${it_.namespace}:slow`)
    await eventually(async () => (await hub.slowCalls()).length === 2)
  })
})
