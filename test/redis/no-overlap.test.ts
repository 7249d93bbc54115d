import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask, noOverlap, type TaskMiddleware } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useGuarded, watched } from '../support/guarded-worker.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const { forget, serve } = useGuarded(it_)

describe('noOverlap', () => {
  it('runs one job at a time across workers; those that wait count no try, and leave their slots', async () => {
    const { task, seen } = watched()
    const both = [await serve([task], [noOverlap()]), await serve([task], [noOverlap()])]
    const jobs = Array.from({ length: 12 }, (_, n) => ['alone:1.0', { n, ms: 30 }] as const)
    await it_.hub().enqueueMany(jobs, { retries: 0 })
    await eventually(() => seen.ran.length === 12)
    expect([seen.most, new Set(seen.ran).size, new Set(seen.attempts)]).toEqual([1, 12, new Set([1])])
    expect(seen.fences).toEqual(seen.fences.toSorted((a, b) => a - b))
    expect(new Set(seen.fences).size).toBe(12)
    expect(both.flatMap(each => each.putOff).length).toBeGreaterThan(0)
    expect((await it_.hub().jobs()).counts).toMatchObject([{ retrying: 0, dead: 0 }])
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
    await forget()
  })

  it('lets those of other keys run beside it, and leaves other tasks alone', async () => {
    const { task, seen, end } = watched()
    const other = defineTask('other:1.0', {}, (_, ctx) => ctx.fence ?? 'none')
    const key = ({ n }: { n: number }) => (n < 0 ? undefined : n % 3)
    await serve([task, other], [noOverlap({ tasks: ['alone:1.0'], key })])
    const hub = it_.hub()
    expect(await hub.call('other:1.0')).toBe('none')
    const free = [hub.call(task, { n: -1 }), hub.call(task, { n: -1 })]
    await eventually(() => seen.running === 2)
    await hub.enqueueMany([0, 1, 2, 3].map(n => ['alone:1.0', { n }] as const))
    // Two without a key, and one each of the keys 0, 1 and 2; the fourth job has the first one's key.
    await eventually(() => seen.running === 5)
    end()
    await Promise.all(free)
    await eventually(() => seen.running === 1)
    end()
    await eventually(() => seen.ran.length === 6)
    expect(seen.most).toBe(5)
    await forget()
  })

  it('tells a call at once when it may try again, and that it did not run', async () => {
    const { task, seen, end } = watched()
    await serve([task], [noOverlap()])
    const hub = it_.hub()
    const first = hub.call(task, { n: 1 })
    await eventually(() => seen.running === 1)
    const refused = await failure(hub.call(task, { n: 2, ms: 1 }))
    expect(refused).toMatchObject({ code: 'Overloaded', ran: 'no', retryable: true })
    expect((refused.data as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(0)
    expect(seen.ran).toEqual([])
    end()
    expect(await first).toEqual({ n: 1, lost: false })
    expect(await hub.call(task, { n: 3, ms: 1 })).toEqual({ n: 3, lost: false })
    await forget()
  })

  it('keeps the lock for longer than its lease while the handler runs, and frees it then', async () => {
    const { task, seen, end } = watched()
    await serve([task], [noOverlap({ leaseMs: 1000 })])
    const hub = it_.hub()
    const long = hub.call(task, { n: 1 }, { timeoutMs: 20_000 })
    await eventually(() => seen.running === 1)
    const till = async () => Number(await it_.redis.hget(makeKeys(it_.namespace).lock('alone:1.0'), 'till'))
    const first = await till()
    await eventually(async () => (await till()) > first + 1500)
    expect((await failure(hub.call(task, { n: 2, ms: 1 }))).code).toBe('Overloaded')
    end()
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

  it('aborts the run when Redis does not answer any more', async () => {
    const { task, seen } = watched()
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
    await forget()
  })

  it('does not let a handler that ignores its signal keep the lock for ever', async () => {
    let release = () => {}
    const stuck = defineTask('stuck:1.0', { timeoutMs: 2000 }, () => new Promise<void>(resolve => (release = resolve)))
    await serve([stuck], [noOverlap({ leaseMs: 1000 })])
    const hub = it_.hub()
    expect((await failure(hub.call(stuck, {}))).code).toBe('Timeout')
    // Lost to others within the lease, though it still runs.
    await eventually(async () => (await failure(hub.call(stuck, {}))).code === 'Timeout')
    release()
    await forget()
  })

  it('starts nothing that was given up before it had the lock, and frees that', async () => {
    const started: unknown[] = []
    const stuck = defineTask('stuck:1.0', { timeoutMs: 2000 }, args => {
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
