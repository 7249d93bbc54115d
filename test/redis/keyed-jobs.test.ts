import { describe, expect, it } from 'vitest'
import { defineTask, type TaskContext } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { memoryStage } from '../support/stages.ts'

const it_ = useRedis()

interface Run {
  key: string
  n: number
  fence: number
  attempt: number
}

/** A task that notes its runs; `act` is what it does meanwhile. */
const noting = (
  options: object = {},
  act: (args: { key: string; n: number }, ctx: TaskContext) => unknown = () => undefined,
) => {
  const runs: Run[] = []
  const task = defineTask('sync:1.0', { keyed: 'ordered', ...options }, async (args: unknown, ctx) => {
    const { key, n } = args as { key: string; n: number }
    runs.push({ key, n, fence: ctx.fence!, attempt: ctx.attempt })
    await act(args as never, ctx)
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
  it('are alone with it: their task takes no calls, whoever sends them', async () => {
    const { task, runs } = noting()
    await it_.worker([task])
    const error = await failure(it_.hub().call('sync:1.0', { key: 'a', n: 1 }))
    expect(error).toMatchObject({ code: 'InvalidArgs', ran: 'no', message: expect.stringContaining('--key order-17') })
    const { calls } = queueKeys(it_)
    const reply = makeKeys(it_.namespace).reply('other')
    await it_.redis.rpush(calls, `{"at":1,"ttl":0,"id":"c","task":"sync:1.0","args":{},"result_queue":"${reply}"}`)
    await it_.redis.rpush(queueKeys(it_).bell, '1')
    const [, answer] = (await it_.redis.blpop(reply, 30))!
    expect(JSON.parse(answer)).toMatchObject({ id: 'c', ok: false, error: { code: 'InvalidArgs' } })
    expect(runs).toEqual([])
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
    const fences = of('a').map(({ fence }) => fence)
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
  })

  it('have no backlog while they wait for their key, and end there when they expire', async () => {
    const stage = await stageOf()
    const ends: (() => void)[] = []
    const { task, runs } = noting({}, () => new Promise<void>(resolve => ends.push(resolve)))
    const { worker } = await stage.worker([task], { slots: 4 })
    const waits: number[] = []
    const keyWaits: number[] = []
    worker.events.on('task:settled', ({ us, keyUs }) => {
      waits.push(us.backlog / 1000)
      keyWaits.push(Math.round(keyUs! / 900_000))
    })
    const hub = stage.hub()
    for (const n of [1, 2, 3]) await hub.enqueue('sync:1.0', { key: 'a', n }, { key: 'a', expiresMs: 2500 })
    await hub.enqueue('sync:1.0', { key: 'a', n: 4 }, { key: 'a', expiresMs: 1500 })
    for (let n = 0; n < 4; n++) {
      await stage.pass(900)
      ends.shift()?.()
    }
    expect(runs.map(({ n }) => n)).toEqual([1, 2, 3])
    expect(Math.max(...waits)).toBeLessThan(500)
    // Each ran for 900 ms, by the clock of this test.
    expect(keyWaits).toEqual([0, 1, 2])
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
    const later = { key: 'c', delayMs: 60_000, tracked: true }
    const reminders = await hub.enqueueMany([1, 2].map(n => ['sync:1.0', { key: 'c', n: n + 4 }, later]))
    for (const id of reminders.ids) expect(await (await hub.job(id)).cancel()).toBe(true)
    expect(await hub.jobs({ state: 'waiting' })).toMatchObject({ jobs: [], counts: [{ waiting: 0 }] })
    end()
    await eventually(() => worker.busy === 0)
    await eventually(async () => !(await it_.keys()).some(key => /:(line:|running:|keyed|lined|later)/.test(key)))
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

  it('are freed where nobody runs them, however many other tasks have keys', async () => {
    const { keyed, running } = queueKeys(it_)
    for (let n = 0; n < 100; n++) await it_.redis.zadd(keyed, 1, `other-${n}:1.0`)
    await it_.redis.zadd(keyed, '+inf', 'sync:1.0')
    await it_.redis.hset(running('sync:1.0'), 'a', '1 nobody j')
    await it_.hub().pause('q')
    await it_.worker([noting().task])
    await eventually(async () => (await it_.redis.exists(running('sync:1.0'))) === 0)
    it_.allowStrangers()
  })

  it('keep the name of their queue known', async () => {
    const worker = await it_.worker([noting().task], { queue: 'named' })
    await worker.stop()
    await it_.hub().enqueue('sync:1.0', { key: 'a', n: 1 }, { key: 'a', delayMs: 60_000 })
    const names = `${it_.namespace}:queues`
    await it_.redis.zadd(names, 1, 'named', 1, 'empty')
    await it_.worker([noting().task])
    await eventually(async () => (await it_.redis.zcard(names)) === 1)
    expect(await it_.redis.zrange(names, '0', '-1')).toEqual(['named'])
    it_.allowLeftovers()
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
      expect((await refusal('sync:1.0', { key })).message).toContain('key must be a string of 1 to 200 bytes')
    expect((await refusal('sync:1.0', { key: 'a', priority: 'high' })).message).toContain('no priority')
  })
})
