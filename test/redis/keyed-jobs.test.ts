import { describe, expect, it } from 'vitest'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { memoryStage } from '../support/stages.ts'

const it_ = useRedis()

interface Run {
  key: string
  n: number
  from: number
  to: number
  fence: number
  attempt: number
}

/** A task that notes its runs; `act` is what it does meanwhile. */
const noting = (
  options: object = {},
  act: (args: { key: string; n: number }, ctx: TaskContext) => unknown = () => undefined,
) => {
  const runs: Run[] = []
  let clock = 0
  const task = defineTask('sync:1.0', { keyed: 'ordered', ...options }, async (args: unknown, ctx) => {
    const { key, n } = args as { key: string; n: number }
    const run = { key, n, from: clock++, to: Number.POSITIVE_INFINITY, fence: ctx.fence!, attempt: ctx.attempt }
    runs.push(run)
    try {
      await act(args as never, ctx)
    } finally {
      run.to = clock++
    }
  })
  const of = (key: string) => runs.filter(run => run.key === key)
  return { task, runs, of }
}

/** Where time stands still unless the test moves it. */
const stageOf = async () => {
  const stage = await memoryStage()
  it_.onEnd(() => stage.end())
  return stage
}

describe('jobs with a key', () => {
  it('run one after the other, in the order in which they were enqueued, and others beside them', async () => {
    const { task, runs, of } = noting({}, () => delay(Math.random() * 4, 'so that runs of several keys overlap'))
    await it_.worker([task], { slots: 8 })
    await it_.worker([task], { slots: 8 })
    const hub = it_.hub()
    const keys = ['a', 'b', 'c', 'd {e}', 'ü:\n']
    const entries = Array.from(
      { length: 200 },
      (_, n) => ['sync:1.0', { key: keys[n % 5]!, n }, { key: keys[n % 5]! }] as const,
    )
    await hub.enqueueMany(entries)
    await eventually(() => runs.length === 200 && runs.every(({ to }) => to < Number.POSITIVE_INFINITY))
    for (const key of keys) {
      const own = of(key)
      expect(own.map(({ n }) => n)).toEqual(own.map(({ n }) => n).sort((a, b) => a - b))
      for (const [at, run] of own.entries()) {
        if (at === 0) continue
        expect(run.from).toBeGreaterThan(own[at - 1]!.to)
        expect(run.fence).toBeGreaterThan(own[at - 1]!.fence)
      }
    }
    const sides = runs.filter(run =>
      runs.some(other => other.key !== run.key && other.from < run.to && run.from < other.to),
    )
    expect(sides.length).toBeGreaterThan(0)
  })

  it('that fail hold the next ones of their key, and no others', async () => {
    const stage = await stageOf()
    const { task, runs, of } = noting({ backoff: 150 }, ({ key, n }, ctx) => {
      if (key === 'a' && n === 1 && ctx.attempt < 3) throw new Error('not yet')
    })
    await stage.worker([task], { slots: 4 })
    const hub = stage.hub()
    for (const n of [1, 2]) for (const key of ['a', 'b']) await hub.enqueue('sync:1.0', { key, n }, { key })
    await stage.pass(1000)
    expect(runs).toHaveLength(6)
    expect(of('a').map(({ n, attempt }) => [n, attempt])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
      [2, 1],
    ])
    expect(
      runs
        .slice(0, 3)
        .map(({ key }) => key)
        .sort(),
    ).toEqual(['a', 'b', 'b'])
  })

  it('let the next ones pass when they fail, where their task says so', async () => {
    const stage = await stageOf()
    const { task, of } = noting({ backoff: 150, onFailure: 'pass' }, ({ n }, ctx) => {
      if (n === 1 && ctx.attempt < 2) throw new Error('not yet')
    })
    await stage.worker([task], { slots: 4 })
    const hub = stage.hub()
    for (const n of [1, 2, 3]) await hub.enqueue('sync:1.0', { key: 'a', n }, { key: 'a' })
    await stage.pass(1000)
    expect(of('a').map(({ n, attempt }) => [n, attempt])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [1, 2],
    ])
  })

  it('that are given up make way for the next ones, and come back behind them', async () => {
    let isBroken = true
    const { task, of } = noting({ retries: 0 }, ({ n }) => {
      if (n === 1 && isBroken) throw new Error('broken')
    })
    await it_.worker([task])
    const hub = it_.hub()
    for (const n of [1, 2]) await hub.enqueue('sync:1.0', { key: 'a', n }, { key: 'a' })
    await eventually(() => of('a').length === 2)
    isBroken = false
    const dead = hub.dead('q')
    await eventually(async () => (await dead.list()).length === 1)
    expect(await dead.retry()).toBe(1)
    await eventually(() => of('a').length === 3)
    expect(of('a').map(({ n }) => n)).toEqual([1, 2, 1])
  })

  it('wait for their time at their place, and wake a worker for it', async () => {
    const stage = await stageOf()
    const { task, runs } = noting()
    await stage.worker([task])
    const hub = stage.hub()
    await hub.enqueue('sync:1.0', { key: 'a', n: 1 }, { key: 'a', delayMs: 700 })
    await hub.enqueue('sync:1.0', { key: 'a', n: 2 }, { key: 'a' })
    await hub.enqueue('sync:1.0', { key: 'b', n: 3 }, { key: 'b' })
    await stage.pass(500)
    expect(runs.map(({ n }) => n)).toEqual([3])
    await stage.pass(200)
    expect(runs.map(({ n }) => n)).toEqual([3, 1, 2])
  })

  it('that are many do not starve others: keys take turns', async () => {
    const { task, runs } = noting()
    const hub = it_.hub()
    const worker = await it_.worker([task], { slots: 1 })
    await worker.stop()
    const hot = Array.from({ length: 50 }, (_, n) => ['sync:1.0', { key: 'hot', n }, { key: 'hot' }] as const)
    await hub.enqueueMany([...hot, ['sync:1.0', { key: 'quiet', n: 1 }, { key: 'quiet' }]])
    await it_.worker([task], { slots: 1 })
    await eventually(() => runs.length === 51)
    expect(runs.findIndex(({ key }) => key === 'quiet')).toBeLessThan(3)
  })

  it('of a lost worker run again before the next ones, and what that one says of them counts no more', async () => {
    const { task, of } = noting()
    const first = await it_.worker([task])
    await first.stop()
    const hub = it_.hub()
    for (const n of [1, 2]) await hub.enqueue('sync:1.0', { key: 'a', n }, { key: 'a' })
    const keys = makeKeys(it_.namespace)
    await new Queue('q', keys).beat(it_.redis, 'ghost', 500, true)
    const claimed = await new Queue('q', keys).claim(it_.redis, 'ghost', { slots: 2, jobs: 2 })
    expect(claimed!.requests).toHaveLength(1)
    const id = `job:${/"id":"([\w-]+)"/.exec(claimed!.requests[0]!.text)![1]}`
    await it_.worker([task])
    await eventually(() => of('a').length === 2)
    expect(of('a').map(({ n }) => n)).toEqual([1, 2])
    const end = { id, outcome: 'dead', delayMs: 0, text: '"code":"TaskFailed"', following: '' } as const
    await new JobQueue('q', keys).settle(it_.redis, 'ghost', [end])
    expect(await hub.dead('q').list()).toEqual([])
  })

  it('are listed and counted where they wait, with when they are due, and can be cancelled there', async () => {
    let end = () => {}
    const ended = new Promise<void>(resolve => (end = resolve))
    const { task, of } = noting({}, ({ n }) => (n === 1 ? ended : undefined))
    const worker = await it_.worker([task], { slots: 1 })
    const hub = it_.hub()
    await hub.enqueue('sync:1.0', { key: 'a', n: 1 }, { key: 'a' })
    await eventually(() => worker.busy === 1)
    const tracked = await hub.enqueue('sync:1.0', { key: 'a', n: 2 }, { key: 'a', tracked: true })
    const plain = await hub.enqueue('sync:1.0', { key: 'a', n: 3 }, { key: 'a' })
    await hub.enqueue('sync:1.0', { key: 'b', n: 4 }, { key: 'b', delayMs: 60_000 })
    const { jobs, counts } = await hub.jobs({ state: 'waiting' })
    expect(counts).toMatchObject([{ waiting: 3 }])
    expect(jobs.map(({ id, dueMs }) => [id, dueMs !== undefined])).toEqual([
      [tracked.id, false],
      [plain.id, false],
      [expect.any(String), true],
    ])
    const [queue] = await hub.queues()
    expect(queue).toMatchObject({ jobs: 3 })
    expect(await tracked.cancel()).toBe(true)
    expect(await hub.cancelJob(plain.id, { queue: 'q' })).toBe(true)
    expect(await hub.cancelJob(jobs[2]!.id!, { queue: 'q' })).toBe(true)
    end()
    await eventually(() => worker.busy === 0)
    // The key that is to wait for its time goes when that has come.
    await eventually(async () => !(await it_.keys()).some(key => /:(line|running):/.test(key)))
    expect(of('a').map(({ n }) => n)).toEqual([1])
    it_.allowLeftovers()
  })

  it('are run at once where they are the first of their key', async () => {
    it_.allowLeftovers()
    const { task, of } = noting()
    const hub = it_.hub()
    const put = { queue: 'q', key: 'a', delayMs: 3_600_000 }
    await it_.worker([task])
    const first = await hub.enqueue('sync:1.0', { key: 'a', n: 1 }, { ...put, tracked: true })
    const second = await hub.enqueue('sync:1.0', { key: 'a', n: 2 }, put)
    expect(await first.run()).toBe(false)
    expect(await hub.runJob(second.id, { queue: 'q' })).toBe(false)
    expect(await hub.runJob(first.id, { queue: 'q' })).toBe(true)
    await eventually(() => of('a').length === 1)
    expect(of('a').map(({ n }) => n)).toEqual([1])
  })

  it('are refused with what to do about it', async () => {
    const plain = defineTask('plain:1.0', {}, () => undefined)
    await it_.worker([noting().task, plain])
    const hub = it_.hub()
    const refusal = async (task: string, options: object) =>
      failure(hub.enqueue(task, { key: 'a', n: 1 }, options as never))
    expect(await refusal('sync:1.0', {})).toMatchObject({
      code: 'InvalidArgs',
      message: expect.stringContaining("give a key, for example { key: 'order-17' }"),
    })
    expect(await refusal('plain:1.0', { key: 'a' })).toMatchObject({
      code: 'InvalidArgs',
      message: expect.stringContaining("keyed: 'ordered'"),
    })
    for (const key of ['', 'x'.repeat(201), 'ü'.repeat(101), 7, null])
      expect((await refusal('sync:1.0', { key })).message).toContain('key must be a text of 1 to 200 bytes')
    expect((await refusal('sync:1.0', { key: 'a', priority: 'high' })).message).toContain('no priority')
  })
})
