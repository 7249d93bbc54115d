import { monotonicMs } from './clock.ts'

/** A length of the list is believed this long; then the next push looks again. */
const believedMs = 50
/** After this long without a reply nothing is known of the rate any more. */
const rateMemoryMs = 10_000
/** What each reply leaves of the older ones' weight. They come at the rate that is measured: some twenty follow a change. */
const decay = 0.9
/**
 * What was seen of a list is taken to hold for one this many times as long, and no further: a reply that waited 50 ms behind
 * nobody, because a process was busy, says nothing about a thousand that wait.
 */
const reachFactor = 4
/**
 * A place takes as long as a run divided by the slots. When much more than that is measured, and a little for the rest of the
 * work, then nothing was served meanwhile, because Redis or the workers were away, and that is over. When less is, then
 * requests were dropped whose time was up: to count those as served would let in more of them, again and again.
 */
const mostFactor = 2
const leastFactor = 0.9
const overheadMs = 0.1

/**
 * How long a request pushed now would wait in its queue. Every reply tells how long its request waited on Redis' clock, and
 * its push told how many were ahead of it: their quotient is the time that one place in the list takes, with all workers and
 * all callers in it. Where it errs it errs to the short side, so that nothing is refused that could have been served.
 */
export class Forecast {
  /** Of all live workers: so many requests are taken at once when nothing waits. */
  slots = 1
  #waitedMs = 0
  #places = 0
  #busyMs = 0
  #replies = 0
  /** The longest list that the last replies had before them. */
  #reach = 0
  #sampledAt = Number.NEGATIVE_INFINITY
  #length = 0
  #seenAt = Number.NEGATIVE_INFINITY

  /** A request with `ahead` others before it waited this long, and then kept a slot busy. */
  learn(ahead: number, waitedMs: number, busyMs: number): void {
    const now = monotonicMs()
    const kept = now - this.#sampledAt < rateMemoryMs ? decay : 0
    // Summed apart, so that one that waited behind many counts for more than one that found a slot idle.
    this.#waitedMs = this.#waitedMs * kept + waitedMs
    this.#places = this.#places * kept + ahead + 1
    this.#busyMs = this.#busyMs * kept + busyMs
    this.#replies = this.#replies * kept + 1
    this.#reach = Math.max(this.#reach * kept, ahead + 1)
    this.#sampledAt = now
  }

  /** A push left the list at this length. */
  see(length: number): void {
    this.#length = length
    this.#seenAt = monotonicMs()
  }

  /** About how many are in the list, when it was seen a moment ago; else undefined. */
  lengthAt(now: number): number | undefined {
    const ageMs = now - this.#seenAt
    const placeMs = this.#place(now)
    if (ageMs > believedMs || placeMs === 0) return undefined
    return Math.max(0, this.#length - ageMs / placeMs)
  }

  /** Milliseconds until a request behind `ahead` others is taken, as far as that is known; else 0. */
  waitMs(ahead: number, now: number = monotonicMs()): number {
    return Math.max(0, Math.min(ahead + 1 - this.slots, this.#reach * reachFactor)) * this.#place(now)
  }

  /** How many requests may be in the list for the last of them to wait no longer than this; Infinity when that is not known. */
  lengthWithin(patienceMs: number, now: number = monotonicMs()): number {
    const places = patienceMs / this.#place(now)
    return places < this.#reach * reachFactor ? this.slots + Math.floor(places) : Number.POSITIVE_INFINITY
  }

  /** Milliseconds; 0 when unknown. */
  #place(now: number): number {
    if (now - this.#sampledAt >= rateMemoryMs) return 0
    const runMs = this.#busyMs / this.#replies / this.slots
    const placeMs = Math.max(this.#waitedMs / this.#places, leastFactor * runMs)
    return Math.min(placeMs, mostFactor * runMs + overheadMs)
  }
}
