import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Forecast } from '../../src/hub/forecast.ts'
import { mayRetry, RetryBudget } from '../../src/hub/retries.ts'
import { HubError } from '../../src/wire/errors.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => vi.useRealTimers())

describe('the forecast of a wait', () => {
  it('is nothing as long as no reply told anything', () => {
    const forecast = new Forecast()
    forecast.see(1000, 0)
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
    // Of 1270 ms 20 are for the run, and a fifth of the rest is left to spare.
    expect(forecast.patienceMs(1270)).toBeCloseTo(1000)
    expect(forecast.lengthWithin(1270.1)).toBe(204)
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
    forecast.see(90, 10)
    vi.advanceTimersByTime(40)
    expect(forecast.lengthAt(performance.now())).toBeCloseTo(80)
    vi.advanceTimersByTime(20)
    expect(forecast.lengthAt(performance.now())).toBeUndefined()
  })

  it('is forgotten when nothing was served for ten seconds', () => {
    const forecast = new Forecast()
    forecast.learn(0, 400, 400)
    vi.advanceTimersByTime(9_999)
    expect(forecast.waitMs(5)).toBeGreaterThan(0)
    vi.advanceTimersByTime(1)
    expect(forecast.waitMs(5)).toBe(0)
  })

  it('of long tasks is forgotten after twenty runs: a hub of many hears of one more seldom', () => {
    const forecast = new Forecast()
    forecast.learn(0, 2000, 2000)
    vi.advanceTimersByTime(39_999)
    expect(forecast.waitMs(5)).toBeGreaterThan(0)
    vi.advanceTimersByTime(1)
    expect(forecast.waitMs(5)).toBe(0)
  })

  it("counts the slots as busy when the list was never empty for a while, and keeps half of a call's time for waiting", () => {
    const forecast = new Forecast()
    forecast.slots = 4
    for (let i = 0; i < 50; i++) forecast.learn(9, 1000, 400)
    forecast.see(3, 0)
    expect(forecast.waitMs(3)).toBe(0)
    vi.advanceTimersByTime(51)
    forecast.see(3, 0)
    expect(forecast.waitMs(3)).toBeCloseTo(400)
    expect([forecast.patienceMs(1000), forecast.patienceMs(500)]).toEqual([480, 200])
  })

  it('is guessed from what was late as long as nothing was answered, and no longer', () => {
    const forecast = new Forecast()
    forecast.slots = 8
    forecast.miss(15, 5000)
    expect(forecast.waitMs(15)).toBeGreaterThan(2000)
    forecast.learn(0, 0, 20)
    expect(forecast.waitMs(15)).toBeLessThan(30)
    forecast.miss(15, 5000)
    expect(forecast.waitMs(15)).toBeLessThan(30)
  })
})

describe('a list that stands', () => {
  const patient = 60_000

  /** A push and a reply every 10 ms, for so long. */
  const look = (forecast: Forecast, length: (ms: number) => number, ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      forecast.learn(20, 50, 20)
      forecast.see(length(passed), 0)
      vi.advanceTimersByTime(10)
    }
  }

  const withSlots = (slots: number) => {
    const forecast = new Forecast()
    forecast.slots = slots
    for (let reply = 0; reply < 50; reply++) forecast.learn(20, 50, 20)
    return forecast
  }

  it('is kept at two rounds of its slots, until a push finds it all but empty', () => {
    const forecast = withSlots(8)
    look(forecast, () => 40, 140)
    expect(forecast.lengthWithin(patient)).toBe(Number.POSITIVE_INFINITY)
    look(forecast, () => 40, 40)
    expect(forecast.lengthWithin(patient)).toBe(17)
    look(forecast, ms => 17 - (ms % 15), 200)
    expect(forecast.lengthWithin(patient)).toBe(17)
    forecast.see(2, 0)
    // For a second it is not let grow to what deadlines allow: it may have been empty for a moment only.
    expect(forecast.lengthWithin(patient)).toBe(34)
    look(forecast, () => 0, 1010)
    expect(forecast.lengthWithin(patient)).toBe(Number.POSITIVE_INFINITY)
  })

  it.each([
    ['a push found it short', (ms: number) => (ms === 80 ? 16 : 40)],
    ['it goes down by itself', (ms: number) => 200 - ms / 5],
  ])('does not when %s', (_, length) => {
    const forecast = withSlots(8)
    look(forecast, length, 220)
    expect(forecast.lengthWithin(patient)).toBe(Number.POSITIVE_INFINITY)
  })

  it('does not while nothing is served: a pause is not more than can be served', () => {
    const forecast = withSlots(8)
    for (let looks = 0; looks < 50; looks++) {
      vi.advanceTimersByTime(10)
      forecast.see(40 + looks, 1)
    }
    expect(forecast.lengthWithin(patient)).toBe(Number.POSITIVE_INFINITY)
  })

  it('is forgotten by who does not call for a second', () => {
    const forecast = withSlots(8)
    look(forecast, () => 40, 200)
    expect(forecast.lengthWithin(patient)).toBe(17)
    vi.advanceTimersByTime(1100)
    expect(forecast.lengthWithin(patient)).toBe(Number.POSITIVE_INFINITY)
  })

  it('has an interval of five runs', () => {
    const forecast = withSlots(8)
    for (let reply = 0; reply < 100; reply++) forecast.learn(20, 5000, 2000)
    const looks = (count: number) => {
      for (let look = 0; look < count; look++) {
        forecast.learn(20, 5000, 2000)
        forecast.see(40, 0)
        vi.advanceTimersByTime(500)
      }
    }
    looks(28)
    expect(forecast.lengthWithin(patient)).toBeGreaterThan(17)
    looks(4)
    expect(forecast.lengthWithin(patient)).toBe(17)
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
