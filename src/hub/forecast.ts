import { monotonicMs } from '../wire/clock.ts'

/** A length of the list is believed this long; then the next push looks again. */
const believedMs = 50
/** After this long without a reply nothing is known of the rate any more. */
const rateMemoryMs = 10_000
const rateMemoryRuns = 20
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
/** What was late is taken to have needed its time so often: nobody knows, and where nothing is answered a small step is lost time. */
const missFactor = 2
/** A call is rejected if its estimated wait exceeds this share of its time: the estimate is uncertain. */
const patience = 0.8
/**
 * The shortest interval; in runs, so that tasks of seconds have bursts of seconds; in places, so that chance fills no lone slot's list;
 * and as a part of what callers can wait, so that a pause is no overload to those who have time.
 */
export const leastIntervalMs = 100
export const intervalRuns = 5
export const intervalPart = 0.1
const intervalPlaces = 16
/** What loses this part of what is served goes by itself, for less is called than served; so many intervals are waited for it. */
const goingPart = 0.25
const goingIntervals = 10
/** When no push found the list empty for so long, then its first ones do not wait for a claim to arrive, but for a slot. */
const busyMs = 50
/** The target in slots: those that end together find the list filled for one more round of theirs, and one is left. */
export const targetSlots = 2
/** And in time, for tasks so short that what comes must wait for pushes and claims. */
export const targetMs = 10
/** Without a look for this long, or for an interval, nothing is known of the list any more. */
const lookMemoryMs = 1000

const never = Number.POSITIVE_INFINITY

/**
 * How long a list may be, by what a hub sees of it. Every reply tells how long its request waited on Redis' clock, and its
 * push told how many were ahead of it: their quotient is the time that one place in the list takes, with all workers and
 * all callers in it. Where that errs it errs to the short side, so that nothing is refused that could have been served.
 *
 * A list that is as long as deadlines allow serves no more than a short one, and everything in it waits long. So one that
 * stands is kept at its target, a little more than the slots take at once twice, until a push finds it all but empty. It
 * stands when every push of an interval found the target or more, while it was served and went down no faster than if hardly
 * less was called than served (RFC 8289 tells so with packets). A burst goes down faster, and passes.
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
  /** Nothing was answered yet, and what is known comes from what was late. */
  #isGuess = false
  /** Since when every push found something in the list. */
  #waitingSince = never
  /** Since when every push found the target or more; the interval that is looked at, and the most that was found in it. */
  #longSince = never
  #intervalFrom = never
  #longest = 0
  #isRisen = false
  #stands = false
  #stoodAt = Number.NEGATIVE_INFINITY
  /** About the longest time that calls had left when they were pushed. */
  #leftMs = 0

  /** A request with `ahead` others before it waited this long, and then kept a slot busy. */
  learn(ahead: number, waitedMs: number, busyMs: number): void {
    const now = monotonicMs()
    // It waited for a worker that stood still, which is none of its caller's doing: what came meanwhile may take its time to go.
    const stallMs = waitedMs - (ahead + 1) * this.#placeMs()
    if (this.#longSince !== never && stallMs > this.#intervalMs()) this.#isLong(this.#length, now)
    const kept = this.#isRateKnown(now) && !this.#isGuess ? decay : 0
    // Summed apart, so that one that waited behind many counts for more than one that found a slot idle.
    this.#waitedMs = this.#waitedMs * kept + waitedMs
    this.#places = this.#places * kept + ahead + 1
    this.#busyMs = this.#busyMs * kept + busyMs
    this.#replies = this.#replies * kept + 1
    this.#reach = Math.max(this.#reach * kept, ahead + 1)
    this.#sampledAt = now
    this.#isGuess = false
  }

  /**
   * A request with `ahead` others before it was not answered within `ms`. Where all of them are late, nothing else tells: it
   * waited and ran for so long at least, and all slots did what it did.
   */
  miss(ahead: number, ms: number): void {
    if (this.#isRateKnown(monotonicMs()) && !this.#isGuess) return
    const placeMs = (missFactor * ms) / (ahead + 1 + this.slots)
    this.learn(ahead, placeMs * (ahead + 1), placeMs * this.slots)
    this.#isGuess = true
  }

  /** A push found the list at this length, and left `added` more in it; the most patient of its calls had so much time left. */
  see(length: number, added: number, leftMs = 0): void {
    const now = monotonicMs()
    this.#leftMs = Math.max(leftMs, this.#leftMs * decay)
    if (this.#isForgotten(this.#seenAt, now)) {
      this.#waitingSince = this.#longSince = never
      this.#stands = false
    }
    this.#waitingSince = length === 0 ? never : Math.min(this.#waitingSince, now)
    // At the target all slots may end at once and leave half of it, never as little as this.
    this.#stands = this.#stands ? length > this.slots / 4 : this.#isStanding(length, now)
    if (this.#stands) this.#stoodAt = now
    this.#length = length + added
    this.#seenAt = now
  }

  /** Whether the list was long for an interval, in which something was served and it became no shorter to speak of. */
  #isStanding(length: number, now: number): boolean {
    const intervalMs = this.#intervalMs()
    const phaseMs = this.#isRisen ? intervalMs : intervalMs / 2
    this.#longest = Math.max(this.#longest, length)
    if (length < this.#target()) this.#longSince = never
    else if (this.#longSince === never) this.#isLong(length, now)
    else if (now - this.#intervalFrom >= phaseMs && this.#sampledAt >= this.#longSince) {
      const served = (now - this.#intervalFrom) / this.#placeMs()
      const isGoing = this.#longest - length > served * goingPart && now - this.#longSince < intervalMs * goingIntervals
      if (this.#isRisen && !isGoing) return true
      // The first look was at the beginning of a burst, perhaps: a list that became longer since may be going already.
      this.#isRisen = true
      this.#intervalFrom = now
      this.#longest = length
    }
    return false
  }

  #isLong(length: number, now: number): void {
    this.#longSince = this.#intervalFrom = now
    this.#isRisen = false
    this.#longest = length
  }

  /** About how many are in the list, when it was seen a moment ago; else undefined. */
  lengthAt(now: number): number | undefined {
    const ageMs = now - this.#seenAt
    const placeMs = this.#placeMs()
    if (ageMs > believedMs || placeMs === 0) return undefined
    return Math.max(0, this.#length - ageMs / placeMs)
  }

  /** Milliseconds until a request behind `ahead` others is taken, as far as that is known; else 0. */
  waitMs(ahead: number, now: number = monotonicMs()): number {
    if (!this.#isRateKnown(now)) return 0
    return Math.max(0, Math.min(ahead + 1 - this.#idle(now), this.#reach * reachFactor)) * this.#placeMs()
  }

  /**
   * How long a call with so much time left can wait, so that its task can still be run. Half of its time at most is kept
   * for the run: the mean of all tasks of a queue may be far from this one's.
   */
  patienceMs(leftMs: number, now: number = monotonicMs()): number {
    const runMs = this.#isRateKnown(now) ? this.#runMs() : 0
    return Math.max(0, leftMs - Math.min(runMs, leftMs / 2)) * patience
  }

  /** How many requests may be in the list for one more with so much time left; Infinity when nothing is known. */
  lengthWithin(leftMs: number, now: number = monotonicMs()): number {
    const most = this.#most(now)
    const places = this.patienceMs(leftMs, now) / this.#placeMs()
    if (!this.#isRateKnown(now) || places >= this.#reach * reachFactor) return most
    return Math.min(most, Math.max(1, this.#idle(now) + Math.floor(places)))
  }

  /** How long the list may be, whoever calls: no longer than its target while it stands. */
  #most(now: number): number {
    if (this.#stands && !this.#isForgotten(this.#seenAt, now)) return this.#target()
    if (this.#isForgotten(this.#stoodAt, now)) return Number.POSITIVE_INFINITY
    // Perhaps it was empty for a moment only, when a hub paused or a lot expired: it is not a first burst that may fill it.
    return 2 * this.#target()
  }

  /** Whether a look was so long ago that it tells nothing of the list any more. */
  #isForgotten(at: number, now: number): boolean {
    return now - at > Math.max(lookMemoryMs, this.#intervalMs())
  }

  #intervalMs(): number {
    if (this.#replies === 0) return rateMemoryMs
    const runsMs = this.#runMs() * Math.max(intervalRuns, intervalPlaces / this.slots)
    return Math.max(leastIntervalMs, runsMs, this.#leftMs * intervalPart)
  }

  /** The length with which no slot waits for work. */
  #target(): number {
    const inTime = this.#replies === 0 ? 0 : Math.floor(targetMs / this.#placeMs())
    return Math.max(targetSlots * this.slots + 1, inTime)
  }

  /** Slots that may take at once what is pushed: none when others wait for them, and not just for a claim to arrive. */
  #idle(now: number): number {
    return now - this.#waitingSince > busyMs ? 0 : this.slots
  }

  #isRateKnown(now: number): boolean {
    return now - this.#sampledAt < Math.max(rateMemoryMs, rateMemoryRuns * this.#runMs())
  }

  /** As it was last known, in milliseconds; 0 when nothing ever was. */
  #runMs(): number {
    return this.#replies === 0 ? 0 : this.#busyMs / this.#replies
  }

  /** As it was last known, in milliseconds; 0 when nothing ever was. */
  #placeMs(): number {
    if (this.#replies === 0) return 0
    const runMs = this.#runMs() / this.slots
    const placeMs = Math.max(this.#waitedMs / this.#places, leastFactor * runMs)
    return Math.min(placeMs, mostFactor * runMs + overheadMs)
  }
}
