import { describe, expect, it } from 'vitest'
import { defineTask, type JobsQuery } from '../../src/index.ts'
import { findJobRecord } from '../../src/jobs/lists/listing.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** What can be seen of jobs that lie in Redis. */
const it_ = useRedis()
const keys = (queue?: string) => queueKeys(it_, queue)

const known = (queue: string, task = 't:1.0') =>
  it_.redis.hset(`${it_.namespace}:tasks`, task, JSON.stringify({ task, queue }))

describe('the jobs of a queue', () => {
  it('are counted and listed by where they lie, the next ones first', async () => {
    it_.allowLeftovers()
    const task = defineTask('dies:1.0', { retries: 0 }, () => {
      throw new Error('broken')
    })
    const later = defineTask('later:1.0', { retries: 3, backoff: 60_000 }, () => {
      throw new Error('not yet')
    })
    const worker = await it_.worker([task, later])
    const hub = it_.hub({ name: 'shop' })
    const dead = await hub.enqueue(task, {})
    await eventually(async () => (await hub.dead('q').count()) === 1)
    await it_.redis.zadd(keys().dead, 1, '{"id":"old","task":"other:1.0"}')
    const retrying = await hub.enqueue(later, {})
    await eventually(async () => (await it_.redis.zcard(keys().retries)) === 1)
    await worker.stop()
    const far = await hub.enqueue('dies:1.0', {}, { delayMs: 6_000_000 })
    const near = await hub.enqueue('later:1.0', {}, { delayMs: 3_000_000 })
    const low = await hub.enqueue(task, {}, { priority: 'low' })
    const normal = await hub.enqueue(task, {})
    const high = await hub.enqueue(task, {}, { priority: 'high' })
    const { atMs, counts, jobs, more } = await hub.jobs()
    expect({ counts, jobs, more }).toEqual({
      counts: [{ queue: 'q', waiting: 3, scheduled: 2, retrying: 1, dead: 2 }],
      jobs: [],
      more: false,
    })
    const list = async (query: JobsQuery) => (await hub.jobs(query)).jobs
    const waiting = await list({ state: 'waiting' })
    expect(waiting.map(({ id, priority }) => [id, priority])).toEqual([
      [high.id, 'high'],
      [normal.id, 'normal'],
      [low.id, 'low'],
    ])
    expect(waiting[0]).toMatchObject({ queue: 'q', state: 'waiting', task: 'dies:1.0', from: 'shop', tries: 0 })
    expect(waiting[0]!.enqueuedMs!).toBeLessThanOrEqual(atMs)
    const scheduled = await list({ queue: 'q', state: 'scheduled' })
    expect(scheduled.map(({ id }) => id)).toEqual([near.id, far.id])
    expect(scheduled[0]!.dueMs! - atMs).toBeGreaterThan(20_000)
    expect(await list({ state: 'scheduled', task: 'dies:1.0' })).toMatchObject([{ id: far.id }])
    expect(await list({ state: 'retrying' })).toMatchObject([
      { id: retrying.id, tries: 1, error: { code: 'TaskFailed', message: 'not yet' }, deadMs: undefined },
    ])
    expect(await list({ state: 'dead' })).toMatchObject([
      { id: dead.id, error: { message: 'broken' } },
      { id: 'old', deadMs: 1, error: undefined, from: undefined },
    ])
    expect(await hub.jobs({ state: 'dead', limit: 1 })).toMatchObject({ jobs: [{ id: dead.id }], more: true })
    expect(await hub.jobs({ state: 'dead', limit: 2 })).toMatchObject({ more: false })
    expect(await hub.jobs({ queue: 'other', state: 'dead' })).toMatchObject({
      counts: [{ queue: 'other', dead: 0 }],
      jobs: [],
    })
  })

  it('are read whatever else lies there', async () => {
    it_.allowStrangers()
    await known('q')
    const nothings = ['no JSON', '[]', '{}', '{"id":"a","task":7}', '{"task":"t:1.0","id":"a","result_queue":"x"}', '']
    await it_.redis.rpush(keys().jobs, ...nothings, '{"task":"t:1.0"}')
    await it_.redis.set(keys().jobsHigh, 'squat')
    await it_.redis.rpush(keys().scheduled, 'squat')
    await it_.redis.zadd(keys().dead, '-inf', '{"id":"d","task":"t:1.0","job":{"errors":7}}')
    await it_.redis.set(keys().job('squat'), 'squat')
    const hub = it_.hub()
    const { counts, jobs } = await hub.jobs({ state: 'waiting' })
    expect(counts).toEqual([{ queue: 'q', waiting: 7, scheduled: 0, retrying: 0, dead: 1 }])
    expect(jobs).toMatchObject([{ id: undefined, task: 't:1.0', enqueuedMs: undefined }])
    expect((await hub.jobs({ state: 'scheduled' })).jobs).toEqual([])
    expect((await hub.jobs({ state: 'dead' })).jobs).toMatchObject([{ id: 'd', error: undefined }])
    expect(await findJobRecord(it_.redis, makeKeys(it_.namespace), 'squat', ['q'])).toBe(undefined)
  })

  it.each([
    [{ queue: 'no queue' }, 'queue must be the name of a queue, not "no queue"'],
    [{ state: 'ready' }, 'state must be waiting, running, scheduled, retrying, dead, done, not "ready"'],
    [{ task: 't:1.0' }, 'task needs a state'],
    [{ state: 'dead', task: 7 }, 'task must be a name, not 7'],
    [{ limit: 0 }, 'limit must be a whole number from 1 to 10000, not 0'],
    [{ limit: 1.5 }, 'limit must be'],
    [{ limit: 10_001 }, 'limit must be'],
  ])('are not asked for with %j', async (query, message) => {
    const { code, message: told } = await failure(it_.hub().jobs(query as JobsQuery))
    expect([code, told]).toEqual(['InvalidArgs', expect.stringContaining(message)])
  })
})
