import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { SlotPool } from '../../src/worker/slot-pool.ts'
import { Slots } from '../../src/worker/slots.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()

const foreign = (id: string, ttl: number) =>
  `{"at":${Date.now() * 1000},"ttl":${ttl},"id":"${id}","task":"others:1.0","args":{}}`
const job = (n: number) => `{"at":${Date.now() * 1000},"ttl":0,"id":"job-${n}","task":"job:1.0","args":{}}`

describe('a request for a task that this worker lacks', () => {
  it('goes round slower and slower, and costs no slot', async () => {
    const { redis } = it_
    const { calls, bell, jobs, jobBell } = queueKeys(it_)
    const ends: (() => void)[] = []
    const task = defineTask('job:1.0', {}, () => new Promise<void>(resolve => ends.push(resolve)))
    const worker = await it_.worker([task], { slots: 4, jobSlots: 2 })
    let handedBack = 0
    let expired = 0
    worker.events.on('request:handedback', () => handedBack++)
    worker.events.on('claim:taken', claimed => {
      expired += claimed.expired
    })
    await redis.rpush(calls, foreign('a', 2000))
    await redis.rpush(bell, '1')
    await eventually(() => expired === 1, 30_000)
    // 50 + 100 + 200 + 400 + 400 ... within two seconds; once for each turn before.
    expect(handedBack).toBeGreaterThan(1)
    expect(handedBack).toBeLessThan(12)
    // Jobs have all their slots afterwards.
    await redis.rpush(jobs, job(1), job(2), job(3))
    await redis.rpush(jobBell, '1')
    await eventually(() => ends.length === 2)
    expect(worker.busy).toBe(2)
    for (const end of ends.splice(0)) end()
    await eventually(() => ends.length === 1)
    ends[0]!()
    await eventually(() => worker.busy === 0)
  }, 40_000)

  it('keeps no call waiting when it is a job', async () => {
    const { redis } = it_
    const { jobs, jobBell } = queueKeys(it_)
    let end = () => {}
    const gate = new Promise<void>(resolve => (end = resolve))
    const other = await it_.worker([defineTask('job:1.0', { timeoutMs: 60_000 }, () => gate)], { slots: 1 })
    const worker = await it_.worker([defineTask('own:1.0', {}, () => 0)], { slots: 4 })
    let handedBack = 0
    worker.events.on('request:handedback', () => handedBack++)
    const hub = it_.hub()
    const running = hub.call('job:1.0', {})
    await eventually(() => other.busy === 1)
    await redis.rpush(jobs, ...Array.from({ length: 200 }, (_, n) => job(n)))
    await redis.rpush(jobBell, '1')
    await eventually(() => handedBack > 0)
    for (let n = 0; n < 40; n++) await hub.call('own:1.0', {})
    // One for each time that its jobs rested; each of these calls waited for one of them.
    expect(handedBack).toBeLessThan(20)
    end()
    await running
    await eventually(async () => (await redis.exists(jobs)) === 0 && other.busy === 0)
  })
})

describe('slots', () => {
  it('are counted by what runs in them, and not by ids', () => {
    const pool = new SlotPool(4, 2)
    const slots = new Slots(pool)
    const [first, second] = [slots.take(true, 0), slots.take(true, 0)]
    expect([slots.busy, pool.jobRoom, slots.idle]).toEqual([2, 0, 2])
    slots.free([first])
    slots.free([first])
    expect([slots.busy, pool.jobRoom, slots.idle]).toEqual([1, 1, 3])
    slots.free([second])
    expect([slots.busy, pool.jobRoom, slots.idle]).toEqual([0, 2, 4])
  })

  it('are not filled while so much is held that twice as many releases as there are slots are not confirmed', () => {
    const slots = new Slots(new SlotPool(2, 0))
    for (const id of ['a', 'b', 'e', 'f']) {
      slots.know(id)
      slots.free([slots.take(false, 0)])
    }
    expect(slots.idle).toBe(2)
    slots.know('c')
    slots.free([slots.take(false, 0)])
    expect(slots.idle).toBe(1)
    slots.know('d')
    slots.free([slots.take(false, 0)])
    expect(slots.idle).toBe(0)
    slots.released(['a', 'b', 'c', 'd', 'e', 'f'])
    expect(slots.idle).toBe(2)
    expect(['a', 'd', 'g'].map(id => slots.wasReleased(id))).toEqual([true, true, false])
  })
})

it('jobs are claimed few at a time while calls come, and as many as there is room for without', async () => {
  const { redis } = it_
  const { jobs, jobBell, paused } = queueKeys(it_)
  const blank = defineTask('job:1.0', {}, () => null)
  const worker = await it_.worker([blank], { slots: 16, jobSlots: 16 })
  const taken: number[] = []
  worker.events.on('claim:taken', ({ count }) => taken.push(count))
  const all = Array.from({ length: 16 }, (_, n) => job(n))
  const isPaused = new Promise(resolve => worker.events.on('queue:paused', resolve))
  await redis.set(paused, '1')
  await isPaused
  await redis.rpush(jobs, ...all)
  await redis.rpush(jobBell, '1')
  await redis.del(paused)
  await eventually(() => taken.reduce((sum, count) => sum + count, 0) === 16)
  expect(Math.max(...taken)).toBeGreaterThan(8)
  taken.length = 0
  const hub = it_.hub()
  let isOver = false
  const calling = (async () => {
    while (!isOver) await hub.call('job:1.0')
  })()
  await eventually(() => taken.length > 5)
  await redis.rpush(jobs, ...all)
  await redis.rpush(jobBell, '1')
  await eventually(async () => (await redis.llen(jobs)) === 0)
  isOver = true
  await calling
  // A call and two jobs.
  expect(Math.max(...taken)).toBeLessThanOrEqual(3)
}, 40_000)

it('a Redis that refuses releases is not asked for more work again and again, and all goes on when it does not', async () => {
  const { redis } = it_
  const { held } = queueKeys(it_)
  await redis.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all')
  it_.onEnd(() => redis.call('ACL', 'DELUSER', 'limited'))
  const url = it_.server.url.replace('redis://', 'redis://limited:secret@')
  const worker = await it_.worker([defineTask('echo:1.0', {}, args => args)], { slots: 2, redis: url })
  const problems: string[] = []
  worker.events.on('problem', ({ reason }) => problems.push(reason))
  const hub = it_.hub()
  expect(await hub.call('echo:1.0', 0)).toBe(0)
  await eventually(async () => (await redis.hlen(held(worker.id))) === 0)
  await redis.call('ACL', 'SETUSER', 'limited', '-hdel')
  const claimsBefore = await claims()
  const calls = Array.from({ length: 8 }, (_, n) => hub.call('echo:1.0', n, { timeoutMs: 40_000 }))
  await Promise.all(calls.slice(0, 4))
  await eventually(async () => (await redis.hlen(held(worker.id))) === 6)
  await eventually(() => problems.filter(reason => reason.includes('NOPERM')).length > 3)
  expect((await claims()) - claimsBefore).toBeLessThan(20)
  await redis.call('ACL', 'SETUSER', 'limited', '+hdel')
  expect(await Promise.all(calls)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  await eventually(async () => (await redis.hlen(held(worker.id))) === 0)

  async function claims(): Promise<number> {
    const stats = String(await redis.info('commandstats'))
    return Number(/cmdstat_fcall:calls=(\d+)/.exec(stats)?.[1] ?? 0)
  }
}, 60_000)
