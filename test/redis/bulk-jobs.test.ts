import { describe, expect, it } from 'vitest'
import { type BulkAction, type BulkQuery, type BulkStep, defineTask } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** Changing all jobs that match, step by step. */
const it_ = useRedis()
const keys = (queue?: string) => queueKeys(it_, queue)

const echo = defineTask('echo:1.0', {}, (args: unknown) => args)
const stays = defineTask('stays:1.0', {}, (_, ctx) => new Promise(end => ctx.signal.addEventListener('abort', end)))
const message = (id: string, task = 't:1.0') => `{"at":1000,"ttl":0,"id":"${id}","task":"${task}","args":{"n":"${id}"}}`

/** All steps together. */
const all = async (action: BulkAction | undefined, query: BulkQuery) => {
  const hub = it_.hub()
  const sum = { matching: 0, changed: 0, skipped: 0, steps: 0 }
  let next: string | undefined
  do {
    const step: BulkStep = await hub.bulkStep(action, { ...query, from: next })
    sum.matching += step.matching
    sum.changed += step.changed
    sum.skipped += step.skipped
    sum.steps++
    next = step.next
  } while (next !== undefined && sum.steps < 100)
  return sum
}

const bury = async (count: number, queue = 'q') => {
  const pipeline = it_.redis.pipeline()
  for (let n = 0; n < count; n++) pipeline.zadd(keys(queue).dead, n, message(`${queue}${n}`, n % 2 ? 't:1.0' : 'u:1.0'))
  await pipeline.exec()
  await it_.redis.hset(`${it_.namespace}:tasks`, `t${queue}:1.0`, `{"task":"t${queue}:1.0","queue":"${queue}"}`)
}

describe('all that match', () => {
  it('are counted and tried again, of all queues, once each, in bounded steps', async () => {
    it_.allowLeftovers()
    await bury(450)
    await bury(50, 'r')
    const query = { state: 'dead', task: 't:1.0' } as const
    expect(await all(undefined, query)).toEqual({ matching: 250, changed: 0, skipped: 0, steps: 1 })
    expect(await it_.redis.zcard(keys().dead)).toBe(450)
    expect(await all('retry', query)).toMatchObject({ matching: 250, changed: 250, skipped: 0, steps: 2 })
    expect(await it_.redis.zcard(keys().dead)).toBe(225)
    expect(await it_.redis.llen(keys().jobs)).toBe(225)
    expect(await it_.redis.llen(keys('r').jobs)).toBe(25)
    expect(new Set(await it_.redis.lrange(keys().jobs, 0, -1)).size).toBe(225)
    expect(await all(undefined, query)).toMatchObject({ matching: 0 })
  })

  it('are deleted, but for those that came after they were counted', async () => {
    it_.allowLeftovers()
    await bury(300)
    expect(await all('delete', { state: 'dead', queue: 'q', untilMs: 199 })).toMatchObject({ changed: 200 })
    const left = await it_.redis.zrange(keys().dead, '0', '0', 'WITHSCORES')
    expect([await it_.redis.zcard(keys().dead), left[1]]).toEqual([100, '200'])
    expect(await all('delete', { state: 'dead', queue: 'q', text: '"n":"q2' })).toMatchObject({ changed: 100 })
  })

  it('are cancelled: taken out where nobody tracks them, else marked, and each only once', async () => {
    it_.allowLeftovers()
    const hub = it_.hub()
    const put = { queue: 'q' }
    const tracked = await hub.enqueue('echo:1.0', 1, { ...put, tracked: true })
    await hub.enqueueMany(
      Array.from({ length: 250 }, (_, n) => ['echo:1.0', n]),
      put,
    )
    const later = await hub.enqueue('echo:1.0', 1, { ...put, tracked: true, delayMs: 60_000 })
    await hub.enqueue('echo:1.0', 1, { ...put, delayMs: 60_000 })
    const query = { state: 'waiting', queue: 'q' } as const
    expect(await all('cancel', query)).toMatchObject({ matching: 251, changed: 251, skipped: 0 })
    expect((await tracked.status()).state).toBe('cancelled')
    // Its mark stays, and it, until it would be taken.
    expect(await it_.redis.llen(keys().jobs)).toBe(1)
    expect(await all('cancel', query)).toMatchObject({ matching: 1, changed: 0, skipped: 1 })
    expect(await all('cancel', { ...query, state: 'scheduled' })).toMatchObject({ changed: 2 })
    expect((await later.status()).state).toBe('cancelled')
    expect(await it_.redis.zcard(keys().scheduled)).toBe(0)
  })

  it('are not cancelled where a batch waits for them that nobody could tell', async () => {
    it_.allowLeftovers()
    const hub = it_.hub()
    await hub.batch([['echo:1.0', 1]], { queue: 'q', then: ['echo:1.0', 'all'] })
    expect(await all('cancel', { state: 'waiting', queue: 'q' })).toMatchObject({ matching: 1, changed: 0, skipped: 1 })
    const worker = await it_.worker([echo])
    await eventually(async () => (await hub.overview()).queues[0]!.jobs === 0 && worker.busy === 0)
    expect(await it_.redis.llen(keys().jobs)).toBe(0)
  })

  it('are run at once where they wait for their time, each as it is and only once', async () => {
    it_.allowLeftovers()
    const hub = it_.hub()
    await hub.enqueueMany(
      Array.from({ length: 250 }, (_, n) => ['echo:1.0', `run-${n}`, { delayMs: 60_000 + n }]),
      { queue: 'q' },
    )
    const tracked = await hub.enqueue('echo:1.0', 'mine', {
      queue: 'q',
      tracked: true,
      delayMs: 3_600_000,
      expiresMs: 9000,
    })
    const query = { state: 'scheduled', queue: 'q' } as const
    expect(await all('run', { ...query, text: '"run-24' })).toMatchObject({ matching: 11, changed: 11 })
    expect(await all('run', query)).toMatchObject({ matching: 240, changed: 240, skipped: 0 })
    expect(await it_.redis.zcard(keys().scheduled)).toBe(0)
    expect(await it_.redis.llen(keys().jobs)).toBe(251)
    const { state, tries, dueMs, enqueuedMs } = await tracked.status()
    expect({ state, tries }).toEqual({ state: 'waiting', tries: 0 })
    // It was due when it was said to run, and not when it should have been.
    expect(dueMs! - enqueuedMs!).toBeLessThan(3_600_000)
    const { jobs } = await hub.jobs({ state: 'waiting', queue: 'q', text: 'mine' })
    expect(jobs).toMatchObject([{ id: tracked.id, dueMs: undefined }])
    const { expiresMs } = await hub.jobDetails(tracked.id)
    expect(expiresMs! - Date.now()).toBeLessThanOrEqual(9000)
  })

  it('are run at once where they wait for their next try, with their tries, but not those that failed since', async () => {
    it_.allowLeftovers()
    const failed = (id: string, at: number) =>
      `{"at":9000,"ttl":0,"id":"${id}","job":{"tries":2,"errors":[{"at":${at},"code":"E","message":"m"}]},"task":"t:1.0","args":1}`
    await it_.redis.zadd(keys().retries, 4e12, failed('old', 500), 4e12 + 1, failed('new', 501))
    expect(await all('run', { state: 'retrying', queue: 'q', untilMs: 500 })).toMatchObject({ matching: 1, changed: 1 })
    const [text] = await it_.redis.lrange(keys().jobs, 0, -1)
    expect(text).toMatch(/^\{"at":1\d{15},"ttl":0,"id":"old","job":\{"tries":2,"errors":\[\{"at":500,/)
    expect(await it_.redis.zcard(keys().retries)).toBe(1)
  })

  it('that run are told', async () => {
    it_.allowLeftovers()
    const hub = it_.hub()
    const worker = await it_.worker([stays], { slots: 4, jobSlots: 4 })
    const tracked = await hub.enqueue(stays, {}, { tracked: true })
    await hub.enqueue(stays, {})
    await eventually(() => worker.busy === 2)
    expect(await all('cancel', { state: 'running' })).toMatchObject({ matching: 2, changed: 1, skipped: 1 })
    await eventually(async () => (await tracked.status()).state !== 'running')
  })

  it.each([
    [{ state: 'dead' }, 'cancel', 'dead jobs can be retried or deleted'],
    [{ state: 'waiting' }, 'retry', 'jobs that are waiting can be cancelled; retry'],
    [{ state: 'waiting' }, 'run', 'jobs that are waiting can be cancelled; run'],
    [{ state: 'scheduled' }, 'retry', 'jobs that are scheduled can be cancelled or run at once; retry'],
    [{ state: 'running' }, 'delete', 'jobs that are running can be cancelled'],
    [{ state: 'done' }, undefined, 'jobs that are done cannot be changed or counted'],
    [{}, undefined, 'pass a state'],
    [{ state: 'dead', queue: 'a b' }, 'retry', 'queue must be the name of a queue'],
    [{ state: 'dead', from: '?' }, 'retry', 'from must be'],
  ])('are not %j for %s', async (query, action, told) => {
    const { code, message } = await failure(it_.hub().bulkStep(action as BulkAction, query as BulkQuery))
    expect([code, message]).toEqual(['InvalidArgs', expect.stringContaining(told)])
  })
})

describe('one job', () => {
  it('is run at once, from its time or its next try, tracked or not', async () => {
    let attempts = 0
    const flaky = defineTask('flaky:1.0', { backoff: 3_600_000 }, () => {
      if (++attempts < 2) throw new Error('not yet')
      return attempts
    })
    const hub = it_.hub()
    const later = await hub.enqueue('flaky:1.0', 1, { queue: 'q', tracked: true, delayMs: 3_600_000 })
    const plain = await hub.enqueue('flaky:1.0', 1, { queue: 'q', delayMs: 3_600_000 })
    const twin = await hub.enqueue('flaky:1.0', { id: later.id }, { queue: 'q', delayMs: 3_600_000 })
    expect(await later.run()).toBe(true)
    expect(await later.run()).toBe(false)
    await it_.worker([flaky])
    await eventually(async () => (await later.status()).state === 'retrying')
    expect(await (await hub.job(later.id)).run()).toBe(true)
    expect(await later.result()).toBe(2)
    const { tries, error, enqueuedMs } = await later.status()
    expect(tries).toBe(1)
    // When a try began is written with its failure.
    expect(error!.started).toBeGreaterThanOrEqual(enqueuedMs!)
    expect(error!.started).toBeLessThanOrEqual(error!.at)
    expect(await later.run()).toBe(false)
    expect(await hub.runJob(later.id)).toBe(false)
    expect(await hub.runJob(plain.id, { queue: 'q' })).toBe(true)
    await eventually(() => attempts === 3)
    expect(await it_.redis.zcard(keys().scheduled)).toBe(1)
    expect((await failure(hub.runJob('nobody', { queue: 'q' }))).code).toBe('NoSuchJob')
    expect(await hub.cancelJob(twin.id, { queue: 'q' })).toBe(true)
    await it_.redis.del(keys().job(later.id))
  })

  it('whose message has no id is not lost when it is tried again', async () => {
    it_.allowLeftovers()
    await it_.redis.zadd(keys().dead, 1, '{"task":"t:1.0","args":1}')
    expect(await all('retry', { state: 'dead', queue: 'q' })).toMatchObject({ changed: 1 })
    expect(await it_.redis.llen(keys().jobs)).toBe(1)
  })
})

describe('the age of the oldest job', () => {
  it('is that of the first which is due, wherever it lies', async () => {
    it_.allowLeftovers()
    const { redis, namespace } = it_
    await redis.hset(`${namespace}:tasks`, 't:1.0', '{"task":"t:1.0","queue":"q"}')
    const hub = it_.hub()
    const ageOf = async () => (await hub.overview()).queues[0]!.oldestJobMs
    const [seconds] = await redis.time()
    const nowMs = Number(seconds) * 1000
    expect(await ageOf()).toBe(undefined)
    await redis.zadd(keys().scheduled, nowMs + 60_000, message('later'))
    expect(await ageOf()).toBe(undefined)
    await redis.rpush(keys().jobs, `{"at":${nowMs - 1_000_000}000,"ttl":0,"id":"a","task":"t:1.0"}`)
    /** In steps of a thousand seconds, which is far more than this test takes. */
    const near = (age: number | undefined, ms: number) => expect(Math.floor(age! / 1e6) * 1e6).toBe(ms)
    near(await ageOf(), 1_000_000)
    await redis.rpush(keys().jobsLow, `{"at":${nowMs - 5_000_000}000,"ttl":0,"id":"b","task":"t:1.0"}`)
    near(await ageOf(), 5_000_000)
    await redis.zadd(keys().retries, nowMs - 9_000_000, message('overdue'))
    near(await ageOf(), 9_000_000)
    await redis.zadd(keys().scheduled, '-inf', message('odd'))
    near(await ageOf(), 9_000_000)
  })
})
