import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'

/** How often the loop is looked at; shorter delays are not seen, and each look wakes a processor. */
const resolutionMs = 20

/** How late this process' event loop is with its timers. Costs nothing until somebody asks for the first time. */
export class LoopDelay {
  #histogram: IntervalHistogram | undefined

  /** Milliseconds since the last time it was asked; zeros the first time. */
  take(): { mean: number; max: number } {
    if (!this.#histogram) {
      this.#histogram = monitorEventLoopDelay({ resolution: resolutionMs })
      this.#histogram.enable()
    }
    const { count, mean, max } = this.#histogram
    this.#histogram.reset()
    // It measures from look to look, the pause between them included.
    const delay = (ns: number) => Math.max(0, ns / 1e6 - resolutionMs)
    return count > 0 ? { mean: delay(mean), max: delay(max) } : { mean: 0, max: 0 }
  }

  stop(): void {
    this.#histogram?.disable()
  }
}
