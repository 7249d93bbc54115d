import { describe, expect, it } from 'vitest'
import { defineTask, type EnqueueOptions, type EventMap, TaskError } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { flaky } from '../support/flaky-task.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { memoryStage } from '../support/stages.ts'

/** hub.enqueue() and what a job tells of itself. */
const it_ = useRedis()
const keys = () => queueKeys(it_)

/** Records of tracked jobs and the dead stay for a while. */
const allKeys = async () => (await it_.keys()).filter(key => !/:(turn|enqueued:.*)$/.test(key))

describe('a job', () => {
  it('is run once, and leaves nothing behind', async () => {
    const { task, tries } = flaky()
    await it_.worker([task])
    const hub = it_.hub({ name: 'shop' })
    const job = await hub.enqueue(task, { n: 1 })
    expect(job).toMatchObject({ queue: 'q', task: 'flaky:1.0', isTwin: false })
    await eventually(() => tries.length === 1)
    expect(tries[0]).toMatchObject({ args: { n: 1 }, attempt: 1 })
    // @ts-expect-error its type says so, too
    expect(await failure(job.status())).toMatchObject({ code: 'NoSuchJob', id: job.id })
    await hub.close()
  })

  it('waits for a worker that comes later, in the queue that is named', async () => {
    const hub = it_.hub()
    const unnamed = await failure(hub.enqueue('flaky:1.0'))
    expect(unnamed).toMatchObject({ code: 'NoSuchTask', message: expect.stringContaining('pass the queue') })
    const half = await failure(hub.enqueue('flaky', {}, { queue: 'q' }))
    expect(half).toMatchObject({ code: 'NoSuchTask', message: expect.stringContaining('flaky:1.0') })
    const job = await hub.enqueue('flaky:1.0', {}, { queue: 'q', keepResultMs: 60_000 })
    expect(await job.status()).toMatchObject({ state: 'waiting', task: 'flaky:1.0', tries: 0 })
    const { task } = flaky()
    const worker = await it_.worker([task])
    expect(await job.result()).toEqual({ attempt: 1 })
    expect(await job.status()).toMatchObject({ state: 'done', worker: worker.id })
    // And when its workers have left, its card says where it goes.
    await worker.stop()
    const later = await it_.hub().enqueue('flaky:1', { n: 2 })
    expect(later.queue).toBe('q')
    expect(await it_.redis.llen(keys().jobs)).toBe(1)
    await it_.redis.del(keys().jobs, keys().jobBell, keys().job(job.id))
  })

  it('is refused with what is wrong, before anything is sent', async () => {
    const task = defineTask('strict:1.0', { args: { type: 'object', required: ['n'] } }, () => 1)
    await it_.worker([task])
    const hub = it_.hub()
    expect(await failure(hub.enqueue('strict:1.0', {}))).toMatchObject({ code: 'InvalidArgs' })
    const wrong: [object, RegExp][] = [
      [{ delay: 5 }, /there is no option 'delay'; did you mean 'delayMs'\?$/],
      [{ delayMs: -1 }, /delayMs must be milliseconds/],
      [{ delayMs: 1, at: 5 }, /not both/],
      [{ at: 'tomorrow' }, /at must be a Date/],
      [{ at: 1_764_280_000 }, /at must be milliseconds since 1970; 1764280000 is in 1970: multiply seconds by 1000\.$/],
      [{ at: new Date(1_764_280_000) }, /multiply seconds by 1000/],
      [{ at: Date.UTC(2001) - 1 }, /is in 2000: multiply/],
      [{ retries: 1.5 }, /retries must be a whole number/],
      [{ backoff: 'never' }, /backoff must be 'exponential'/],
      [{ backoff: [] }, /backoff must be/],
      [{ priority: 9 }, /priority must be 'high'/],
      [{ unique: 7 }, /unique id must be a string/],
      [{ unique: { until: 'noon' } }, /unique\.until must be/],
      [{ queue: 'no queue' }, /queue must be the name of a queue/],
      [{ timeoutMs: 0 }, /timeoutMs must be/],
    ]
    for (const [options, message] of wrong) {
      const error = await failure(hub.enqueue('strict:1.0', { n: 1 }, options as EnqueueOptions))
      expect(error, JSON.stringify(options)).toMatchObject({
        code: 'InvalidArgs',
        message: expect.stringMatching(message),
      })
    }
    expect(await it_.redis.llen(keys().jobs)).toBe(0)
  })

  it('that is due later runs at its time, not at the next look of its worker', async () => {
    const stage = await memoryStage()
    it_.onEnd(() => stage.end())
    const { task, tries } = flaky()
    await stage.worker([task])
    await stage.hub().enqueue(task, {}, { delayMs: 500 })
    await stage.pass(300)
    expect(tries).toEqual([])
    await stage.pass(200)
    expect(tries).toHaveLength(1)
  })

  it('comes in the order of priorities', async () => {
    const hub = it_.hub()
    const entries = ['low', 'normal', 'high', 'low', 'high', 'normal'] as const
    for (const [n, priority] of entries.entries())
      await hub.enqueue('flaky:1.0', { n, priority }, { queue: 'q', priority })
    const { task, tries } = flaky()
    await it_.worker([task], { slots: 1, jobSlots: 1 })
    await eventually(() => tries.length === 6)
    expect(tries.map(({ args }) => (args as { n: number }).n)).toEqual([2, 4, 1, 5, 0, 3])
  })

  it('that nobody wants any more is counted, and not run', async () => {
    const hub = it_.hub()
    const job = await hub.enqueue('flaky:1.0', {}, { queue: 'q', expiresMs: 1, tracked: true })
    const later = await hub.enqueue('flaky:1.0', {}, { queue: 'q', expiresMs: 60_000, delayMs: 50, tracked: true })
    await delay(10, 'so that the first job expires; nothing happens when it does')
    const { task, tries } = flaky()
    const worker = await it_.worker([task])
    const expired = new Promise<EventMap['request:expired']>(resolve => worker.events.on('request:expired', resolve))
    expect(await failure(job.result())).toMatchObject({ code: 'Expired' })
    expect((await job.status()).state).toBe('expired')
    await later.result()
    expect(tries).toHaveLength(1)
    expect(await expired).toMatchObject({ id: job.id, task: 'flaky:1.0' })
    expect(worker.busy).toBe(0)
    it_.allowLeftovers()
  })
})

describe('a job that fails', () => {
  it('too often is dead, with its last ten failures', async () => {
    const { task, tries } = flaky({ retries: 11 })
    const worker = await it_.worker([task])
    const dead: EventMap['job:dead'][] = []
    worker.events.on('job:dead', event => dead.push(event))
    const job = await it_.hub().enqueue(task, { fails: 99 }, { tracked: true })
    expect(await failure(job.result())).toMatchObject({ code: 'TaskFailed', message: 'try 12 {failed} [here]' })
    expect(tries).toHaveLength(12)
    expect(dead).toMatchObject([{ id: job.id, reason: expect.stringContaining('try 12') }])
    const [text] = await it_.redis.zrange(keys().dead, '0', '-1')
    const kept = JSON.parse(text!)
    expect(kept).toMatchObject({ id: job.id, args: { fails: 99 }, job: { tries: 12 } })
    expect(kept.job.errors.map(({ message }: Error) => message)).toEqual(
      Array.from({ length: 10 }, (_, n) => `try ${n + 3} {failed} [here]`),
    )
    await it_.redis.del(keys().job(job.id), keys().dead)
  })

  it.each([
    ['was told that it would fail again', { retryable: false }, 1],
    ['failed for once', { retryable: true }, 3],
    ['said nothing of that', {}, 3],
  ])('is not tried again where its handler %s: %j', async (_, options, expected) => {
    let count = 0
    const task = defineTask('final:1.0', { retries: 2, backoff: 1 }, () => {
      count++
      throw new TaskError('no', options)
    })
    await it_.worker([task])
    const job = await it_.hub().enqueue(task, {}, { tracked: true })
    expect((await failure(job.result())).code).toBe('TaskFailed')
    expect(count).toBe(expected)
    await it_.redis.del(keys().job(job.id), keys().dead)
  })

  it('with arguments that its worker refuses is dead at once', async () => {
    const hub = it_.hub()
    const job = await hub.enqueue('strict:1.0', {}, { queue: 'q', tracked: true })
    await it_.worker([defineTask('strict:1.0', { args: { type: 'object', required: ['n'] } }, () => 1)])
    expect(await failure(job.result())).toMatchObject({ code: 'InvalidArgs' })
    expect((await job.status()).tries).toBe(1)
    await it_.redis.del(keys().job(job.id), keys().dead)
  })
})

describe('many jobs', () => {
  it('are only looked at where that is wanted, and tell how far they are', async () => {
    await it_.worker([defineTask('strict:1.0', { args: { type: 'integer' } }, () => 1)], { jobSlots: 0 })
    const hub = it_.hub()
    const entries = Array.from({ length: 2500 }, (_, n) => ['strict:1.0', n] as const)
    const told: number[] = []
    const how = { onProgress: (enqueued: number) => told.push(enqueued) }
    expect(await hub.enqueueMany(entries, {}, { checkOnly: true, ...how })).toEqual({ ids: [], twins: 0 })
    const wrong = hub.enqueueMany([...entries, ['strict:1.0', 'x']], {}, { checkOnly: true })
    expect(await failure(wrong)).toMatchObject({ code: 'InvalidArgs', data: { index: 2500 } })
    expect([await it_.redis.exists(keys().jobs), told]).toEqual([0, []])
    await hub.enqueueMany(entries, {}, how)
    expect(told.length).toBeGreaterThan(1)
    expect(told).toEqual([...told].sort((a, b) => a - b))
    expect(told.at(-1)).toBe(2500)
    await it_.redis.del(keys().jobs, keys().jobBell)
  })

  it('are all refused where one of them is wrong, and it is named', async () => {
    await it_.worker([defineTask('strict:1.0', { args: { type: 'integer' } }, () => 1)])
    const hub = it_.hub()
    const error = await failure(
      hub.enqueueMany([
        ['strict:1.0', 1],
        ['strict:1.0', 'x'],
      ]),
    )
    expect(error).toMatchObject({
      code: 'InvalidArgs',
      data: { index: 1 },
      message: expect.stringMatching(/^Nothing was enqueued\. Entry 1:/),
    })
    expect(await failure(hub.enqueueMany([['strict:1.0', 1], 'x' as never]))).toMatchObject({ data: { index: 1 } })
    expect(await failure(hub.enqueueMany(Array(100_001).fill(['strict:1.0', 1])))).toMatchObject({
      code: 'InvalidArgs',
    })
    expect((await allKeys()).filter(key => key.includes('jobs'))).toEqual([])
  })
})
