/** Old samples go, so that neither drift nor a step of Redis' clock stays in the estimate. */
const memoryMs = 10_000
/** An answer that is later than this is none: the clock was set back. Connections do not wait so long. */
const stepMs = 2000
/** As far ahead of all the last answers: the clock was set forward. It drifts by microseconds in that time. */
const forwardMs = 250
const none = Number.NEGATIVE_INFINITY

/**
 * Redis' clock as this process knows it: from answers that tell the time at which they were given. They are read later than
 * that, so the estimate is behind by an answer's way, and the shortest of the last ways counts. It is never ahead: what is
 * judged late by it is late.
 */
export class RedisClock {
  /** Best offsets, Redis less monotonic time in milliseconds, of the present period and the one before. */
  #best = none
  #before = none
  #periodEnd = none
  #steppedAt = none

  /** When an answer last showed that Redis' clock was set forward, monotonic milliseconds. */
  get steppedAt(): number {
    return this.#steppedAt
  }

  /** An answer came at `nowMs` (monotonic) that Redis gave at `atUs`. */
  learn(atUs: number, nowMs: number): void {
    if (nowMs > this.#periodEnd) {
      this.#before = nowMs > this.#periodEnd + memoryMs ? none : this.#best
      this.#best = none
      this.#periodEnd = nowMs + memoryMs
    }
    const offset = atUs / 1000 - nowMs
    const known = Math.max(this.#best, this.#before)
    // Nothing but a step does that: an answer that is read late shows less, never more.
    if (known !== none && offset > known + forwardMs) this.#steppedAt = nowMs
    if (offset < known - stepMs) this.#best = this.#before = offset
    else this.#best = Math.max(this.#best, offset)
  }

  /** Redis microseconds at `nowMs` (monotonic), or a little less; 0 while nothing is known. */
  atUs(nowMs: number): number {
    const offset = Math.max(this.#best, this.#before)
    return offset === none || nowMs > this.#periodEnd + memoryMs ? 0 : Math.floor((nowMs + offset) * 1000)
  }
}
