import { monotonicMs } from './clock.ts'

/** Room that one running request takes. Counted by this token and not by the request's id, which may come twice. */
export interface Slot {
  readonly isJob: boolean
}

/**
 * What a worker holds: which requests it knows of, and how many of its slots run one. A request is known from its claim
 * until Redis confirmed its release, which is longer than it runs; whatever Redis says we hold and is not known here was
 * claimed by an answer that got lost, or released by one that a failover took back.
 */
export class Slots {
  readonly size: number
  readonly #jobSlots: number
  readonly #known = new Set<string>()
  readonly #busy = new Set<Slot>()
  readonly #released = new RecentIds()
  #busyJobs = 0
  #usedMs = 0
  #accountedAt = monotonicMs()

  /** `jobSlots`: the most that run jobs at once. */
  constructor(size: number, jobSlots: number) {
    this.size = size
    this.#jobSlots = jobSlots
  }

  /**
   * How many requests may be claimed: one for each idle slot, unless three times as many as there are slots are held. That is
   * what a busy worker comes to: what runs, what is answered, and what is on its way to be released. Beyond that Redis refuses
   * releases, or does not answer, and what this worker holds must not grow without an end.
   */
  get idle(): number {
    return Math.min(this.size - this.#busy.size, 3 * this.size - this.#known.size)
  }

  /** How many more jobs may run, as far as slots are idle. */
  get jobRoom(): number {
    return Math.max(0, Math.min(this.#jobSlots - this.#busyJobs, this.idle))
  }

  /** Whether this worker takes jobs at all. */
  get takesJobs(): boolean {
    return this.#jobSlots > 0
  }

  get busy(): number {
    return this.#busy.size
  }

  /** The time for which slots were busy since the start, all slots together, milliseconds. */
  usedMs(): number {
    const now = monotonicMs()
    this.#usedMs += this.#busy.size * (now - this.#accountedAt)
    this.#accountedAt = now
    return this.#usedMs
  }

  knows(id: string): boolean {
    return this.#known.has(id)
  }

  /** Marks a request as known. False when it is already: it must not run twice. */
  know(id: string): boolean {
    if (this.#known.has(id)) return false
    this.#known.add(id)
    return true
  }

  knownIds(): string[] {
    return [...this.#known]
  }

  /** A request starts. */
  take(isJob: boolean): Slot {
    this.usedMs()
    const slot = { isJob }
    this.#busy.add(slot)
    if (isJob) this.#busyJobs++
    return slot
  }

  /** It ended; the slot can be given to another one at once. Repeating it is harmless. */
  free(slot: Slot): void {
    this.usedMs()
    if (this.#busy.delete(slot) && slot.isJob) this.#busyJobs--
  }

  /** Not held here any more: others have it. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#known.delete(id)
  }

  /** Redis confirmed that it is not held any more. */
  released(ids: readonly string[]): void {
    this.forget(ids)
    for (const id of ids) this.#released.add(id)
  }

  /** Whether this worker settled and released it a while ago: a replica that was promoted may not have heard of that. */
  wasReleased(id: string): boolean {
    return this.#released.has(id)
  }

  /** After the identity changed: nothing of before counts. */
  reset(): void {
    this.usedMs()
    this.#known.clear()
    this.#busy.clear()
    this.#busyJobs = 0
  }
}

/** A replica is seconds behind at most, unless its link is broken; then others would promote it after a minute or so. */
const rememberedMs = 60_000
/** Some 100 bytes each. */
const mostRemembered = 200_000

/** Ids of the last one to two minutes, or the last 200,000 to 400,000 if these are fewer. Nothing is forgotten while nothing comes. */
class RecentIds {
  #ids = new Set<string>()
  #before = new Set<string>()
  #since = monotonicMs()

  add(id: string): void {
    const now = monotonicMs()
    if (now - this.#since > rememberedMs || this.#ids.size >= mostRemembered) {
      this.#before = this.#ids
      this.#ids = new Set()
      this.#since = now
    }
    this.#ids.add(id)
  }

  has(id: string): boolean {
    return this.#ids.has(id) || this.#before.has(id)
  }
}
