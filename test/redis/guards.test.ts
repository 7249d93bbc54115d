import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  ConfigError,
  defineTask,
  type EventMap,
  noOverlap,
  PutOff,
  rateLimit,
  type Task,
  type TaskMiddleware,
  timingLog,
  Worker,
} from '../../src/index.ts'
import { RedisGuards } from '../../src/queue/guards.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { ensureBuild } from '../support/cli-fixture.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()
const guards = () =>
  new RedisGuards(
    { send: (work: (client: typeof it_.redis) => unknown) => work(it_.redis) } as never,
    makeKeys(it_.namespace),
  )

/** What is kept for a while after its use. */
const forget = async () => {
  const keys = (await it_.keys()).filter(key => /^(lock|rate|told):/.test(key))
  for (const key of keys) expect(await it_.redis.pttl(`${it_.namespace}:${key}`), key).not.toBe(-1)
  if (keys.length > 0) await it_.redis.del(...keys.map(key => `${it_.namespace}:${key}`))
}

// biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results
const serve = async (tasks: Task<any, any>[], around: TaskMiddleware[], options = {}) => {
  const worker = new Worker({
    redis: it_.url,
    namespace: it_.namespace,
    queue: 'q',
    logLevel: 'silent',
    slots: 8,
    jobSlots: 8,
    tasks,
    ...options,
  })
  for (const each of around) worker.use(each)
  const putOff: EventMap['job:putoff'][] = []
  worker.events.on('job:putoff', event => putOff.push(event))
  it_.onEnd(() => worker.stop({ graceMs: 500 }))
  await worker.start()
  return { worker, putOff }
}

/** Runs for as long as it is told, and knows what ran beside it. */
const watched = () => {
  const seen = { running: 0, most: 0, ran: [] as unknown[], fences: [] as number[], attempts: [] as number[] }
  const task = defineTask('alone:1.0', { timeoutMs: 20_000 }, async (args, ctx) => {
    const { n, ms } = args as { n: number; ms: number }
    seen.most = Math.max(seen.most, ++seen.running)
    seen.fences.push(ctx.fence!)
    seen.attempts.push(ctx.attempt)
    await new Promise(resolve => {
      setTimeout(resolve, ms)
      ctx.signal.addEventListener('abort', resolve, { once: true })
    })
    seen.running--
    seen.ran.push(n)
    return { n, lost: ctx.signal.aborted }
  })
  return { task, seen }
}

describe('noOverlap', () => {
  it('runs one job at a time across workers; those that wait count no try, and leave their slots', async () => {
    const { task, seen } = watched()
    const both = [await serve([task], [noOverlap()]), await serve([task], [noOverlap()])]
    const jobs = Array.from({ length: 12 }, (_, n) => ['alone:1.0', { n, ms: 30 }] as const)
    await it_.hub().enqueueMany(jobs, { retries: 0 })
    await eventually(() => seen.ran.length === 12, 10_000)
    expect([seen.most, new Set(seen.ran).size, new Set(seen.attempts)]).toEqual([1, 12, new Set([1])])
    expect(seen.fences).toEqual(seen.fences.toSorted((a, b) => a - b))
    expect(new Set(seen.fences).size).toBe(12)
    const putOff = both.flatMap(each => each.putOff)
    expect(putOff.length).toBeGreaterThan(0)
    // 100 ms and a little more for each that is told, one behind the other.
    for (const { delayMs } of putOff) expect(delayMs).toBeLessThanOrEqual(400)
    expect((await it_.hub().jobs()).counts).toMatchObject([{ retrying: 0, dead: 0 }])
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
    await forget()
  })

  it('lets those of other keys run beside it, and leaves other tasks alone', async () => {
    const { task, seen } = watched()
    const other = defineTask('other:1.0', {}, (_, ctx) => ctx.fence ?? 'none')
    const key = ({ n }: { n: number }) => (n < 0 ? undefined : n % 3)
    await serve([task, other], [noOverlap({ tasks: ['alone:1.0'], key })])
    const hub = it_.hub()
    expect(await hub.call('other:1.0')).toBe('none')
    const free = [hub.call(task, { n: -1, ms: 200 }), hub.call(task, { n: -1, ms: 200 })]
    await eventually(() => seen.running === 2)
    await hub.enqueueMany([0, 1, 2, 3].map(n => ['alone:1.0', { n, ms: 400 }] as const))
    await eventually(() => seen.running === 3 && seen.most >= 3)
    await eventually(() => seen.ran.length === 6, 10_000)
    expect(seen.most).toBeLessThanOrEqual(5)
    await Promise.all(free)
    await forget()
  })

  it('tells a call at once when it may try again, and that it did not run', async () => {
    const { task, seen } = watched()
    await serve([task], [noOverlap()])
    const hub = it_.hub()
    const first = hub.call(task, { n: 1, ms: 500 })
    await eventually(() => seen.running === 1)
    const refused = await failure(hub.call(task, { n: 2, ms: 1 }))
    expect(refused).toMatchObject({ code: 'Overloaded', ran: 'no', retryable: true })
    expect((refused.data as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(0)
    expect(seen.ran).toEqual([])
    expect(await first).toEqual({ n: 1, lost: false })
    expect(await hub.call(task, { n: 3, ms: 1 })).toEqual({ n: 3, lost: false })
    await forget()
  })

  it('keeps the lock for longer than its lease while the handler runs, and frees it then', async () => {
    const { task, seen } = watched()
    await serve([task], [noOverlap({ leaseMs: 1000 })])
    const hub = it_.hub()
    const long = hub.call(task, { n: 1, ms: 2500 })
    await eventually(() => seen.running === 1)
    const refusedAt = async () => (await failure(hub.call(task, { n: 2, ms: 1 }))).code
    for (let look = 0; look < 5; look++) {
      expect(await refusedAt()).toBe('Overloaded')
      await new Promise(resolve => setTimeout(resolve, 400))
    }
    expect(await long).toEqual({ n: 1, lost: false })
    expect(await hub.call(task, { n: 3, ms: 1 })).toEqual({ n: 3, lost: false })
    await forget()
  })

  it('aborts the run when another one took its lock', async () => {
    const { task, seen } = watched()
    await serve([task], [noOverlap({ leaseMs: 1000 })])
    const run = it_.hub().call(task, { n: 1, ms: 10_000 }, { timeoutMs: 15_000 })
    await eventually(() => seen.running === 1)
    await it_.redis.hset(makeKeys(it_.namespace).lock('alone:1.0'), 'owner', 'somebody else')
    expect(await run).toEqual({ n: 1, lost: true })
    await forget()
  })

  it('aborts the run before its lease ends in Redis, when Redis does not answer any more', async () => {
    const { task, seen } = watched()
    const lock = makeKeys(it_.namespace).lock('alone:1.0')
    let isAway = false
    const cut: TaskMiddleware = (next, own) =>
      noOverlap({ leaseMs: 1000 })(next, {
        ...own,
        admit: own.admit.bind(own),
        lock: (...args) => (isAway ? Promise.reject(new Error('away')) : own.lock(...args)),
      })
    await serve([task], [cut])
    const run = it_.hub().call(task, { n: 1, ms: 10_000 }, { timeoutMs: 15_000 })
    await eventually(() => seen.running === 1)
    isAway = true
    expect(await run).toEqual({ n: 1, lost: true })
    const [till, [seconds, micros]] = await Promise.all([it_.redis.hget(lock, 'till'), it_.redis.time()])
    expect(Number(till)).toBeGreaterThan(Number(seconds) * 1000 + Number(micros) / 1000 - 100)
    await forget()
  })

  it('does not let a handler that ignores its signal keep the lock for ever', async () => {
    let release = () => {}
    const stuck = defineTask('stuck:1.0', { timeoutMs: 300 }, () => new Promise<void>(resolve => (release = resolve)))
    await serve([stuck], [noOverlap({ leaseMs: 1000 })])
    const hub = it_.hub()
    expect((await failure(hub.call(stuck, {}))).code).toBe('Timeout')
    // Lost to others within the lease, though it still runs.
    await eventually(async () => (await failure(hub.call(stuck, {}))).code === 'Timeout', 6000)
    release()
    await forget()
  })

  it('starts nothing that was given up before it had the lock, and frees that', async () => {
    const started: unknown[] = []
    const stuck = defineTask('stuck:1.0', { timeoutMs: 300 }, args => {
      started.push(args)
      return args === 'ignores its signal' ? new Promise(() => undefined) : args
    })
    const late: TaskMiddleware = next => async (request, ctx) => {
      const { signal } = ctx
      if (request.args === 'ignores its signal')
        await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      return next(request, ctx)
    }
    await serve([stuck], [late, noOverlap({ leaseMs: 1000 })])
    const hub = it_.hub()
    expect((await failure(hub.call(stuck, 'ignores its signal'))).code).toBe('Timeout')
    await eventually(async () => (await hub.call(stuck, 'next').catch(() => undefined)) === 'next')
    expect(started).toEqual(['next'])
    await forget()
  })

  it('keeps others waiting for the lease of a worker that is killed, and no longer', async () => {
    ensureBuild()
    const script = resolve(import.meta.dirname, '../support/locked-worker.mjs')
    const child = spawn(process.execPath, [script, it_.url, it_.namespace, '6000'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    it_.onEnd(() => child.kill('SIGKILL'))
    const running = new Promise(done => child.stdout.once('data', done))
    const hub = it_.hub()
    await hub.enqueue('alone:1.0', { n: 0, ms: 1 }, { queue: 'q' })
    await running
    const { task, seen } = watched()
    const { putOff } = await serve([task], [noOverlap({ leaseMs: 6000 })])
    const exited = new Promise(done => child.once('exit', done))
    const killedAt = performance.now()
    child.kill('SIGKILL')
    await exited
    await hub.enqueueMany([1, 2, 3].map(n => ['alone:1.0', { n, ms: 1 }] as const))
    await eventually(() => seen.ran.length > 0, 15_000)
    const tookMs = performance.now() - killedAt
    expect(putOff.length).toBeGreaterThan(0)
    // Renewed up to a third of it before.
    expect(tookMs).toBeGreaterThan(3500)
    expect(tookMs).toBeLessThan(7500)
    await eventually(() => seen.ran.length === 4, 15_000)
    expect(seen.most).toBe(1)
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
    await forget()
  }, 40_000)

  it.each([
    [{ leaseMs: 1 }, /leaseMs/],
    [{ lease: 1 }, /no option 'lease'/],
    [{ tasks: 'a' }, /'tasks'/],
    [{ key: 'a' }, /'key'/],
    [{ name: '}' }, /'name'/],
  ])('refuses %j', (options, message) => {
    expect(() => noOverlap(options as never)).toThrow(ConfigError)
    expect(() => noOverlap(options as never)).toThrow(message)
  })
})

describe('rateLimit', () => {
  it('lets so many begin in any stretch of time across workers, and puts the others off to when there is room', async () => {
    const began: number[] = []
    const attempts = new Set<number>()
    const task = defineTask('limited:1.0', {}, (_, ctx) => {
      began.push(performance.now())
      attempts.add(ctx.attempt)
    })
    const limits = rateLimit({ limit: 4, periodMs: 300 })
    const both = [await serve([task], [limits]), await serve([task], [limits])]
    await it_.hub().enqueueMany(Array.from({ length: 16 }, (_, n) => ['limited:1.0', n] as const))
    await eventually(() => began.length === 16, 15_000)
    for (let n = 4; n < began.length; n++) expect(began[n]! - began[n - 4]!, String(n)).toBeGreaterThan(300 - 60)
    expect(attempts).toEqual(new Set([1]))
    // Each is told a time of its own: few come in vain.
    expect(both.flatMap(({ putOff }) => putOff).length).toBeLessThan(40)
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
    await forget()
  })

  it('tells a call when it may try again', async () => {
    const task = defineTask('limited:1.0', {}, () => 1)
    await serve([task], [rateLimit({ limit: 2, periodMs: 1000, key: (args: unknown) => String(args) })])
    const hub = it_.hub()
    for (const _ of [1, 2]) expect(await hub.call(task, 'a')).toBe(1)
    const refused = await failure(hub.call(task, 'a'))
    expect(refused).toMatchObject({ code: 'Overloaded', ran: 'no', retryable: true })
    const { retryAfterMs } = refused.data as { retryAfterMs: number }
    expect(retryAfterMs).toBeGreaterThan(0)
    expect(retryAfterMs).toBeLessThanOrEqual(1000)
    expect(await hub.call(task, 'b')).toBe(1)
    await new Promise(resolve => setTimeout(resolve, retryAfterMs))
    expect(await hub.call(task, 'a')).toBe(1)
    await forget()
  })

  it.each([
    [{ limit: 0, periodMs: 10 }, /'limit' must be a whole number from 1 to 10000/],
    [{ limit: 1, periodMs: 1 }, /'periodMs'/],
    [{ limit: 1 }, /'periodMs'/],
  ])('refuses %j', (options, message) => expect(() => rateLimit(options as never)).toThrow(message))
})

describe('putting off', () => {
  it('keeps a tracked job, its uniqueness and its end of being wanted', async () => {
    let isTime = false
    const task = defineTask('later:1.0', {}, args => args)
    const wait: TaskMiddleware = next => (request, ctx) => {
      if (!isTime) throw new PutOff(50)
      return next(request, ctx)
    }
    const { putOff } = await serve([task], [wait])
    const hub = it_.hub()
    const options = { tracked: true, unique: { until: 'started' as const } }
    const job = await hub.enqueue('later:1.0', 1, options)
    await eventually(() => putOff.length > 2)
    await eventually(async () => (await job.status()).state === 'scheduled')
    expect((await hub.enqueue('later:1.0', 1, options)).isTwin).toBe(true)
    expect(await job.status()).toMatchObject({ tries: 0 })
    const unwanted = await hub.enqueue('later:1.0', 2, { tracked: true, expiresMs: 120 })
    expect((await failure(unwanted.result())).code).toBe('Expired')
    const cancelled = await hub.enqueue('later:1.0', 3, { tracked: true })
    await cancelled.cancel()
    expect((await failure(cancelled.result())).code).toBe('Aborted')
    isTime = true
    expect(await job.result()).toBe(1)
    it_.allowLeftovers()
  })

  it('takes what was pushed by hand, too', async () => {
    const ran: unknown[] = []
    const task = defineTask('later:1.0', {}, args => void ran.push(args))
    let times = 0
    await serve(
      [task],
      [
        next => (request, ctx) => {
          if (++times < 3) throw new PutOff(20)
          return next(request, ctx)
        },
      ],
    )
    const { jobs, jobBell } = queueKeys(it_)
    await it_.redis.rpush(jobs, ' {"task":"later:1.0","args":{"n":[1]}}')
    await it_.redis.rpush(jobBell, '1')
    await eventually(() => ran.length === 1)
    expect([ran, times]).toEqual([[{ n: [1] }], 3])
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
  })

  it('is a failure of a call whose handler was started', async () => {
    const task = defineTask('later:1.0', {}, () => {
      throw new PutOff(1500.2, 'not now')
    })
    await serve([task], [next => (request, ctx) => next(request, ctx)])
    expect(await failure(it_.hub().call(task, {}))).toMatchObject({
      code: 'TaskFailed',
      message: 'not now',
      data: { retryAfterMs: 1501 },
    })
    expect(() => new PutOff(Number.NaN)).toThrow(ConfigError)
  })
})

describe('the functions', () => {
  const lock = (owner: string, leaseMs: number, mayTake = true) => guards().lock('l', owner, leaseMs, mayTake)

  it('give a lock to one owner, with a higher token each time', async () => {
    const first = (await lock('a', 10_000)) as { fence: number }
    expect(first.fence).toBeGreaterThan(1.6e15)
    // Its answer was lost, and it is renewed.
    expect(await lock('a', 10_000)).toEqual(first)
    expect(await lock('a', 10_000, false)).toEqual(first)
    expect(await lock('b', 10_000, false)).toEqual({ waitMs: 0 })
    expect(await lock('b', 0)).toEqual({ waitMs: 0 })
    expect(await lock('b', 10_000)).toEqual({ waitMs: 100 })
    expect(await lock('a', 0)).toEqual(first)
    expect(await lock('a', 10_000, false)).toEqual({ waitMs: 0 })
    const key = makeKeys(it_.namespace).lock('l')
    // A server whose clock is behind.
    await it_.redis.hset(key, 'fence', '9000000000000000')
    expect(await lock('b', 10_000)).toEqual({ fence: 9_000_000_000_000_001 })
    await forget()
  })

  it('send those who wait away one after the other, for as long as it was held, and one to when its lease would end', async () => {
    const key = makeKeys(it_.namespace).lock('l')
    await lock('a', 60_000)
    const since = Number(await it_.redis.hget(key, 'since'))
    await it_.redis.hset(key, 'since', String(since - 1000))
    const waits: number[] = []
    for (let n = 0; n < 100; n++) waits.push(((await lock(`w${n}`, 60_000)) as { waitMs: number }).waitMs)
    expect(waits[0]).toBeGreaterThanOrEqual(1000)
    expect(waits[99]! - waits[0]!).toBeGreaterThan(100)
    await it_.redis.hset(key, 'since', String(since - 3_600_000))
    expect(((await lock('x', 60_000)) as { waitMs: number }).waitMs).toBeLessThanOrEqual(5000)
    const till = Number(await it_.redis.hget(key, 'till')) - 57_000
    await it_.redis.hset(key, 'till', String(till))
    const heir = ((await lock('y', 60_000)) as { waitMs: number }).waitMs
    expect(heir).toBeLessThanOrEqual(3000)
    expect(((await lock('z', 60_000)) as { waitMs: number }).waitMs).toBeGreaterThan(heir)
    await forget()
  })

  it('let a lock go whose lease ended, and keep who had it from renewing it', async () => {
    const first = (await lock('a', 1000)) as { fence: number }
    await it_.redis.hset(makeKeys(it_.namespace).lock('l'), 'till', '1')
    // Nobody took it: no harm was done.
    expect(await lock('a', 1000, false)).toEqual(first)
    await it_.redis.hset(makeKeys(it_.namespace).lock('l'), 'till', '1')
    const second = (await lock('b', 1000)) as { fence: number }
    expect(second.fence).toBeGreaterThan(first.fence)
    expect(await lock('a', 1000, false)).toEqual({ waitMs: 0 })
    await forget()
  })

  it('admit no more than the limit, also where it becomes another one or the clock is set back', async () => {
    const admit = (limit: number, comesBack = true) => guards().admit('r', limit, 60_000, comesBack)
    expect([await admit(2), await admit(2)]).toEqual([0, 0])
    const [first, second, third] = [await admit(2), await admit(2), await admit(2)]
    expect(first).toBeGreaterThan(59_000)
    expect(second! - first!).toBeGreaterThan(29_000)
    expect(third! - second!).toBeGreaterThan(29_000)
    expect(await admit(2, false)).toBeLessThanOrEqual(60_000)
    expect(await admit(3)).toBe(0)
    expect(await admit(1, false)).toBeGreaterThan(59_000)
    // Most of those that were told so may have been cancelled.
    await it_.redis.set(makeKeys(it_.namespace).told('r'), `${Number((await it_.redis.time())[0]) + 86_400}000000`)
    expect(await admit(3)).toBeLessThanOrEqual(300_000)
    const key = makeKeys(it_.namespace).rate('r')
    const [seconds] = await it_.redis.time()
    await it_.redis.del(key)
    await it_.redis.rpush(key, `${Number(seconds) + 86_400}000000`)
    expect(await admit(1, false)).toBe(0)
    expect(await admit(1, false)).toBeGreaterThan(59_000)
    expect(await it_.redis.llen(key)).toBe(1)
    await forget()
  })
})

describe('timingLog', () => {
  it('writes a line for each run, or those that took long, with the phases', async () => {
    const task = defineTask('timed:1.0', {}, ms => new Promise(resolve => setTimeout(resolve, Number(ms))))
    const ran: Record<string, unknown>[] = []
    const log = (level: string) => (msg: string, fields: object) => void ran.push({ level, msg, ...fields })
    const heard: TaskMiddleware = next => (request, ctx) =>
      next(
        request,
        new Proxy(ctx, {
          get(target, name) {
            if (name === 'log') return { info: log('info'), warn: log('warn') }
            const value = Reflect.get(target, name, target)
            return typeof value === 'function' ? value.bind(target) : value
          },
        }),
      )
    await serve([task], [heard, timingLog(), timingLog({ overMs: 60 })])
    const hub = it_.hub()
    await hub.call(task, 1)
    await hub.enqueue('timed:1.0', 80)
    await eventually(() => ran.length === 3)
    const phases = { backlogMs: expect.any(Number), queueMs: expect.any(Number), execMs: expect.any(Number) }
    expect(ran).toMatchObject([
      { level: 'info', msg: 'ran', outcome: 'ok', ...phases },
      { level: 'warn', msg: 'ran for long', outcome: 'ok', attempt: 1, ...phases },
      { level: 'info', msg: 'ran', outcome: 'ok', attempt: 1 },
    ])
    expect(Number(ran[1]!.execMs)).toBeGreaterThan(70)
    expect(() => timingLog({ over: 1 } as never)).toThrow(ConfigError)
    expect(() => timingLog({ overMs: -1 })).toThrow(ConfigError)
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
  })
})
