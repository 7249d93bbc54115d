import type { AsyncResource } from 'node:async_hooks'
import type { CallSpan } from '../outlets/tracing.ts'
import { explained } from '../redis/refusals.ts'
import { monotonicMs, onAbort } from '../wire/clock.ts'
import type { Timed } from '../wire/deadlines.ts'
import { type ErrorCode, fromWire, HubError, type HubErrorDetails } from '../wire/errors.ts'
import { newId } from '../wire/ids.ts'
import { type Reply, requestBesideArgs, requestBody } from '../wire/message.ts'
import type { Phases } from '../wire/phases.ts'
import type { Outbox } from './outbox.ts'
import type { Listener, Parcel, Placed } from './parcel.ts'

/** Who waits for a call. */
export interface Caller {
  /** Monotonic milliseconds. */
  readonly startedAt: number
  readonly span: CallSpan | undefined
  /** Its own, in which listeners hear of the call; undefined where there were none when it began. */
  readonly context?: AsyncResource | undefined
  readonly listener?: Listener | undefined
  /** `chunks`: of a stream, how many its worker pushed before. */
  resolve(value: unknown, chunks?: number): void
  reject(error: HubError): void
}

/** What a call asks for, the same in each of its tries. */
export interface CallSpec {
  readonly caller: Caller
  readonly task: string
  readonly idempotent: boolean
  /** That of its queue. */
  readonly outbox: Outbox
  /** Arguments, as JSON. */
  readonly args: string
  /** They may lie beside the request: its workers find them there. */
  readonly beside: boolean
  /** The request's end, from requestTail(). */
  readonly tail: string
  /** Monotonic milliseconds. */
  readonly end: number
  readonly signal: AbortSignal | undefined
  /** The caller wants to know how long each part took. */
  readonly phases: boolean
}

/** Who keeps the calls in flight. */
export interface CallHost {
  /** Its deadline is later now. */
  onPostponed(call: Call): void
  /** This try is over, with an error or a result: nothing may refer to it any more, and its caller is to be told. */
  onSettled(call: Call, error: HubError | undefined, us: Phases | undefined, result: unknown, chunks?: number): void
}

/**
 * Arguments with so many characters lie beside their request instead of in it. A lone call waits for the further round trip of its worker,
 * which takes as long as what Lua does with so many bytes; of many calls in flight a whole batch shares it.
 */
const longArgs = { alone: 32_768, together: 4_096 } as const
/** Calls of one hub in flight from where on they share their round trips. */
const manyCalls = 4

/** A request that cannot be sent for this long, because Redis is away, fails at once instead of at its deadline. */
export const unsentMs = 1000

/**
 * One try of a call from the moment its request exists until it settles, exactly once: by its reply, its deadline, its
 * caller's signal, or a refusal.
 */
export class Call implements Parcel, Timed {
  readonly id: string = newId()
  readonly spec: CallSpec
  readonly task: string
  readonly body: string
  readonly argsBeside: string | undefined
  readonly end: number
  /** 0 is the first one. */
  readonly tries: number
  readonly #host: CallHost
  #waitsSince: number
  /** How an earlier try ended that may have been run; then no later one can say that it certainly was not. */
  readonly #earlier: HubError | undefined
  settled = false
  /** A worker ended it, and counts it. */
  isAnswered = false
  inDoubt = false
  abandoned = false
  setback: string | undefined
  placed: Placed | undefined

  constructor(spec: CallSpec, host: CallHost, previous?: { call: Call; error: HubError }) {
    this.spec = spec
    this.task = spec.task
    this.end = spec.end
    this.#host = host
    const { task, idempotent, args, beside, outbox, tail } = spec
    const long = outbox.inFlight >= manyCalls ? longArgs.together : longArgs.alone
    this.argsBeside = beside && args.length >= long ? args : undefined
    this.body = this.argsBeside
      ? requestBesideArgs(this.id, task, idempotent, Buffer.byteLength(args), tail)
      : requestBody(this.id, task, idempotent, args, tail)
    this.tries = previous ? previous.call.tries + 1 : 0
    this.#waitsSince = previous ? monotonicMs() : spec.caller.startedAt
    if (previous) this.#earlier = previous.error.ran === 'no' ? previous.call.#earlier : previous.error
    if (spec.signal) onAbort(spec.signal, this)
    spec.caller.listener?.onTry?.(this.id)
  }

  /** This try is in Redis, or may be. */
  get #mayRun(): boolean {
    return this.placed !== undefined || this.inDoubt
  }

  /** Earlier than the call's own while its request cannot be sent. */
  get deadline(): number {
    return this.#mayRun ? this.end : Math.min(this.end, this.#waitsSince + unsentMs)
  }

  /** The signal fired. */
  handleEvent(): void {
    this.abandoned = true
    const ran = this.#mayRun || this.#earlier ? 'maybe' : 'no'
    this.refused('Aborted', `The caller stopped waiting for ${this.task}.`, { ran, cause: this.spec.signal?.reason })
  }

  /** Its hub was closed: nobody waits for the answer any more. */
  close(): void {
    this.abandoned = true
    if (this.#mayRun) this.refused('Aborted', `The hub was closed while ${this.task} was running.`)
    else this.refused('HubClosed')
  }

  /** What can truthfully be said at the deadline: sent and acknowledged, perhaps sent, or not sent. */
  expire(): void {
    const now = monotonicMs()
    const { outbox, caller } = this.spec
    if (now < this.end && outbox.isSending) {
      this.#waitsSince = now
      this.#host.onPostponed(this)
      return
    }
    const waited = Math.round(now - caller.startedAt)
    if (this.placed) this.refused('Timeout', `${this.task} did not answer within ${waited} ms.`)
    else if (this.inDoubt) this.refused('OutcomeUnknown', `Redis did not confirm the request within ${waited} ms.`)
    else {
      const reason = explained(this.setback ?? outbox.whyDown ?? 'it did not answer')
      this.refused('NotEnqueued', `Redis did not accept the request within ${waited} ms: ${reason}.`)
    }
  }

  inside(tell: () => void): void {
    const { context } = this.spec.caller
    if (context) context.runInAsyncScope(tell)
    else tell()
  }

  answer(reply: Reply): void {
    this.isAnswered = true
    if (reply.ok) this.#settle(undefined, reply.us, reply.result, reply.chunks)
    else this.#settle(fromWire(reply.error, { task: this.task, id: this.id }), reply.us)
  }

  /** It ends without a reply. */
  refused(code: ErrorCode, message?: string, details?: HubErrorDetails): void {
    this.#settle(new HubError(code, message, { task: this.task, id: this.id, ...details }))
  }

  /** What its caller is told when this try, which ended so, was the last one. */
  verdict(error: HubError): HubError {
    return error.ran === 'no' ? (this.#earlier ?? error) : error
  }

  #settle(error: HubError | undefined, us?: Phases, result?: unknown, chunks?: number): void {
    if (this.settled) return
    this.settled = true
    this.spec.signal?.removeEventListener('abort', this)
    this.#host.onSettled(this, error, us, result, chunks)
  }
}
