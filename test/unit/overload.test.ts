import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { HubError } from '../../src/errors.ts'
import { Forecast } from '../../src/forecast.ts'
import { mayRetry, RetryBudget } from '../../src/retries.ts'
import { RunTimes } from '../../src/runtimes.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => vi.useRealTimers())

describe('the forecast of a wait', () => {
  it('is nothing as long as no reply told anything', () => {
    const forecast = new Forecast()
    forecast.see(1000)
    expect(forecast.waitMs(1000)).toBe(0)
    expect(forecast.lengthWithin(1)).toBe(Number.POSITIVE_INFINITY)
    expect(forecast.lengthAt(performance.now())).toBeUndefined()
  })

  it('is the length times what a place took, less the slots that take theirs at once', () => {
    const forecast = new Forecast()
    forecast.slots = 4
    for (let i = 0; i < 50; i++) forecast.learn(99, 500, 20)
    expect(forecast.waitMs(3)).toBe(0)
    expect(forecast.waitMs(203)).toBeCloseTo(1000)
    expect(forecast.lengthWithin(1000.01)).toBe(204)
  })

  it('is not drawn out from a short list to a long one', () => {
    const forecast = new Forecast()
    // A process was busy for a moment: one that had nobody before it waited all the same.
    forecast.learn(0, 50, 40)
    expect(forecast.waitMs(5000)).toBe(200)
    expect(forecast.lengthWithin(1000)).toBe(Number.POSITIVE_INFINITY)
    for (let ahead = 1; ahead < 200; ahead++) forecast.learn(ahead, 50 + ahead * 0.1, 0.1)
    expect(forecast.waitMs(5000)).toBeLessThan(400)
  })

  it('does not take a time in which nothing was served for slow service', () => {
    const forecast = new Forecast()
    forecast.slots = 8
    // Redis was away for three seconds; ten requests waited for it.
    for (let ahead = 0; ahead < 10; ahead++) forecast.learn(ahead, 3000, 20)
    expect(forecast.waitMs(57)).toBeLessThan(260)
  })

  it('does not take requests that were dropped for quick service', () => {
    const forecast = new Forecast()
    forecast.slots = 8
    // 600 were ahead, and most of them were dropped because their time was up.
    for (let reply = 0; reply < 20; reply++) forecast.learn(600, 650, 20)
    expect(forecast.waitMs(607)).toBeGreaterThan(1300)
  })

  it('follows a change of the rate within some twenty replies', () => {
    const forecast = new Forecast()
    for (let i = 0; i < 50; i++) forecast.learn(9, 100, 10)
    for (let i = 0; i < 20; i++) forecast.learn(9, 1000, 100)
    expect(forecast.waitMs(10)).toBeGreaterThan(880)
    for (let i = 0; i < 20; i++) forecast.learn(9, 100, 10)
    expect(forecast.waitMs(10)).toBeLessThan(220)
  })

  it('counts a list that was seen a moment ago as drained since, and an older one as unknown', () => {
    const forecast = new Forecast()
    forecast.learn(0, 2, 2)
    forecast.see(100)
    vi.advanceTimersByTime(40)
    expect(forecast.lengthAt(performance.now())).toBeCloseTo(80)
    vi.advanceTimersByTime(20)
    expect(forecast.lengthAt(performance.now())).toBeUndefined()
  })

  it('is forgotten when nothing was served for ten seconds', () => {
    const forecast = new Forecast()
    forecast.learn(0, 1000, 1000)
    vi.advanceTimersByTime(9_999)
    expect(forecast.waitMs(5)).toBeGreaterThan(0)
    vi.advanceTimersByTime(1)
    expect(forecast.waitMs(5)).toBe(0)
  })
})

describe('how long a task runs at least', () => {
  it('is a low estimate of its last runs', () => {
    const times = new RunTimes()
    let random = 7
    for (let i = 0; i < 5000; i++) {
      random = (random * 16807) % 2147483647
      times.note('a:1.0', 10 + (random / 2147483647) * 90)
    }
    // A tenth of the runs takes less than 19 ms.
    expect(times.of('a:1.0')).toBeGreaterThan(15)
    expect(times.of('a:1.0')).toBeLessThan(50)
  })

  it('is unknown after five seconds without a run, so that one that was slow is tried again', () => {
    const times = new RunTimes()
    times.note('a:1.0', 10_000)
    vi.advanceTimersByTime(5001)
    expect(times.of('a:1.0')).toBe(0)
    expect(times.longest(5, 10)).toEqual([])
    times.note('a:1.0', 3)
    expect(times.of('a:1.0')).toBe(3)
  })

  it('is listed for the long ones, longest first', () => {
    const times = new RunTimes()
    for (const [task, ms] of [
      ['a', 1],
      ['b', 30],
      ['c', 700],
      ['d', 8],
    ] as const)
      times.note(task, ms)
    expect(times.longest(5, 2)).toEqual([
      ['c', 700],
      ['b', 30],
    ])
    // What is told stays as it is until it is told anew.
    expect([times.told, times.toldMs('c')]).toEqual([[], 0])
    times.tell(5, 2)
    times.note('d', 9000)
    expect(times.told).toEqual(['c', 700_000, 'b', 30_000])
    expect(['c', 'b', 'd'].map(task => times.toldMs(task))).toEqual([700, 30, 0])
  })
})

describe('retries', () => {
  it.each([
    ['NotEnqueued', false, undefined, true],
    ['OutcomeUnknown', false, undefined, false],
    ['OutcomeUnknown', true, undefined, true],
    ['TaskFailed', true, true, true],
    ['TaskFailed', true, false, false],
    ['TaskFailed', false, true, false],
    ['WorkerLost', true, undefined, false],
    ['Timeout', true, undefined, false],
    ['Overloaded', true, undefined, false],
    ['Expired', true, undefined, false],
    ['Aborted', true, undefined, false],
  ] as const)('after %s of a task that is idempotent: %s, retryable: %s -> %s', (code, idempotent, retryable, may) => {
    expect(mayRetry(new HubError(code, '', retryable === undefined ? {} : { retryable }), idempotent)).toBe(may)
  })

  it('add a tenth to the load at most, whatever fails', () => {
    const budget = new RetryBudget()
    let retries = 0
    for (let call = 0; call < 10_000; call++) {
      budget.onCall()
      if (budget.take()) retries++
    }
    expect(retries).toBeGreaterThan(900)
    expect(retries).toBeLessThanOrEqual(1010)
  })
})
