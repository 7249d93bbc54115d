import { isAmount, isCount, isObject } from '../wire/foreign.ts'
import { RecentHistogram } from './recent-histogram.ts'

/** Counts of a worker's jobs since its start, and their delays in the last minute. */
export interface JobFigures {
  /** Runs that ended, one per try. */
  ran: number
  /** Of these, those followed by a retry. */
  retried: number
  /** Dead jobs, including those taken over from lost workers. */
  dead: number
  /** Delayed: they could not run yet. */
  putOff: number
  /** Delay from due time to start, in milliseconds; undefined if none ran. */
  lateMs?: { p50: number; p99: number; max: number }
}

export class JobCounts {
  #ran = 0
  #retried = 0
  #dead = 0
  #putOff = 0
  readonly #late = new RecentHistogram()

  /** `lateUs`: from when it was due to its start. `now`: monotonic milliseconds. */
  ran(lateUs: number, now: number): void {
    this.#ran++
    this.#late.record(lateUs, now)
  }

  retried(): void {
    this.#retried++
  }

  died(): void {
    this.#dead++
  }

  putOff(): void {
    this.#putOff++
  }

  figures(now: number): JobFigures {
    const all = this.#late.lately(now)
    const counts = { ran: this.#ran, retried: this.#retried, dead: this.#dead, putOff: this.#putOff }
    if (all.count === 0) return counts
    const ms = (us: number | undefined) => Math.round((us ?? 0) / 100) / 10
    return { ...counts, lateMs: { p50: ms(all.quantile(0.5)), p99: ms(all.quantile(0.99)), max: ms(all.max) } }
  }
}

/** What a worker published of its jobs; undefined for what is none of that. */
export const readJobFigures = (value: unknown): JobFigures | undefined => {
  if (!isObject(value)) return undefined
  const count = (name: string) => (isCount(value[name]) ? (value[name] as number) : 0)
  const counts = { ran: count('ran'), retried: count('retried'), dead: count('dead'), putOff: count('putOff') }
  const { lateMs } = value
  if (!isObject(lateMs)) return counts
  const { p50, p99, max } = lateMs
  return isAmount(p50) && isAmount(p99) && isAmount(max) ? { ...counts, lateMs: { p50, p99, max } } : counts
}
