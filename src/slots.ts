import { monotonicMs } from './clock.ts'

/**
 * What a worker holds: which requests it knows of, and how many of its slots run one. A request is known from its claim
 * until Redis confirmed its release, which is longer than it runs; whatever Redis says we hold and is not known here was
 * claimed by an answer that got lost.
 */
export class Slots {
  readonly size: number
  readonly #known = new Set<string>()
  readonly #busy = new Set<string>()
  #usedMs = 0
  #accountedAt = monotonicMs()

  constructor(size: number) {
    this.size = size
  }

  get idle(): number {
    return this.size - this.#busy.size
  }

  /** Idle slots less those whose last request is not confirmed as released. */
  get released(): number {
    return this.size - this.#known.size
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
    for (const id of ids) this.#busy.delete(id)
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
  }
}
