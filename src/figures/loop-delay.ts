import { clocksAheadMs, monotonicMs } from '../wire/clock.ts'
import { RecentHistogram } from './recent-histogram.ts'

/** Delay of the event loop, in milliseconds. */
export interface LoopMs {
  mean: number
  p99: number
  max: number
}

/** What is shorter than this can be missed; a look costs some microseconds. Much shorter than the shortest lease. */
const everyMs = 20
/** From here on it is a stall, and remembered with its time. */
const stallMs = 10
const maxStalls = 256

/**
 * How late the event loop is: a timer that says by how much it is fired too late. Node's own monitorEventLoopDelay knows
 * the same of all time and not when it was, which is what a slow call is to be explained by.
 */
export class LoopDelay {
  readonly #now: () => number
  readonly #late = new RecentHistogram()
  /** The last ones. */
  readonly #stalls: { endedAt: number; lateMs: number }[] = []
  #stalledMs = 0
  /** Since it was asked last. */
  #fresh = { count: 0, sumMs: 0, maxMs: 0 }
  #tickAt = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(now: () => number = () => monotonicMs() - clocksAheadMs()) {
    this.#now = now
  }

  /** `onTick` is told with each tick how long it is since the one before. */
  start(onTick?: (silentMs: number) => void): void {
    this.#tickAt = this.#now()
    this.#timer ??= setInterval(() => {
      const silentMs = this.tick()
      onTick?.(silentMs)
    }, everyMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Called by the timer, which should have come `everyMs` after the last time. Returns how long it was. */
  tick(): number {
    const now = this.#now()
    const silentMs = now - this.#tickAt
    const lateMs = Math.max(0, silentMs - everyMs)
    this.#tickAt = now
    this.#late.record(lateMs * 1000, now)
    this.#fresh.count++
    this.#fresh.sumMs += lateMs
    this.#fresh.maxMs = Math.max(this.#fresh.maxMs, lateMs)
    if (lateMs >= stallMs) {
      this.#stalledMs += lateMs
      this.#stalls.push({ endedAt: now, lateMs })
    }
    if (this.#stalls.length > maxStalls) this.#stalls.shift()
    return silentMs
  }

  /** Of the last minute, milliseconds. */
  lately(): LoopMs {
    const all = this.#late.lately(this.#now())
    return {
      mean: rounded(all.count === 0 ? 0 : all.sum / all.count),
      p99: rounded(all.quantile(0.99) ?? 0),
      max: rounded(all.max),
    }
  }

  /** Since it was asked last, milliseconds. */
  take(): Pick<LoopMs, 'mean' | 'max'> {
    const { count, sumMs, maxMs } = this.#fresh
    this.#fresh = { count: 0, sumMs: 0, maxMs: 0 }
    return { mean: count === 0 ? 0 : sumMs / count, max: maxMs }
  }

  /** The longest stall that touched the time between two moments (monotonic), milliseconds; 0 when there was none to speak of. */
  longestMs(from: number, to: number): number {
    let longest = this.#tickAt + everyMs < to ? this.#presentMs() : 0
    for (const { endedAt, lateMs } of this.#stalls)
      if (endedAt > from && endedAt - lateMs < to && lateMs > longest) longest = lateMs
    return Math.round(longest)
  }

  /** Grows by as long as the loop stands still. Two looks tell how long it did between them, give or take a tick. */
  stalledMs(): number {
    return this.#stalledMs + this.#presentMs()
  }

  /** What blocks right now has not been seen by the timer yet. */
  #presentMs(): number {
    const lateMs = this.#now() - this.#tickAt - everyMs
    return lateMs >= stallMs ? lateMs : 0
  }
}

/** Milliseconds with one decimal, of microseconds. */
const rounded = (us: number): number => Math.round(us / 100) / 10
