import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap } from '../../src/index.ts'
import { Queue, reporterMs } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { blockLoop } from '../support/block-loop.mjs'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const server = useRedis()

const keys = () => queueKeys(server)
const queue = () => new Queue('q', makeKeys(server.namespace))
const beat = (id: string, reports = true) => queue().beat(server.redis, id, 60_000, true, { reports })
const figuresFor = async (id: string, reports = true) => (await beat(id, reports)).figures
const noJobs = { waiting: 0, oldestMs: 0, scheduled: 0, retrying: 0, dead: 0 }
const noKeys = { waiting: 0, running: 0, lagMs: 0, longestMs: 0 }
const nothing = { length: 0, oldestMs: 0, jobs: noJobs, keys: noKeys }
const aged = (ageMs: number, nowUs: number) => `{"at":${nowUs - ageMs * 1000},"ttl":0,"id":"a","task":"a:1.0"}`

describe('the figures of a queue', () => {
  it('are told to one worker, and to the next one when that is silent or leaves', async () => {
    const { redis } = server
    expect([await figuresFor('a'), await figuresFor('b'), await figuresFor('a')]).toEqual([nothing, undefined, nothing])
    const ttlMs = await redis.pttl(keys().reporter)
    expect(ttlMs > 0 && ttlMs <= reporterMs).toBe(true)
    await redis.pexpire(keys().reporter, 1)
    const next = await eventually(() => figuresFor('b'))
    expect(next).toEqual(nothing)
    expect(await figuresFor('a')).toBeUndefined()
    await queue().leave(redis, 'b', [])
    expect(await redis.exists(keys().reporter)).toBe(0)
    expect(await figuresFor('a')).toEqual(nothing)
    await queue().leave(redis, 'a', [])
  })

  it("are the list's length and how long its first request has waited, on Redis' clock", async () => {
    const { redis } = server
    const { calls, leases } = keys()
    const { nowUs } = await beat('a')
    await redis.rpush(calls, aged(5000, nowUs), aged(9000, nowUs), '{}')
    const figures = (await figuresFor('a'))!
    expect(figures.length).toBe(3)
    expect(figures.oldestMs).toBeGreaterThanOrEqual(5000)
    expect(figures.oldestMs).toBeLessThanOrEqual(5001 + ((await beat('a')).nowUs - nowUs) / 1000)
    // One pushed by hand carries no time: unknown is not 0. One of a clock ahead is not younger than nothing.
    await redis.lpush(calls, '{"task":"a:1.0"}')
    expect(await figuresFor('a')).toEqual({ length: 4, oldestMs: undefined, jobs: noJobs, keys: noKeys })
    await redis.lpush(calls, aged(-60_000, nowUs))
    expect(await figuresFor('a')).toEqual({ length: 5, oldestMs: 0, jobs: noJobs, keys: noKeys })
    await redis.del(calls, leases)
  })

  it('are how many jobs wait, for how long the first of them has been due, and what is kept for later', async () => {
    const { redis } = server
    const { jobs, jobsHigh, jobsLow, scheduled, retries, dead, leases } = keys()
    const { nowUs } = await beat('a')
    const inMs = (ms: number) => Math.round(nowUs / 1000) + ms
    const jobFigures = async () => (await figuresFor('a'))!.jobs
    await redis.rpush(jobsLow, aged(2000, nowUs), aged(60_000, nowUs))
    await redis.zadd(scheduled, inMs(60_000), 'x', inMs(70_000), 'y')
    await redis.zadd(retries, inMs(60_000), 'z')
    await redis.zadd(dead, 1, 'd')
    const first = await jobFigures()
    expect(first).toEqual({ waiting: 2, oldestMs: expect.any(Number), scheduled: 2, retrying: 1, dead: 1 })
    expect(first.oldestMs).toBeGreaterThanOrEqual(2000)
    expect(first.oldestMs).toBeLessThanOrEqual(2001 + ((await beat('a')).nowUs - nowUs) / 1000)
    await redis.rpush(jobsHigh, aged(5000, nowUs))
    await redis.rpush(jobs, aged(3000, nowUs))
    expect((await jobFigures()).oldestMs).toBeGreaterThanOrEqual(5000)
    // Nobody has moved it yet.
    await redis.zadd(retries, inMs(-9000), 'late')
    expect((await jobFigures()).oldestMs).toBeGreaterThanOrEqual(9000)
    await redis.del(jobs, jobsHigh, jobsLow, scheduled, retries, dead)
    await redis.rpush(jobs, '{"task":"a:1.0"}')
    expect(await jobFigures()).toEqual({ ...noJobs, waiting: 1, oldestMs: undefined })
    // Somebody else's keys.
    await redis.del(jobs)
    for (const key of [jobs, scheduled, dead]) await redis.set(key, 'squat')
    expect(await beat('a')).toMatchObject({ held: true, figures: nothing })
    await redis.del(jobs, scheduled, dead, leases)
  })
})

describe('a worker', () => {
  it('tells how its own process is: slots, busy, and how late its loop was', async () => {
    let release: () => void = () => undefined
    const stay = defineTask('stay:1.0', {}, () => new Promise<void>(resolve => (release = resolve)))
    const block = defineTask('block:1.0', {}, () => blockLoop(300))
    const worker = await server.worker([stay, block], { slots: 2 })
    const beats: EventMap['worker:beat'][] = []
    worker.events.on('worker:beat', event => beats.push(event))
    await eventually(() => beats.length > 0)
    const delays = { mean: expect.any(Number), max: expect.any(Number) }
    expect(beats[0]).toEqual({ worker: worker.id, queue: 'q', slots: 2, busy: 0, loopDelayMs: delays })
    const call = server.hub().call('stay:1.0')
    await server.hub().call('block:1.0')
    await eventually(() => beats.some(({ busy }) => busy === 1))
    await eventually(() => beats.some(({ loopDelayMs }) => loopDelayMs.max > 250))
    // Each beat tells of the time since the one before it.
    await eventually(() => beats.at(-1)!.loopDelayMs.max < 250)
    release()
    await call
  })
})
