/** Old samples go, so that neither drift nor a step of Redis' clock stays in the estimate. */
const memoryMs = 10_000
const none = Number.NEGATIVE_INFINITY

/**
 * Redis' clock as this process knows it: from the answers of pushes, which tell the time at which they arrived there. The
 * answer comes later than that, so the estimate is behind by an answer's way at most, and the shortest of the last ways
 * counts. It is never ahead: what is judged late by it is late.
 */
export class RedisClock {
  /** Best offsets, Redis less monotonic time in milliseconds, of the present period and the one before. */
  #best = none
  #before = none
  #periodEnd = none

  /** An answer came at `nowMs` (monotonic) that Redis gave at `atUs`. */
  learn(atUs: number, nowMs: number): void {
    if (nowMs > this.#periodEnd) {
      this.#before = nowMs > this.#periodEnd + memoryMs ? none : this.#best
      this.#best = none
      this.#periodEnd = nowMs + memoryMs
    }
    this.#best = Math.max(this.#best, atUs / 1000 - nowMs)
  }

  /** Redis microseconds at `nowMs` (monotonic), or a little less; 0 while nothing is known. */
  atUs(nowMs: number): number {
    const offset = Math.max(this.#best, this.#before)
    return offset === none || nowMs > this.#periodEnd + memoryMs ? 0 : Math.floor((nowMs + offset) * 1000)
  }
}
