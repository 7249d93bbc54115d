import { monotonicMs } from './clock.ts'
import { isHeldJob } from './message.ts'

/**
 * What a worker holds: which requests it knows of, and how many of its slots run one. A request is known from its claim
 * until Redis confirmed its release, which is longer than it runs; whatever Redis says we hold and is not known here was
 * claimed by an answer that got lost.
 */
export class Slots {
  readonly size: number
  readonly #jobSlots: number
  readonly #known = new Set<string>()
  readonly #busy = new Set<string>()
  #busyJobs = 0
  #usedMs = 0
  #accountedAt = monotonicMs()

  /** `jobSlots`: the most that run jobs at once. */
  constructor(size: number, jobSlots: number) {
    this.size = size
    this.#jobSlots = jobSlots
  }

  get idle(): number {
    return this.size - this.#busy.size
  }

  /** Idle slots less those whose last request is not confirmed as released. */
  get released(): number {
    return this.size - this.#known.size
  }

  /** How many more jobs may run, as far as slots are idle. */
  get jobRoom(): number {
    return Math.min(this.#jobSlots - this.#busyJobs, this.idle)
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

  /** False when the request is known already: it must not run twice. */
  take(id: string): boolean {
    if (this.#known.has(id)) return false
    this.usedMs()
    this.#known.add(id)
    this.#busy.add(id)
    if (isHeldJob(id)) this.#busyJobs++
    return true
  }

  /** Known, but running nowhere here: it was taken over from a lost worker. False when it is known already. */
  know(id: string): boolean {
    if (this.#known.has(id)) return false
    this.#known.add(id)
    return true
  }

  knownIds(): string[] {
    return [...this.#known]
  }

  /** These ended; their slots can be given to others as soon as their release is on the way. */
  free(ids: string[]): void {
    this.usedMs()
    for (const id of ids) if (this.#busy.delete(id) && isHeldJob(id)) this.#busyJobs--
  }

  /** Redis confirmed that it is not held any more. */
  forget(ids: string[]): void {
    for (const id of ids) this.#known.delete(id)
  }

  /** After the identity changed: nothing of before counts. */
  reset(): void {
    this.usedMs()
    this.#known.clear()
    this.#busy.clear()
    this.#busyJobs = 0
  }
}
