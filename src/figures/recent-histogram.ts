import { Histogram } from './histogram.ts'

const sliceMs = 10_000
const sliceCount = 6

/** A histogram of the last minute, give or take ten seconds. */
export class RecentHistogram {
  /** The last slices of time, oldest first. */
  readonly #slices: { number: number; us: Histogram }[] = []

  /** `now`: monotonic milliseconds. */
  record(us: number, now: number): void {
    const number = Math.floor(now / sliceMs)
    if (this.#slices.at(-1)?.number !== number) this.#slices.push({ number, us: new Histogram() })
    if (this.#slices.length > sliceCount) this.#slices.shift()
    this.#slices.at(-1)!.us.record(us)
  }

  /** All that was recorded in the minute before `now`. */
  lately(now: number): Histogram {
    const oldest = Math.floor(now / sliceMs) - sliceCount + 1
    const all = new Histogram()
    for (const { number, us } of this.#slices) if (number >= oldest) all.add(us)
    return all
  }
}
