import { monotonicMs } from './clock.ts'
import type { Timed } from './deadlines.ts'
import { fromWire, HubError } from './errors.ts'
import type { Phases, Reply } from './message.ts'
import type { Parcel } from './outbox.ts'
import { explained } from './refusals.ts'

/** What a settled call tells the hub. */
export interface Settled {
  ok: boolean
  error: HubError | undefined
  us: Phases | undefined
}

/** A request that cannot be sent for this long, because Redis is away, fails at once instead of at its deadline. */
const unsentMs = 1000

/**
 * One call from the moment its request exists until it settles, exactly once: by its reply, its deadline, its
 * caller's signal, or a refusal.
 */
export class Call implements Parcel, Timed {
  readonly id: string
  readonly task: string
  readonly body: string
  readonly startedAt: number
  readonly end: number
  settled = false
  inDoubt = false
  abandoned = false
  setback: string | undefined
  #pushed: { at: string; ttlMs: number } | undefined
  readonly #whyDown: () => string | undefined
  readonly #resolve: (value: unknown) => void
  readonly #reject: (error: HubError) => void
  readonly #onSettled: (call: Call, settled: Settled) => void
  #signal: AbortSignal | undefined

  constructor(options: {
    id: string
    task: string
    body: string
    startedAt: number
    end: number
    signal: AbortSignal | undefined
    /** Why there is no connection at the moment. */
    whyDown(): string | undefined
    resolve(value: unknown): void
    reject(error: HubError): void
    onSettled(call: Call, settled: Settled): void
  }) {
    this.id = options.id
    this.task = options.task
    this.body = options.body
    this.startedAt = options.startedAt
    this.end = options.end
    this.#whyDown = options.whyDown
    this.#resolve = options.resolve
    this.#reject = options.reject
    this.#onSettled = options.onSettled
    this.#signal = options.signal
    this.#signal?.addEventListener('abort', this, { once: true })
  }

  /** Earlier than the call's own while its request cannot be sent. */
  get deadline(): number {
    return this.#pushed || this.inDoubt ? this.end : Math.min(this.end, this.startedAt + unsentMs)
  }

  /** Time and ttl of the message in the list, as far as they are known. */
  get pushed(): { at: string; ttlMs: number } | undefined {
    return this.#pushed
  }

  enqueued(at: string, ttlMs: number): void {
    this.inDoubt = false
    this.#pushed = { at, ttlMs }
  }

  refused(error: HubError): void {
    this.fail(new HubError(error.code, error.message, { task: this.task, id: this.id, data: error.data }))
  }

  /** The signal fired. */
  handleEvent(): void {
    const reason = this.#signal?.reason
    this.abandoned = true
    this.fail(
      new HubError('Aborted', `The caller gave up waiting for ${this.task}.`, {
        task: this.task,
        id: this.id,
        cause: reason,
      }),
    )
  }

  expire(): void {
    this.fail(this.#lateness())
  }

  /** What can truthfully be said at the deadline: sent and acknowledged, perhaps sent, or not sent. */
  #lateness(): HubError {
    const waited = Math.round(monotonicMs() - this.startedAt)
    const details = { task: this.task, id: this.id }
    if (this.#pushed) return new HubError('Timeout', `${this.task} did not answer within ${waited} ms.`, details)
    if (this.inDoubt) {
      return new HubError(
        'OutcomeUnknown',
        `Redis did not confirm the request within ${waited} ms; it may have been run.`,
        details,
      )
    }
    const reason = explained(this.setback ?? this.#whyDown() ?? 'it did not answer')
    return new HubError('NotEnqueued', `Redis could not be given the request for ${waited} ms: ${reason}.`, details)
  }

  answer(reply: Reply): void {
    if (this.settled) return
    if (!reply.ok) {
      this.fail(fromWire(reply.error, { task: this.task, id: this.id }), reply.us)
      return
    }
    this.#finish({ ok: true, error: undefined, us: reply.us })
    this.#resolve(reply.result)
  }

  fail(error: HubError, us?: Phases): void {
    if (this.settled) return
    this.#finish({ ok: false, error, us })
    this.#reject(error)
  }

  #finish(settled: Settled): void {
    this.settled = true
    this.#signal?.removeEventListener('abort', this)
    this.#onSettled(this, settled)
  }
}
