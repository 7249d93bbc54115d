import { monotonicMs } from './clock.ts'
import type { Timed } from './deadlines.ts'
import { fromWire, HubError } from './errors.ts'
import { newId } from './ids.ts'
import { type Reply, requestBody } from './message.ts'
import type { Parcel, Placed } from './outbox.ts'
import type { CallPhases, Phases } from './phases.ts'
import { explained } from './refusals.ts'
import type { CallSpan } from './tracing.ts'

/** How a try ended. */
export interface Settled {
  ok: boolean
  error: HubError | undefined
  us: Phases | undefined
}

/** What a call asks for, the same in each of its tries. */
export interface CallSpec {
  readonly task: string
  readonly queue: string
  readonly idempotent: boolean
  /** Arguments, as JSON. */
  readonly args: string
  /** The request's end, from requestTail(). */
  readonly tail: string
  /** Monotonic milliseconds. */
  readonly startedAt: number
  readonly end: number
  readonly signal: AbortSignal | undefined
  /** The caller wants to know how long each part took. */
  readonly phases: boolean
  readonly span: CallSpan | undefined
  resolve(value: unknown): void
  reject(error: HubError): void
}

/** Who keeps the calls in flight. */
export interface CallHost {
  /** Why there is no connection at the moment. */
  whyDown(): string | undefined
  /** Whether requests of its queue are going out: then it need only wait for its turn. */
  isSending(call: Call): boolean
  /** Its deadline is later now. */
  onPostponed(call: Call): void
  /** This try is over: nothing may refer to it any more. */
  onEnded(call: Call, settled: Settled): void
  /** True when a further try was started; that one settles the caller's promise then. */
  onFailed(call: Call, error: HubError): boolean
  /** The caller's promise is about to settle. Returns its phases, where somebody wants to know them. */
  onSettled(call: Call, settled: Settled): CallPhases | undefined
}

/** A request that cannot be sent for this long, because Redis is away, fails at once instead of at its deadline. */
export const unsentMs = 1000

/**
 * One try of a call from the moment its request exists until it settles, exactly once: by its reply, its deadline, its
 * caller's signal, or a refusal.
 */
export class Call implements Parcel, Timed {
  readonly id: string = newId()
  readonly spec: CallSpec
  readonly body: string
  /** 0 is the first one. */
  readonly tries: number
  readonly #host: CallHost
  #waitsSince: number
  /** How an earlier try ended that may have been run; then no later one can say that it certainly was not. */
  readonly #earlier: HubError | undefined
  settled = false
  inDoubt = false
  abandoned = false
  setback: string | undefined
  #placed: Placed | undefined

  constructor(spec: CallSpec, host: CallHost, previous?: { call: Call; error: HubError }) {
    this.spec = spec
    this.#host = host
    this.body = requestBody(this.id, spec.task, spec.args, spec.tail)
    this.tries = previous ? previous.call.tries + 1 : 0
    this.#waitsSince = previous ? monotonicMs() : spec.startedAt
    if (previous) this.#earlier = previous.error.ran === 'no' ? previous.call.#earlier : previous.error
    spec.signal?.addEventListener('abort', this, { once: true })
  }

  get task(): string {
    return this.spec.task
  }

  get end(): number {
    return this.spec.end
  }

  /** Earlier than the call's own while its request cannot be sent. */
  get deadline(): number {
    return this.#placed || this.inDoubt ? this.spec.end : Math.min(this.spec.end, this.#waitsSince + unsentMs)
  }

  get placed(): Placed | undefined {
    return this.#placed
  }

  enqueued(placed: Placed): void {
    this.inDoubt = false
    this.#placed = placed
  }

  refused(error: HubError): void {
    this.fail(new HubError(error.code, error.message, { ...this.#details(), data: error.data }))
  }

  /** The signal fired. */
  handleEvent(): void {
    this.abandoned = true
    const message = `The caller gave up waiting for ${this.task}.`
    this.fail(new HubError('Aborted', message, { ...this.#details(), cause: this.spec.signal?.reason }))
  }

  expire(): void {
    const now = monotonicMs()
    if (now < this.spec.end && this.#host.isSending(this)) {
      this.#waitsSince = now
      this.#host.onPostponed(this)
    } else this.fail(this.#lateness())
  }

  answer(reply: Reply): void {
    if (this.settled) return
    if (!reply.ok) {
      this.fail(fromWire(reply.error, this.#details()), reply.us)
      return
    }
    const settled = { ok: true, error: undefined, us: reply.us }
    this.#end(settled)
    const phases = this.#host.onSettled(this, settled)
    this.spec.resolve(this.spec.phases ? { result: reply.result, phases } : reply.result)
  }

  fail(error: HubError, us?: Phases): void {
    if (this.settled) return
    const settled = { ok: false, error, us }
    this.#end(settled)
    if (this.#host.onFailed(this, error)) return
    if (error.ran === 'no' && this.#earlier) settled.error = this.#earlier
    settled.error.phases = this.#host.onSettled(this, settled)
    this.spec.reject(settled.error)
  }

  #end(settled: Settled): void {
    this.settled = true
    this.spec.signal?.removeEventListener('abort', this)
    this.#host.onEnded(this, settled)
  }

  #details(): { task: string; id: string } {
    return { task: this.task, id: this.id }
  }

  /** What can truthfully be said at the deadline: sent and acknowledged, perhaps sent, or not sent. */
  #lateness(): HubError {
    const waited = Math.round(monotonicMs() - this.spec.startedAt)
    if (this.#placed)
      return new HubError('Timeout', `${this.task} did not answer within ${waited} ms.`, this.#details())
    if (this.inDoubt) {
      const message = `Redis did not confirm the request within ${waited} ms; it may have been run.`
      return new HubError('OutcomeUnknown', message, this.#details())
    }
    const reason = explained(this.setback ?? this.#host.whyDown() ?? 'it did not answer')
    const message = `Redis could not be given the request for ${waited} ms: ${reason}.`
    return new HubError('NotEnqueued', message, this.#details())
  }
}
