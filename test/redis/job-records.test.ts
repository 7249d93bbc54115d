import { describe, expect, it } from 'vitest'
import { defineTask, type EnqueueOptions, type Job } from '../../src/index.ts'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { leadingAt } from '../../src/wire/message.ts'
import { flaky } from '../support/flaky-task.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { memoryStage } from '../support/stages.ts'

/** What a tracked job tells of itself: uniqueness, cancelling, waiting for its end. */
const it_ = useRedis()
const keys = () => queueKeys(it_)

describe('a unique job', () => {
  it('is there once, until it has ended, whatever the order of its arguments', async () => {
    const hub = it_.hub()
    const first = await hub.enqueue('flaky:1.0', { a: 1, b: [1.0, 2] }, { queue: 'q', unique: true })
    const twin = await hub.enqueue('flaky:1.0', { b: [1, 2], a: 1 }, { queue: 'q', unique: true })
    const other = await hub.enqueue('flaky:1.0', { a: 2 }, { queue: 'q', unique: true })
    expect([twin.id, twin.isTwin, other.isTwin]).toEqual([first.id, true, false])
    const { ids, twins } = await hub.enqueueMany(
      [
        ['flaky:1.0', { a: 2 }],
        ['flaky:1.0', { a: 3 }],
      ],
      {
        queue: 'q',
        unique: true,
      },
    )
    expect([ids[0], twins]).toEqual([other.id, 1])
    const { task, tries } = flaky()
    await it_.worker([task])
    await Promise.all([twin.result(), other.result()])
    await eventually(() => tries.length === 3)
    expect((await hub.enqueue(task, { a: 1, b: [1, 2] }, { unique: true })).isTwin).toBe(false)
    it_.allowLeftovers()
  })

  it('until it starts lets the next one wait while it runs', async () => {
    let running = 0
    let go = () => {}
    const gone = new Promise<void>(resolve => (go = resolve))
    const task = defineTask('slow:1.0', {}, async () => {
      running++
      await gone
    })
    await it_.worker([task], { slots: 1, jobSlots: 1 })
    const hub = it_.hub()
    const unique = { id: 'x', until: 'started' } as const
    await hub.enqueue(task, {}, { unique })
    await eventually(() => running === 1)
    expect((await hub.enqueue(task, {}, { unique })).isTwin).toBe(false)
    expect((await hub.enqueue(task, {}, { unique })).isTwin).toBe(true)
    go()
    await eventually(() => running === 2)
    it_.allowLeftovers()
  })
})

describe('the uniqueness of a job', () => {
  const unique = { queue: 'q', unique: { id: 'x' }, retries: 0 }

  it('is free when its time to be wanted is over, or it was cancelled and comes back', async () => {
    const hub = it_.hub()
    const late = await hub.enqueue('flaky:1.0', {}, { ...unique, expiresMs: 1 })
    await eventually(async () => !(await hub.enqueue('flaky:1.0', {}, unique)).isTwin)
    expect((await hub.enqueue('flaky:1.0', {}, unique)).isTwin).toBe(true)
    const cancelled = await stopped(unique)
    expect((await cancelled.status()).state).toBe('cancelled')
    expect(await failure(late.result())).toMatchObject({ code: 'Expired' })
    it_.allowLeftovers()
  })

  /** A job that is cancelled while it runs, and whose worker leaves. */
  const stopped = async (options: EnqueueOptions) => {
    const hub = it_.hub()
    const task = defineTask('stay:1.0', {}, () => new Promise(() => {}))
    const worker = await it_.worker([task])
    const job = await hub.enqueue(task, {}, options)
    await eventually(() => worker.busy === 1)
    await job.cancel()
    await worker.stop({ graceMs: 0 })
    expect((await hub.enqueue(task, {}, options)).isTwin).toBe(false)
    return job
  }

  it('is held again by one that its worker puts back', async () => {
    const task = defineTask('stay:1.0', {}, () => new Promise(() => {}))
    const worker = await it_.worker([task])
    const hub = it_.hub()
    const first = await hub.enqueue(task, {}, { unique: { until: 'started' } })
    await eventually(() => worker.busy === 1)
    await worker.stop({ graceMs: 0 })
    const twin = await hub.enqueue(task, {}, { unique: { until: 'started' } })
    expect([twin.id, twin.isTwin]).toEqual([first.id, true])
    it_.allowLeftovers()
  })

  it('keeps a dead one dead while another one waits', async () => {
    const { task } = flaky()
    const worker = await it_.worker([task])
    const hub = it_.hub()
    const dead = await hub.enqueue(task, { fails: 9 }, unique)
    await failure(dead.result())
    await worker.stop()
    const next = await hub.enqueue(task, {}, unique)
    expect([next.isTwin, await hub.dead('q').retry(), await hub.dead('q').count()]).toEqual([false, 0, 1])
    await it_.worker([task])
    await next.result()
    expect(await hub.dead('q').retry()).toBe(1)
    it_.allowLeftovers()
  })
})

describe('a job that is cancelled', () => {
  it('while it waits, or is scheduled, never runs', async () => {
    const hub = it_.hub()
    const waiting = await hub.enqueue('flaky:1.0', {}, { queue: 'q', tracked: true })
    const scheduled = await hub.enqueue('flaky:1.0', {}, { queue: 'q', tracked: true, delayMs: 100 })
    expect([await waiting.cancel(), await scheduled.cancel()]).toEqual([true, true])
    expect((await scheduled.status()).state).toBe('cancelled')
    const { task, tries } = flaky()
    await it_.worker([task])
    const last = await hub.enqueue(task, {}, { tracked: true, delayMs: 150 })
    await last.result()
    expect(tries).toHaveLength(1)
    expect(await failure(waiting.result())).toMatchObject({ code: 'Aborted' })
    expect(await it_.redis.pttl(keys().job(scheduled.id))).toBeGreaterThan(0)
    it_.allowLeftovers()
  })

  it('while it runs has its signal fired, and is not tried again', async () => {
    let attempts = 0
    const task = defineTask('stay:1.0', { backoff: 1 }, (_, { signal }) => {
      attempts++
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    const worker = await it_.worker([task])
    const job = await it_.hub().enqueue(task, {}, { tracked: true })
    await eventually(() => worker.busy === 1)
    expect(await job.cancel()).toBe(false)
    expect(await failure(job.result())).toMatchObject({ code: 'Aborted' })
    expect((await job.status()).state).toBe('cancelled')
    expect(attempts).toBe(1)
    await it_.redis.del(keys().job(job.id))
  })
})

describe('jobs that are cancelled while they wait for their time', () => {
  it('go at once, however many have the same, and also where their next try is what they wait for', async () => {
    const hub = it_.hub()
    const at = Date.now() + 3_600_000
    const shared = { queue: 'q', tracked: true, at }
    const reminders = Array.from({ length: 50 }, (_, n) => ['flaky:1.0', { n }, { expiresMs: n * 1000 }] as const)
    const { ids } = await hub.enqueueMany(
      reminders.map(([task, args, own]) => [task, args, own]),
      shared,
    )
    const worker = await it_.worker([flaky({ backoff: 60_000 }).task])
    const failing = await hub.enqueue('flaky:1.0', { fails: 1 }, { tracked: true, expiresMs: 3_600_000 })
    await eventually(async () => (await failing.status()).state === 'retrying')
    await worker.stop()
    for (const id of [...ids, failing.id]) expect(await (await hub.job(id)).cancel()).toBe(true)
    expect([await it_.redis.zcard(keys().scheduled), await it_.redis.zcard(keys().retries)]).toEqual([0, 0])
    for (const id of [...ids, failing.id]) expect(await it_.redis.pttl(keys().job(id))).toBeGreaterThan(0)
    it_.allowLeftovers()
  })
})

describe('who waits for a job', () => {
  it('is told what its record says, of one that failed and was cancelled meanwhile or would be late', async () => {
    let end = () => {}
    const task = defineTask('fails:1.0', { backoff: 60_000 }, async () => {
      await new Promise<void>(resolve => (end = resolve))
      throw new Error('broken')
    })
    const worker = await it_.worker([task])
    const hub = it_.hub()
    const ended = async (options: EnqueueOptions, before: (job: Job) => unknown) => {
      const job = await hub.enqueue(task, {}, { tracked: true, ...options })
      await eventually(() => worker.busy === 1)
      const waiting = failure(job.result())
      await eventually(async () => (await it_.redis.hkeys(keys().job(job.id))).some(field => field.startsWith('wait:')))
      await before(job)
      end()
      return [(await waiting).code, (await job.status()).state]
    }
    expect(await ended({}, job => job.cancel())).toEqual(['Aborted', 'cancelled'])
    expect(await ended({ expiresMs: 50_000 }, () => undefined)).toEqual(['Expired', 'expired'])
    it_.allowLeftovers()
  })

  it('hears of its end in another hub, many of them, and not by looking again', async () => {
    const stage = await memoryStage()
    it_.onEnd(() => stage.end())
    const { task } = flaky()
    await stage.worker([task])
    const job = await stage.hub().enqueue(task, {}, { keepResultMs: 60_000, delayMs: 150 })
    const found = await Promise.all([stage.hub(), stage.hub()].map(hub => hub.job(job.id)))
    const results = Promise.all([...found, ...found].map(each => each.result()))
    await stage.pass(150)
    // Time stands still now: looking again would be after five seconds.
    expect(await results).toEqual(Array(4).fill({ attempt: 1 }))
  })

  it('gives up in time, at its signal, and when its hub is closed', async () => {
    const hub = it_.hub()
    const job = await hub.enqueue('never:1.0', {}, { queue: 'q', tracked: true })
    expect(await failure(job.result({ timeoutMs: 30 }))).toMatchObject({ code: 'Timeout' })
    const controller = new AbortController()
    const given = failure(job.result({ signal: controller.signal }))
    controller.abort()
    expect(await given).toMatchObject({ code: 'Aborted' })
    const closed = failure(job.result())
    await hub.close()
    expect(await closed).toMatchObject({ code: 'HubClosed' })
    await it_.redis.del(keys().jobs, keys().jobBell, keys().job(job.id))
  })
})

describe('jobs by hand', () => {
  const names = () => makeKeys(it_.namespace)

  it('whose record is to be kept for longer than Redis can cost the others of their step nothing', async () => {
    const [jobs, queue] = [new JobQueue('q', names()), new Queue('q', names())]
    const text = (id: string, job: string) => `"ttl":0,"id":"${id}","job":${job},"task":"t:1.0","args":1}`
    await queue.beat(it_.redis, 'w', 60_000, true)
    await jobs.enqueue(it_.redis, 'h', 1, [text('a', '{"retries":1}'), text('b', '{"keep":9.3e18}')])
    const claimed = await queue.claim(it_.redis, 'w', { slots: 2, jobs: 2 })
    const [at, atB] = claimed!.requests.map(request => leadingAt(request.text)) as [string, string]
    const failure = '"code":"E","message":"m"'
    await jobs.settle(it_.redis, 'w', [
      { id: 'job:a', at, outcome: 'retry', delayMs: 60_000, text: failure, following: '' },
      { id: 'job:b', at: atB, outcome: 'done', delayMs: 0, text: '1', following: '' },
    ])
    expect([await it_.redis.zcard(keys().retries), await it_.redis.hget(keys().job('b'), 'state')]).toEqual([1, 'done'])
    it_.allowLeftovers()
  })

  it('are told to who came last, though a hundred gave up waiting before', async () => {
    const jobs = new JobQueue('q', names())
    await jobs.enqueue(it_.redis, 'h', 1, ['"ttl":0,"id":"a","job":{"keep":1000},"task":"t:1.0","args":1}'])
    for (let n = 0; n <= 100; n++) await jobs.await(it_.redis, 'a', `ticket-${n}`, 'h')
    const waiting = (await it_.redis.hkeys(keys().job('a'))).filter(field => field.startsWith('wait:'))
    expect([waiting.length, waiting.includes('wait:ticket-100')]).toEqual([100, true])
    it_.allowLeftovers()
  })
})
