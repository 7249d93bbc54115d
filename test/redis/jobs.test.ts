import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { gated } from '../support/noting-tasks.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { memoryStage } from '../support/stages.ts'

const it_ = useRedis()
const keys = () => queueKeys(it_)

const jobText = (id: string, task: string, args: unknown, losses = 0): string =>
  `{"at":${Date.now()}000,"ttl":0,"id":"${id}","task":"${task}","args":${JSON.stringify(args)}${losses ? `,"losses":${losses}` : ''}}`

/** As any program puts them there: at the tail, and the bell behind them. */
const pushJobs = async (...texts: string[]): Promise<void> => {
  const { jobs, jobBell } = keys()
  await it_.redis.rpush(jobs, ...texts)
  if ((await it_.redis.llen(jobBell)) === 0) await it_.redis.rpush(jobBell, '1')
}

const idle = async (): Promise<boolean> => {
  const { jobs } = keys()
  const held = (await it_.keys()).some(key => key.startsWith('{q}:held:'))
  return !held && (await it_.redis.llen(jobs)) === 0
}

/** Runs for as many milliseconds as it is told, and knows what runs beside it. */
const counting = (name: string) => {
  const seen = { running: 0, most: 0, ran: [] as unknown[] }
  const task = defineTask(`${name}:1.0`, { timeoutMs: 20_000 }, async anyArgs => {
    const args = anyArgs as { n: number; ms: number }
    seen.most = Math.max(seen.most, ++seen.running)
    await delay(args.ms, 'as long as the test wants it to run')
    seen.running--
    seen.ran.push(args.n)
    return args.n
  })
  return { task, seen }
}

describe('jobs', () => {
  it('run in the slots that calls leave idle, and in no more than they are given', async () => {
    const { task, runs } = gated('job:1.0')
    const echo = defineTask('echo:1.0', {}, args => args)
    await it_.worker([task, echo], { slots: 3, jobSlots: 2 })
    await pushJobs(...Array.from({ length: 12 }, (_, n) => jobText(`job-${n}`, 'job:1.0', n)))
    await eventually(() => runs.length === 2)
    const hub = it_.hub()
    for (let n = 0; n < 5; n++) expect(await hub.call(echo, n, { timeoutMs: 60_000 })).toBe(n)
    for (let ended = 0; ended < 12; ended++) {
      await eventually(() => runs.length > ended)
      expect(runs.length).toBeLessThanOrEqual(ended + 2)
      runs[ended]!.end()
    }
    await eventually(idle)
    expect(runs.map(({ args }) => args)).toEqual(runs.map((_, n) => n))
  })

  it('wait for as long as calls need all slots', async () => {
    const jobs = gated('job:1.0')
    const calls = gated('call:1.0')
    await it_.worker([jobs.task, calls.task], { slots: 1, jobSlots: 1 })
    const hub = it_.hub()
    const call = (n: number) => hub.call(calls.task, n, { timeoutMs: 60_000 })
    const first = call(0)
    await eventually(() => calls.runs.length === 1)
    await pushJobs(jobText('late', 'job:1.0', 0))
    const others = [1, 2, 3].map(call)
    await eventually(async () => (await it_.redis.llen(keys().calls)) === 3)
    for (let n = 0; n < 4; n++) {
      await eventually(() => calls.runs.length === n + 1)
      expect(jobs.runs).toEqual([])
      calls.runs[n]!.end()
    }
    await Promise.all([first, ...others])
    expect(calls.runs.map(({ args }) => args)).toEqual([0, 1, 2, 3])
    await eventually(() => jobs.runs.length === 1)
    jobs.runs[0]!.end()
    await eventually(idle)
  })

  it('that come while the others run start when one of these ends, not when a wait for calls is over', async () => {
    const stage = await memoryStage()
    it_.onEnd(() => stage.end())
    const { task, runs } = gated('job:1.0')
    await stage.worker([task], { slots: 4, jobSlots: 1 })
    const hub = stage.hub()
    await hub.enqueue('job:1.0', 1)
    await eventually(() => runs.length === 1)
    // By now the worker waits for calls alone. From here on no time passes.
    await stage.pass(1)
    await hub.enqueue('job:1.0', 2)
    runs[0]!.end()
    await eventually(() => runs.length === 2)
    runs[1]!.end()
  })

  it('cannot be given more slots than there are', () => {
    return expect(() => it_.worker([counting('job').task], { slots: 2, jobSlots: 3 })).rejects.toMatchObject({
      message: 'jobSlots is 3, but this worker has 2 slots in all.',
    })
  })
})

describe('a job whose worker goes away', () => {
  it('three times is kept with the dead ones', async () => {
    const { task } = counting('job')
    const worker = await it_.worker([task], { leaseMs: 2000 })
    const dead: EventMap['job:dead'][] = []
    worker.events.on('job:dead', event => dead.push(event))
    const text = jobText('a', 'job:1.0', { n: 1, ms: 1 }, 2)
    await it_.redis.hset(keys().held('lost'), 'job:a', text)
    await it_.redis.zadd(keys().leases, 1, 'lost')
    await eventually(() => dead.length === 1, 30_000)
    expect(dead[0]).toMatchObject({ queue: 'q', task: 'job:1.0', id: 'a' })
    await eventually(async () => (await it_.redis.zcard(keys().dead)) === 1)
    const kept = await it_.redis.zrange(keys().dead, '0', '-1')
    const job = {
      tries: 1,
      errors: [{ at: expect.any(Number), code: 'WorkerLost', message: '3 workers that ran it died' }],
    }
    expect(kept.map(each => JSON.parse(each))).toEqual([{ ...JSON.parse(text), losses: 3, job }])
    expect(Number(await it_.redis.zscore(keys().dead, kept[0]!))).toBeGreaterThan(Date.now() - 60_000)
    await eventually(idle)
    expect((await it_.hub().queues())[0]).toMatchObject({ queue: 'q', jobs: 0, dead: 1 })
    await it_.redis.del(keys().dead)
  }, 60_000)
})

describe('a job that nobody can run', () => {
  it('is retried, and the others go on', async () => {
    const { task, seen } = counting('job')
    const worker = await it_.worker([task])
    const retried: EventMap['job:retried'][] = []
    worker.events.on('job:retried', event => retried.push(event))
    const text = jobText('a', 'nobody:1.0', {})
    await pushJobs(text, jobText('b', 'job:1.0', { n: 1, ms: 1 }))
    await eventually(() => seen.ran.length === 1)
    await eventually(() => retried.length > 0)
    const [kept] = await it_.redis.zrange(keys().retries, '0', '-1')
    const { job, id, task: name } = JSON.parse(kept!)
    expect([id, name, job.tries]).toEqual(['a', 'nobody:1.0', 1])
    expect(job.errors).toMatchObject([
      { code: 'NoSuchTask', message: expect.stringContaining('No worker ever declared nobody:1.0') },
    ])
    await worker.stop()
    await it_.redis.del(keys().retries)
  }, 60_000)
})
