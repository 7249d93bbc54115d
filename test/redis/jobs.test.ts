import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap } from '../../src/index.ts'
import { Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

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
    await new Promise(resolve => setTimeout(resolve, args.ms))
    seen.running--
    seen.ran.push(args.n)
    return args.n
  })
  return { task, seen }
}

describe('jobs', () => {
  it('run in the slots that calls leave idle, and in no more than they are given', async () => {
    const jobs = counting('job')
    const calls = counting('call')
    await it_.worker([jobs.task, calls.task], { slots: 3, jobSlots: 2 })
    const texts = Array.from({ length: 12 }, (_, n) => jobText(`job-${n}`, 'job:1.0', { n, ms: 40 }))
    await pushJobs(...texts)
    await eventually(() => jobs.seen.running === 2)
    const hub = it_.hub()
    for (let n = 0; n < 5; n++) expect(await hub.call(calls.task, { n, ms: 1 }, { timeoutMs: 1000 })).toBe(n)
    expect(jobs.seen.ran.length).toBeLessThan(12)
    await eventually(idle)
    expect(jobs.seen.most).toBe(2)
    expect([...jobs.seen.ran].sort((a, b) => Number(a) - Number(b))).toEqual(texts.map((_, n) => n))
  })

  it('wait for as long as calls need all slots', async () => {
    const jobs = counting('job')
    const calls = counting('call')
    await it_.worker([jobs.task, calls.task], { slots: 1, jobSlots: 1 })
    const hub = it_.hub()
    const order: string[] = []
    const first = hub.call(calls.task, { n: 0, ms: 150 }, { timeoutMs: 5000 })
    await eventually(() => calls.seen.running === 1)
    await pushJobs(jobText('late', 'job:1.0', { n: 0, ms: 1 }))
    const others = [1, 2, 3].map(n =>
      hub.call(calls.task, { n, ms: 20 }, { timeoutMs: 5000 }).then(() => order.push(`call ${n}`)),
    )
    await eventually(async () => (await it_.redis.llen(keys().calls)) === 3)
    expect(jobs.seen.ran).toEqual([])
    await Promise.all([first, ...others])
    expect(order).toEqual(['call 1', 'call 2', 'call 3'])
    await eventually(() => jobs.seen.ran.length === 1)
    await eventually(idle)
  })

  it('that come while the others run start when one of these ends, not when a wait for calls is over', async () => {
    const { task, seen } = counting('job')
    await it_.worker([task], { slots: 4, jobSlots: 1 })
    const started = performance.now()
    for (let n = 0; n < 6; n++) {
      await pushJobs(jobText(`job-${n}`, 'job:1.0', { n, ms: 50 }))
      await eventually(() => seen.running === 1 && seen.ran.length === n)
      // By now the worker waits for calls alone.
      const waits = async () => /name=pshub-worker\S*.* cmd=blpop/.test(String(await it_.redis.call('CLIENT', 'LIST')))
      await eventually(waits)
    }
    await eventually(idle)
    expect(seen.ran).toEqual([0, 1, 2, 3, 4, 5])
    // Each of the waits would have lasted for two seconds.
    expect(performance.now() - started).toBeLessThan(2000)
  })

  it('of which a worker takes none stay for others', async () => {
    const { task, seen } = counting('job')
    const callsOnly = await it_.worker([task], { slots: 4, jobSlots: 0 })
    await pushJobs(jobText('a', 'job:1.0', { n: 1, ms: 1 }))
    expect(await it_.hub().call(task, { n: 0, ms: 1 })).toBe(0)
    expect(await it_.redis.llen(keys().jobs)).toBe(1)
    await it_.worker([task])
    await eventually(() => seen.ran.length === 2)
    await eventually(idle)
    expect(callsOnly.busy).toBe(0)
  })

  it('cannot be given more slots than there are', () => {
    return expect(() => it_.worker([counting('job').task], { slots: 2, jobSlots: 3 })).rejects.toMatchObject({
      message: 'jobSlots is 3, but this worker has 2 slots in all.',
    })
  })

  it('that are no requests are dropped and told of', async () => {
    const { task, seen } = counting('job')
    const worker = await it_.worker([task])
    const told: EventMap['request:malformed'][] = []
    worker.events.on('request:malformed', event => told.push(event))
    await pushJobs('garbage', jobText('a', 'job:1.0', { n: 1, ms: 1 }))
    await eventually(() => seen.ran.length === 1)
    await eventually(idle)
    expect(told).toHaveLength(1)
  })
})

describe('a job whose worker goes away', () => {
  it('runs in another one, whatever its task, and comes before younger ones', async () => {
    // It runs for a minute, and goes back when its worker is stopped.
    it_.onEnd(() => it_.redis.del(keys().jobs, keys().jobBell))
    const worker = await startWorkerProcess(it_.url, it_.namespace)
    it_.onEnd(() => worker.signal('SIGKILL'))
    await pushJobs(jobText('a', 'once:1.0', { n: 1, ms: 60_000 }))
    await eventually(() => worker.lines.includes('start 1'))
    const { task, seen } = counting('once')
    await it_.worker([task], { jobSlots: 1 })
    worker.signal('SIGKILL')
    await worker.exited
    await eventually(() => seen.running === 1, 9000)
    expect(JSON.parse((await heldJobs())['job:a']!)).toMatchObject({ id: 'a', losses: 1 })
  }, 20_000)

  const heldJobs = async (): Promise<Record<string, string>> => {
    const held = (await it_.keys()).filter(key => key.startsWith('{q}:held:'))
    const all = await Promise.all(held.map(key => it_.redis.hgetall(`${it_.namespace}:${key}`)))
    return Object.assign({}, ...all)
  }

  it('goes back at once when that worker is stopped, and counts as lost no worker', async () => {
    const { task, seen } = counting('job')
    const worker = await it_.worker([task], { slots: 2 })
    const text = jobText('a', 'job:1.0', { n: 1, ms: 60_000 })
    await pushJobs(text, jobText('b', 'job:1.0', { n: 2, ms: 1 }))
    await eventually(() => seen.running === 1)
    await worker.stop({ graceMs: 0 })
    expect((await it_.redis.lrange(keys().jobs, 0, -1))[0]).toBe(text)
    await it_.redis.del(keys().jobs, keys().jobBell)
  })

  it('three times is kept with the dead ones', async () => {
    const { task } = counting('job')
    const worker = await it_.worker([task], { leaseMs: 2000 })
    const dead: EventMap['job:dead'][] = []
    worker.events.on('job:dead', event => dead.push(event))
    const text = jobText('a', 'job:1.0', { n: 1, ms: 1 }, 2)
    await it_.redis.hset(keys().held('lost'), 'job:a', text)
    await it_.redis.zadd(keys().leases, 1, 'lost')
    await eventually(() => dead.length === 1, 9000)
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
  }, 20_000)
})

describe('a job that nobody can run', () => {
  it('is kept with the dead ones, and the others go on', async () => {
    const { task, seen } = counting('job')
    const worker = await it_.worker([task])
    const dead: EventMap['job:dead'][] = []
    worker.events.on('job:dead', event => dead.push(event))
    const text = jobText('a', 'nobody:1.0', {})
    await pushJobs(text, jobText('b', 'job:1.0', { n: 1, ms: 1 }))
    await eventually(() => seen.ran.length === 1)
    await eventually(() => dead.length === 1, 9000)
    await eventually(idle)
    const [kept] = await it_.redis.zrange(keys().dead, '0', '-1')
    expect(JSON.parse(kept!)).toMatchObject({
      ...JSON.parse(text),
      job: { tries: 1, errors: [{ code: 'NoSuchTask' }] },
    })
    expect(dead[0]!.reason).toContain('No worker ever declared nobody:1.0')
    await it_.redis.del(keys().dead)
  }, 20_000)

  it('is kept with them by a full Redis, too', async () => {
    const { redis } = it_
    const worker = await it_.worker([counting('job').task])
    it_.onEnd(() => redis.config('SET', 'maxmemory', '0'))
    const dead = new Promise(resolve => worker.events.on('job:dead', resolve))
    await pushJobs(jobText('a', 'nobody:1.0', {}))
    await redis.config('SET', 'maxmemory', '1')
    await dead
    await eventually(async () => (await redis.zcard(keys().dead)) === 1)
    await eventually(idle)
    await redis.config('SET', 'maxmemory', '0')
    await redis.del(keys().dead)
  }, 20_000)
})

describe('the functions', () => {
  const queue = () => new Queue('q', makeKeys(it_.namespace))
  const wanted = (slots: number, jobs: number) => ({ slots, jobs, runTimes: [] })
  const start = async () => {
    const { redis } = it_
    await queue().beat(redis, 'w', 60_000, true)
    await redis.rpush(keys().calls, jobText('c1', 'call:1.0', 1), jobText('c2', 'call:1.0', 2))
    await pushJobs(...['j1', 'j2', 'j3'].map(id => jobText(id, 'job:1.0', id)), '{"task":"job:1.0"}')
    return redis
  }
  const ids = async (list: string) => (await it_.redis.lrange(list, 0, -1)).map(text => JSON.parse(text).id)
  const end = async () => {
    const { calls, bell, jobs, jobBell, leases, held } = keys()
    await it_.redis.del(calls, bell, jobs, jobBell, leases, held('w'))
  }

  it('claim calls first, then jobs, and ring for those that are left', async () => {
    const redis = await start()
    await redis.del(keys().jobBell)
    const first = await queue().claim(redis, 'w', wanted(2, 2))
    expect(first!.requests.map(({ isJob }) => isJob)).toEqual([false, false])
    // There was no slot for a job, and this worker may have taken the token that told of them.
    expect([first!.left, first!.jobsLeft, await redis.llen(keys().jobBell)]).toEqual([0, 4, 1])
    const second = await queue().claim(redis, 'w', wanted(4, 2))
    expect(second!.requests.map(({ text, isJob }) => [JSON.parse(text).id, isJob])).toEqual([
      ['j1', true],
      ['j2', true],
    ])
    expect(second!.jobsLeft).toBe(2)
    const none = await queue().claim(redis, 'w', wanted(4, 0))
    expect([none!.requests, none!.jobsLeft]).toEqual([[], 0])
    const last = await queue().claim(redis, 'w', wanted(4, 4))
    expect(last!.requests.map(({ madeUpId }) => madeUpId?.startsWith('hand-'))).toEqual([undefined, true])
    const held = Object.keys(await redis.hgetall(keys().held('w'))).sort()
    expect(held.slice(0, 2)).toEqual(['c1', 'c2'])
    expect(held.slice(2).every(id => id.startsWith('job:'))).toBe(true)
    await end()
  })

  it('put each request back into its own list, in order', async () => {
    const redis = await start()
    await queue().claim(redis, 'w', wanted(5, 3))
    expect(await queue().handback(redis, 'w', 'head', ['c1', 'job:j1', 'c2', 'job:j2'])).toBe(4)
    expect(await ids(keys().calls)).toEqual(['c1', 'c2'])
    expect(await ids(keys().jobs)).toEqual(['j1', 'j2', undefined])
    expect(await queue().leave(redis, 'w', [])).toBe(1)
    expect(await ids(keys().jobs)).toEqual(['j3', 'j1', 'j2', undefined])
    await end()
  })

  it('adopt a job by putting it back among the jobs, and hold calls to be answered', async () => {
    const redis = await start()
    await queue().claim(redis, 'w', wanted(5, 1))
    await redis.zadd(keys().leases, 1, 'w')
    await queue().beat(redis, 'v', 60_000, true)
    const { toAnswer, redelivered } = (await queue().adopt(redis, 'w', 'v'))!
    expect(toAnswer.map(({ id }) => id).sort()).toEqual(['lost:c1', 'lost:c2'])
    const [text] = await redis.lrange(keys().jobs, 0, 0)
    expect(text).toMatch(/"id":"j1","task":"job:1.0","args":"j1","losses":1\}$/)
    expect(redelivered).toEqual([{ id: 'job:j1', text }])
    await redis.del(keys().held('v'))
    await end()
  })

  it('lose nothing when the held hash is somebody else’s key', async () => {
    const redis = await start()
    await redis.set(keys().held('w'), 'of another type')
    expect((await failure(queue().claim(redis, 'w', wanted(5, 2)))).message).toMatch(/WRONGTYPE/)
    expect(await ids(keys().calls)).toEqual(['c1', 'c2'])
    expect(await ids(keys().jobs)).toEqual(['j1', 'j2', 'j3', undefined])
    await end()
  })
})
