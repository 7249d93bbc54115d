import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type EventMap, Events } from '../../src/figures/events.ts'
import { Dispatch } from '../../src/hub/dispatch.ts'
import type { Route } from '../../src/hub/resolver.ts'
import { maxTries } from '../../src/hub/retries.ts'
import { Queue } from '../../src/queue/queue.ts'
import { readSettings } from '../../src/settings/read.ts'
import { monotonicMs } from '../../src/wire/clock.ts'
import { HubError } from '../../src/wire/errors.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { atOnePlace } from '../support/one-place.ts'
import { isLong, runs } from '../support/runs.ts'
import { type Answer, answers, type PushOutcome, pushOutcomes, ScheduledRedis } from '../support/scheduled-redis.ts'

/** One call of a run. */
interface CallPlan {
  timeoutMs: number
  idempotent: boolean
  answer: Answer
  /** Its caller's signal fires at some moment. */
  aborts: boolean
}

interface Made {
  plan: CallPlan
  /** The call's number, which is also its arguments and its result. */
  number: number
  signal: AbortSignal
  startedAt: number
  /** What its promise was told, and when. */
  outcomes: unknown[]
  settledAt: number
}

/** The calls in flight of a hub, with connections and a queue that the scheduler drives. */
class CallerSide {
  readonly made: Made[] = []
  readonly settled: EventMap['call:settled'][] = []
  /** Times that are to pass before anything else happens, in milliseconds. */
  readonly pauses: number[] = []
  readonly closing = new AbortController()
  readonly redis: ScheduledRedis
  readonly #dispatch: Dispatch

  constructor(scheduler: fc.Scheduler, outcomes: PushOutcome[], plans: CallPlan[]) {
    this.redis = new ScheduledRedis(scheduler, outcomes, number => plans[number]!.answer)
    const events = new Events()
    events.on('call:settled', event => this.settled.push(event))
    this.#dispatch = new Dispatch({
      hubId: 'hub',
      settings: readSettings('hub', {}),
      keys: makeKeys('pshub'),
      commands: atOnePlace(this.redis.connection),
      blocking: atOnePlace(this.redis.replies.connection),
      events,
      closing: this.closing.signal,
      onUnanswered: () => undefined,
    })
  }

  call(number: number, plan: CallPlan, signal: AbortSignal): void {
    // The hub refuses these before it sends anything.
    if (signal.aborted || this.closing.signal.aborted) return
    const made: Made = { plan, number, signal, startedAt: monotonicMs(), outcomes: [], settledAt: Number.NaN }
    this.made.push(made)
    const settle = (outcome: unknown) => {
      made.outcomes.push(outcome)
      made.settledAt = monotonicMs()
    }
    const { timeoutMs, idempotent } = plan
    const limits = { maxPayloadBytes: 1000, maxBacklog: 100, beside: false, slots: 1, checkArgs: undefined }
    const route: Route = { task: 't:1.0', queue: 'q', timeoutMs, idempotent, keyed: undefined, ...limits }
    const caller = { startedAt: made.startedAt, span: undefined, resolve: settle, reject: settle }
    this.#dispatch.send(route, number, { signal }, caller)
  }

  close(): Promise<void> {
    this.closing.abort()
    return this.#dispatch.stop()
  }
}

const realImmediate = setImmediate

/** Lets everything happen that needs neither time nor the scheduler. */
const settleDown = async (): Promise<void> => {
  vi.advanceTimersByTime(0)
  await new Promise(resolve => realImmediate(resolve))
}

/** Far more than any run has. */
const mostTurns = 5000

/** Runs all that is scheduled, in the scheduler's order, and lets time pass where nothing else is left to happen. */
const runToTheEnd = async (scheduler: fc.Scheduler, caller: CallerSide): Promise<void> => {
  for (let turn = 0; turn < mostTurns; turn++) {
    await settleDown()
    const pause = caller.pauses.shift()
    if (pause !== undefined) await vi.advanceTimersByTimeAsync(pause)
    else if (scheduler.count() > 0) await scheduler.waitNext(1)
    // Nothing of a closed hub waits for time to pass.
    else if (vi.getTimerCount() > 0 && !caller.closing.signal.aborted) await vi.advanceTimersToNextTimerAsync()
    else return
  }
  throw new Error(`${mostTurns} turns, and still something to wait for`)
}

const toTheEndOf = async (work: Promise<unknown>): Promise<void> => {
  let isOver = false
  // What was set by setImmediate while the fake clock moved is due with the clock's next millisecond.
  vi.advanceTimersByTime(1)
  work.finally(() => {
    isOver = true
  })
  // A millisecond, because what is set to run at once while time passes is one late with these timers.
  vi.advanceTimersByTime(1)
  for (let turn = 0; turn < 20 && !isOver; turn++) await settleDown()
  expect(isOver, 'closing ends at once').toBe(true)
}

const pauses = [10, 400, 1500, 61_000, 61_000, 61_000]

const anyCall = fc.record({
  timeoutMs: fc.constantFrom(1, 20, 900, 3000, 120_000, 120_000, 120_000),
  idempotent: fc.boolean(),
  answer: fc.constantFrom(...answers),
  aborts: fc.constantFrom(true, false, false),
})

const anyCut = fc.constantFrom('now' as const, 'at the next answer' as const)

/** How much later than its deadline a call may settle: Deadlines looks every 5 ms at the most. */
const latenessMs = 6

const check = (caller: CallerSide, { plan, number, signal, startedAt, outcomes, settledAt }: Made): string => {
  const { redis } = caller
  const { arrived, acknowledged, ran, written } = redis
  const tries = [...written].filter(([, call]) => call === number).map(([id]) => id)
  const enqueued = arrived.filter(id => tries.includes(id))
  expect(outcomes, `${number} settles once`).toHaveLength(1)
  expect(getEventListeners(signal, 'abort'), `listeners of ${number}`).toEqual([])
  expect(settledAt - startedAt, `${number} settles in time`).toBeLessThanOrEqual(plan.timeoutMs + latenessMs)
  expect(enqueued.length, `${number} may run so often`).toBeLessThanOrEqual(plan.idempotent ? maxTries : 1)

  const [outcome] = outcomes
  if (!(outcome instanceof HubError)) {
    expect(outcome).toBe(number)
    expect(plan.answer).toMatch(/^ok/)
    expect(tries.some(id => ran.has(id))).toBe(true)
    return 'result'
  }
  const { code, id } = outcome
  const { aborted } = signal
  if (outcome.ran === 'no') expect(enqueued, `${code}, but ${number} is or was in the list`).toEqual([])
  if (code === 'TaskFailed') expect(tries.some(tried => ran.has(tried))).toBe(true)
  if (code === 'Timeout') expect(tries.some(tried => acknowledged.has(tried))).toBe(true)
  // No reply is lost by the inbox: it reads again within a second, however often it is cut off.
  const replied = (redis.repliedAt.get(tries.at(-1) ?? '') ?? settledAt) < settledAt - 1000
  if (code === 'Timeout') expect(replied, `the reply to ${number} was there in time`).toBe(false)
  if (code === 'OutcomeUnknown') expect(tries).not.toEqual([])
  if (code !== 'Aborted') return code
  expect(aborted || caller.closing.signal.aborted).toBe(true)
  // Who gave up has the request taken back as soon as it is known to be there, and while Redis is.
  const givenUp = outcome.message.includes('gave up') && acknowledged.has(id!) && !redis.wasAway
  if (givenUp) expect(redis.cancelled).toContain(id)
  return code
}

const checkAll = (caller: CallerSide): string[] => {
  const { redis } = caller
  const codes = caller.made.map(made => check(caller, made))
  expect(new Set(redis.arrived).size, 'requests that were enqueued twice').toBe(redis.arrived.length)
  expect(new Set(redis.cancelled).size, 'requests that were cancelled twice').toBe(redis.cancelled.length)
  for (const id of redis.cancelled) expect(redis.acknowledged).toContain(id)
  for (const id of redis.removed) expect(redis.ran).not.toContain(id)
  expect(caller.settled, 'the hub tells of each call once').toHaveLength(codes.length)
  return codes
}

describe('calls', () => {
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] })
    type Client = Parameters<Queue['push']>[0]
    const fake = (client: Client) => client as unknown as ScheduledRedis
    vi.spyOn(Queue.prototype, 'push').mockImplementation((client, _hub, number, _maxLength, messages) =>
      fake(client).push(number, [...messages]),
    )
    vi.spyOn(Queue.prototype, 'cancel').mockImplementation((client, id, text) => fake(client).cancel(id, text))
  })
  afterAll(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it('settle once, truthfully and in time, in whatever order things happen', { timeout: 120_000 }, async () => {
    const codes = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(anyCall, { minLength: 1, maxLength: 4 }),
        fc.array(fc.constantFrom(...pushOutcomes), { maxLength: 4 }),
        fc.array(fc.constantFrom(...pauses), { maxLength: 3 }),
        fc.record({ cuts: fc.array(anyCut, { maxLength: 2 }), closes: fc.constantFrom(true, false, false) }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async (scheduler, plans, outcomes, pausesMs, { cuts, closes }, chance) => {
          vi.clearAllTimers()
          // How waits are spread, so that a run's seed brings back all of it.
          vi.spyOn(Math, 'random').mockReturnValue(chance)
          const caller = new CallerSide(scheduler, outcomes, plans)
          const at = (label: string, action: () => unknown) =>
            void scheduler.schedule(Promise.resolve(), label).then(action)
          for (const [number, plan] of plans.entries()) {
            const controller = new AbortController()
            at(`call ${number}`, () => caller.call(number, plan, controller.signal))
            if (plan.aborts) at(`abort ${number}`, () => controller.abort())
          }
          for (const ms of pausesMs) at(`${ms} ms pass`, () => caller.pauses.push(ms))
          for (const when of cuts) at(`the inbox is cut off ${when}`, () => caller.redis.replies.cut(when))
          if (closes) at('close', () => caller.close())
          await runToTheEnd(scheduler, caller)
          for (const code of checkAll(caller)) codes.add(code)
          await toTheEndOf(caller.close())
          expect(vi.getTimerCount(), 'timers left').toBe(0)
          expect(getEventListeners(caller.closing.signal, 'abort')).toEqual([])
        },
      ),
      { numRuns: runs(300, 3000), endOnFailure: true },
    )
    const possible = ['Aborted', 'HubClosed', 'NotEnqueued', 'OutcomeUnknown', 'Overloaded', 'TaskFailed', 'Timeout']
    expect([...possible, 'result']).toEqual(expect.arrayContaining([...codes]))
    // Few runs need not meet the rarest ones.
    if (isLong) expect(codes.size).toBe(possible.length + 1)
  })
})
