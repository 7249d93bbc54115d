import { monotonicMs } from './clock.ts'
import { clearTimeout, setTimeout } from './timers.ts'

export interface Timed {
  /** On the monotonic clock, milliseconds. */
  readonly deadline: number
  expire(): void
}

/** The shortest pause between two looks; what expires in between is that much late at most. */
const pauseMs = 5

/**
 * Ends many things in time with one timer. It sleeps until the earliest deadline it knew of and looks at all entries
 * then: since most are deleted long before, that is about one look per timeout, and adding costs no timer.
 */
export class Deadlines {
  readonly #entries = new Set<Timed>()
  #timer: NodeJS.Timeout | undefined
  #due: NodeJS.Immediate | undefined
  #nextLook = Number.POSITIVE_INFINITY

  get size(): number {
    return this.#entries.size
  }

  add(entry: Timed): void {
    this.#entries.add(entry)
    if (entry.deadline < this.#nextLook) this.#sleepUntil(entry.deadline)
  }

  delete(entry: Timed): void {
    this.#entries.delete(entry)
  }

  stop(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#due)
    this.#nextLook = Number.POSITIVE_INFINITY
  }

  #look(): void {
    const now = monotonicMs()
    let earliest = Number.POSITIVE_INFINITY
    for (const entry of this.#entries) {
      if (entry.deadline <= now) {
        this.#entries.delete(entry)
        entry.expire()
      } else if (entry.deadline < earliest) earliest = entry.deadline
    }
    this.stop()
    if (earliest < Number.POSITIVE_INFINITY) this.#sleepUntil(Math.max(earliest, now + pauseMs))
  }

  #sleepUntil(at: number): void {
    clearTimeout(this.#timer)
    this.#nextLook = at
    this.#timer = setTimeout(
      () => {
        // What came in time may lie unread in a socket: after a pause of the process timers run before anything is read.
        this.#due = setImmediate(() => this.#look())
      },
      // A timer can hold 24 days at most and fires at once above that.
      Math.min(Math.max(0, Math.ceil(at - monotonicMs())), 0x7fff_ffff),
    )
  }
}
