import { EventEmitter } from 'node:events'
import { monotonicMs, within } from './clock.ts'
import type { OpenWire, Wire } from './statsdwire.ts'

/** Wait before a wire that was lost is opened anew: doubles from the first to the second. */
const reopenFirstMs = 500
const reopenMostMs = 5000
/** An outage is over after so many texts, and so long, without an error: with UDP every other one seems to arrive. */
const calmSends = 20
const calmMs = 10_000
/** How long the last metrics may take to leave. */
const closeMs = 500

/**
 * The stream that hot-shots writes to: what it is given is sent or dropped, and never kept for long. A daemon that is
 * away costs one report per outage and one try to reach it now and then.
 */
export class Outlet extends EventEmitter {
  readonly #open: OpenWire
  readonly #report: (reason: string) => void
  #wire: Wire | undefined
  #notBefore = Number.NEGATIVE_INFINITY
  #reopenMs = reopenFirstMs
  #isOut = false
  #errorAt = 0
  #calm = 0
  #isClosed = false

  /** `report` is told once per outage why nothing arrives. */
  constructor(open: OpenWire, report: (reason: string) => void) {
    super()
    this.#open = open
    this.#report = report
  }

  /** As a stream's; `written` is called at once, because nobody shall wait for a daemon. */
  write(text: string, written: () => void): void {
    this.#wireNow()?.send(text, error => this.#onSent(error))
    written()
  }

  /** Part of a stream too; hot-shots calls it when it is closed, and close() does the rest. */
  destroy(): void {
    this.emit('close')
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const wire = this.#wire
    this.#wire = undefined
    if (!wire) return
    await within(wire.close(), closeMs)
    wire.destroy()
  }

  #wireNow(): Wire | undefined {
    if (this.#wire?.isStale) {
      void this.#wire.close()
      this.#wire = undefined
    }
    if (this.#wire || this.#isClosed || monotonicMs() < this.#notBefore) return this.#wire
    this.#wire = this.#open(
      error => this.#onLost(error),
      error => this.#onError(error),
    )
    return this.#wire
  }

  #onLost(error: Error): void {
    this.#wire = undefined
    this.#notBefore = monotonicMs() + this.#reopenMs
    this.#reopenMs = Math.min(reopenMostMs, this.#reopenMs * 2)
    this.#onError(error)
  }

  #onSent(error: Error | undefined): void {
    if (error) this.#onError(error)
    else if (this.#isOut && ++this.#calm >= calmSends && monotonicMs() - this.#errorAt >= calmMs) {
      this.#isOut = false
      this.#reopenMs = reopenFirstMs
    }
  }

  #onError(error: Error): void {
    this.#errorAt = monotonicMs()
    this.#calm = 0
    if (this.#isOut || this.#isClosed) return
    this.#isOut = true
    this.#report(error.message)
  }
}
