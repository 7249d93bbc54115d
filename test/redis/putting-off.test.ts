import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask, PutOff, rateLimit, type TaskMiddleware, timingLog } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { useGuarded } from '../support/guarded-worker.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()
const { forget, serve } = useGuarded(it_)

describe('rateLimit', () => {
  it('lets so many begin in a stretch of time across workers, and gives the others times at which there is room', async () => {
    it_.allowLeftovers()
    let began = 0
    const task = defineTask('limited:1.0', {}, () => void began++)
    const periodMs = 200_000
    const limits = rateLimit({ limit: 4, periodMs })
    const both = [await serve([task], [limits]), await serve([task], [limits])]
    await it_.hub().enqueueMany(Array.from({ length: 7 }, (_, n) => ['limited:1.0', n] as const))
    const putOff = () => both.flatMap(each => each.putOff)
    await eventually(() => began + putOff().length === 7)
    expect(began).toBe(4)
    // Each is told a time of its own, a quarter of the period behind the one before it, so that none comes in vain.
    const delays = putOff().map(({ delayMs }) => delayMs)
    const first = Math.min(...delays)
    expect(delays.map(ms => Math.round((4 * (ms - first)) / periodMs)).sort()).toEqual([0, 1, 2])
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
    expect(await hub.call(task, 'b')).toBe(1)
    await delay(retryAfterMs, 'as long as the caller was told to wait')
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
      // Nobody claims the one that is cancelled while that is asked.
      if (!isTime) throw new PutOff(request.args === 3 ? 600_000 : 50)
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
    await eventually(async () => (await cancelled.status()).state === 'scheduled')
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

describe('timingLog', () => {
  it('writes a line for each run, or those that took long, with the phases', async () => {
    const task = defineTask('timed:1.0', {}, ms => delay(Number(ms), 'a run of known length'))
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
      { level: 'warn', msg: 'slow task', outcome: 'ok', attempt: 1, ...phases },
      { level: 'info', msg: 'ran', outcome: 'ok', attempt: 1 },
    ])
    expect(Number(ran[1]!.execMs)).toBeGreaterThan(70)
    expect(() => timingLog({ over: 1 } as never)).toThrow(ConfigError)
    expect(() => timingLog({ overMs: -1 })).toThrow(ConfigError)
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
  })
})
