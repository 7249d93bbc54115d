import { setImmediate as turn } from 'node:timers/promises'
import { vi } from 'vitest'
import { Events } from '../../src/figures/events.ts'
import { Outbox } from '../../src/hub/outbox.ts'
import type { Parcel, Placed } from '../../src/hub/parcel.ts'
import type { Queue } from '../../src/queue/queue.ts'
import type { Connection } from '../../src/redis/connection.ts'
import type { Pushed } from '../../src/wire/answers.ts'
import type { ErrorCode } from '../../src/wire/errors.ts'
import { RedisClock } from '../../src/wire/redis-clock.ts'

export interface Load {
  slots: number
  hubs: number
  /** How long one run takes, milliseconds. */
  taskMs: number
  /** By how much of that one takes more or less; without it all that begin together end together. */
  spread?: number
  deadlineMs: number
}

/** How long each way takes: a push's, a claim's, a reply's. */
const wayMs = 0.25

/** A call of a simulated hub, with what became of it. */
export class SimulatedCall implements Parcel {
  readonly task = 'wait:1.0'
  readonly abandoned = false
  settled = false
  inDoubt = false
  setback: string | undefined
  placed: Placed | undefined
  startedAt: number | undefined
  outcome: 'ok' | 'refused' | 'expired' | 'late' | undefined
  /** Milliseconds until the outcome. */
  tookMs = 0
  readonly id: string
  readonly at: number
  readonly end: number

  constructor(id: string, at: number, end: number) {
    this.id = id
    this.at = at
    this.end = end
  }

  readonly argsBeside = undefined

  get body(): string {
    return this.id
  }

  inside(tell: () => void): void {
    tell()
  }

  refused(code: ErrorCode): void {
    this.settle(code === 'Overloaded' ? 'refused' : 'late', performance.now())
  }

  settle(outcome: SimulatedCall['outcome'], now: number): void {
    if (this.settled) return
    this.settled = true
    this.outcome = outcome
    this.tookMs = now - this.at
  }
}

/** One queue with its worker, and hubs that know nothing of each other, on a clock that goes from event to event. */
export class SimulatedQueue {
  readonly calls: SimulatedCall[] = []
  readonly #load: Load
  readonly #hubs: Outbox[]
  readonly #list: { call: SimulatedCall; hub: number; at: number; endsBy: number }[] = []
  readonly #events: { at: number; happens: () => void }[] = []
  #seed = 7
  #now = 1000
  #idle: number
  #claimed = false
  #stalled = false

  constructor(load: Load) {
    this.#load = load
    this.#idle = load.slots
    vi.spyOn(performance, 'now').mockImplementation(() => this.#now)
    this.#hubs = Array.from({ length: load.hubs }, (_, hub) => this.#makeHub(hub))
  }

  /** From 0 to 1, the same in each run. */
  random(): number {
    this.#seed = (this.#seed * 16807) % 2147483647
    return this.#seed / 2147483647
  }

  /** Milliseconds from the beginning. */
  get now(): number {
    return this.#now - 1000
  }

  get length(): number {
    return this.#list.length
  }

  /** Something happens in so many milliseconds. */
  in(ms: number, happens: () => void): void {
    const at = this.#now + ms
    let place = this.#events.length
    while (place > 0 && this.#events[place - 1]!.at <= at) place--
    this.#events.splice(place, 0, { at, happens })
  }

  /** Calls at a steady rate from now on, spread over the hubs at random, for so long. */
  offer(perSecond: number, forMs: number): void {
    const end = this.#now + forMs
    const next = () => {
      this.call(Math.floor(this.random() * this.#load.hubs))
      const pause = (-Math.log(1 - this.random()) * 1000) / perSecond
      if (this.#now + pause < end) this.in(pause, next)
    }
    next()
  }

  call(hub: number): SimulatedCall {
    const call = new SimulatedCall(String(this.calls.length), this.#now, this.#now + this.#load.deadlineMs)
    this.calls.push(call)
    const outbox = this.#hubs[hub]!
    outbox.add(call)
    this.in(this.#load.deadlineMs, () => {
      if (call.settled) return
      call.settle('late', this.#now)
      outbox.drop(call)
      if (call.placed?.ahead !== undefined) outbox.forecast.miss(call.placed.ahead, this.#load.deadlineMs)
    })
    return call
  }

  /** The worker takes nothing for so long. */
  stall(ms: number): void {
    this.#stalled = true
    this.in(ms, () => {
      this.#stalled = false
      this.#claim()
    })
  }

  async run(forMs: number): Promise<void> {
    const end = this.#now + forMs
    for (let event = this.#events.at(-1); event && event.at <= end; event = this.#events.at(-1)) {
      this.#events.pop()
      this.#now = event.at
      event.happens()
      // The hubs' own turns: next ticks, promises.
      await turn()
    }
    this.#now = end
  }

  #makeHub(hub: number): Outbox {
    const push = (_: unknown, _hub: string, _number: number, maxLength: number, messages: string[]) =>
      new Promise<Pushed>(resolve => this.in(wayMs, () => this.#push(hub, maxLength, messages, resolve)))
    const connection = { isReady: true, send: (commands: (client: unknown) => unknown) => commands({}) }
    const outbox = new Outbox({
      connection: connection as unknown as Connection,
      queue: { name: 'q', push } as unknown as Queue,
      hubId: String(hub),
      clock: new RedisClock(),
      events: new Events(),
      closing: new AbortController().signal,
    })
    outbox.maxLength = 10_000
    outbox.forecast.slots = this.#load.slots
    return outbox
  }

  #push(hub: number, maxLength: number, messages: string[], answer: (pushed: Pushed) => void): void {
    const length = this.#list.length
    const accepted = Math.max(0, Math.min(messages.length, maxLength - length))
    for (const message of messages.slice(0, accepted)) {
      const [, ttl, id] = message.match(/^"ttl":(\d+),(\d+)$/)!
      this.#list.push({ call: this.calls[Number(id)]!, hub, at: this.#now, endsBy: this.#now + Number(ttl) })
    }
    const at = String(Math.floor(this.#now * 1000))
    this.in(wayMs, () => answer({ accepted, length, at, repeated: false, lateMs: 0 }))
    if (accepted > 0) this.#claim()
  }

  /** One claim under way at a time, for all slots that are idle when it arrives. */
  #claim(): void {
    if (this.#claimed || this.#stalled || this.#idle === 0 || this.#list.length === 0) return
    this.#claimed = true
    this.in(wayMs, () => {
      while (this.#idle > 0 && this.#list.length > 0) {
        const { call, hub, at, endsBy } = this.#list.shift()!
        if (endsBy <= this.#now) call.settle('expired', this.#now)
        else this.#start(call, hub, this.#now - at)
      }
      this.in(wayMs, () => {
        this.#claimed = false
        this.#claim()
      })
    })
  }

  #start(call: SimulatedCall, hub: number, waitedMs: number): void {
    this.#idle--
    call.startedAt = this.#now
    const { taskMs, spread = 0 } = this.#load
    const runMs = taskMs * (1 + spread * (2 * this.random() - 1))
    this.in(runMs, () => {
      this.#idle++
      this.#claim()
      this.in(wayMs, () => this.#reply(call, hub, waitedMs, runMs))
    })
  }

  #reply(call: SimulatedCall, hub: number, waitedMs: number, runMs: number): void {
    const outbox = this.#hubs[hub]!
    if (call.settled) return
    call.settle('ok', this.#now)
    outbox.drop(call)
    if (call.placed?.ahead !== undefined) outbox.forecast.learn(call.placed.ahead, waitedMs, runMs)
  }
}

const quantile = (values: number[], q: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)] ?? 0
}

/** What became of the calls that were made from `fromMs` to `toMs`, and how many were answered a second in that time. */
export const outcomesOf = ({ calls }: SimulatedQueue, fromMs: number, toMs: number) => {
  const isIn = (ms: number) => ms - 1000 >= fromMs && ms - 1000 < toMs
  const made = calls.filter(({ at }) => isIn(at))
  const of = (outcome: SimulatedCall['outcome']) =>
    made.filter(call => call.outcome === outcome).map(call => call.tookMs)
  const ok = of('ok')
  const answered = calls.filter(({ outcome, at, tookMs }) => outcome === 'ok' && isIn(at + tookMs)).length
  return {
    ok: ok.length,
    refused: of('refused').length,
    late: of('late').length + of('expired').length,
    lateStarts: calls.filter(({ startedAt, end }) => startedAt !== undefined && startedAt > end).length,
    perSecond: (answered / (toMs - fromMs)) * 1000,
    p50Ms: quantile(ok, 0.5),
    p99Ms: quantile(ok, 0.99),
    refusedP99Ms: quantile(of('refused'), 0.99),
  }
}
