import type { Guards } from '../../task/task.ts'
import { monotonicMs } from '../../wire/clock.ts'
import { HubError } from '../../wire/errors.ts'
import { clearTimeout, setTimeout } from '../../wire/timers.ts'

/** Later than this comes only the timer of a loop that was blocked. */
const blockedMs = 250

/**
 * A lock of all workers, held by one run and renewed while that lasts. Redis counts the lease from when it hears of a renewal, and this
 * from before it is sent: so the signal fires before another one can take the lock, unless this loop was blocked.
 */
export class Lock {
  readonly #guards: Guards
  readonly #name: string
  readonly #owner: string
  readonly #leaseMs: number
  readonly #lost = new AbortController()
  #fence: number | undefined
  /** Until when it is certainly held, monotonic milliseconds. */
  #certainUntil = 0
  #renewal: NodeJS.Timeout | undefined
  #watch: NodeJS.Timeout | undefined
  #renewing: Promise<void> | undefined
  #isRenewed = true
  #isOver = false

  constructor(guards: Guards, name: string, owner: string, leaseMs: number) {
    this.#guards = guards
    this.#name = name
    this.#owner = owner
    this.#leaseMs = leaseMs
  }

  /** Resolves with 0 when it is taken, else with the milliseconds after which to look again. Rejects when Redis could not be asked. */
  async take(): Promise<number> {
    const sentAt = monotonicMs()
    const answer = await this.#guards.lock(this.#name, this.#owner, this.#leaseMs, true)
    if ('waitMs' in answer) return Math.max(1, answer.waitMs)
    this.#fence = answer.fence
    this.#heldFrom(sentAt)
    this.#renewLater()
    return 0
  }

  get fence(): number | undefined {
    return this.#fence
  }

  /** Fires when it may be another one's. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Not waited for: where it fails, the lease ends. */
  free(): void {
    this.#stop()
    this.#guards.lock(this.#name, this.#owner, 0, false).catch(() => undefined)
  }

  /** What runs was told to end: it has the rest of the lease for that, and does not keep others away for ever. */
  renewNoMore(): void {
    clearTimeout(this.#renewal)
    this.#isRenewed = false
  }

  #heldFrom(sentAt: number): void {
    this.#certainUntil = sentAt + this.#leaseMs
    clearTimeout(this.#watch)
    this.#watch = setTimeout(() => void this.#ended(), Math.max(0, this.#certainUntil - monotonicMs()))
  }

  #renewLater(): void {
    if (!this.#isRenewed) return
    this.#renewal = setTimeout(() => {
      this.#renewing = this.#renew()
    }, this.#leaseMs / 3)
  }

  async #renew(): Promise<void> {
    const sentAt = monotonicMs()
    try {
      const answer = await this.#guards.lock(this.#name, this.#owner, this.#leaseMs, false)
      if (this.#isOver) return
      if ('waitMs' in answer) return this.#lose('another run took it')
      this.#heldFrom(sentAt)
    } catch {
      // Tried again as long as there is time.
    }
    if (!this.#isOver) this.#renewLater()
  }

  /** The lease is over, as far as is known here. */
  async #ended(): Promise<void> {
    // Of a loop that was blocked the renewal is as late as this; perhaps nobody took the lock meanwhile.
    const until = this.#certainUntil
    if (monotonicMs() - until > blockedMs) await this.#renewing
    if (!this.#isOver && this.#certainUntil === until) this.#lose('it could not be renewed in time')
  }

  #lose(why: string): void {
    this.#stop()
    this.#lost.abort(new HubError('Aborted', `The lock ${this.#name} was lost: ${why}.`))
  }

  #stop(): void {
    this.#isOver = true
    clearTimeout(this.#renewal)
    clearTimeout(this.#watch)
  }
}
