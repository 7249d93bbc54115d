import { monotonicMs } from './clock.ts'

/** Faster runs pull the estimate ten times as hard as slower ones do. */
const down = 0.3
const up = 0.03
/** Without a run for this long a task counts as unknown: else one that was slow for a while would never run again. */
const memoryMs = 5000
const maxTasks = 10_000

interface RunTime {
  ms: number
  at: number
}

/**
 * How long a task runs at least, as far as its last runs tell: a low expectile (about the tenth part of the runs is faster),
 * one number per task. Low on purpose, because what it decides is that a request cannot finish any more.
 */
export class RunTimes {
  readonly #known = new Map<string, RunTime>()

  /** What the claim script is told, as of the last tell(): pairs of a task and its microseconds, longest first. */
  told: readonly (string | number)[] = []

  /** Tells of the tasks that run for `leastMs` or more, so many at the most. */
  tell(leastMs: number, count: number): void {
    this.told = this.longest(leastMs, count).flatMap(([task, ms]) => [task, Math.round(ms * 1000)])
  }

  /** Milliseconds; 0 for a task that is not told of. */
  toldMs(task: string): number {
    const place = this.told.indexOf(task)
    return place === -1 ? 0 : Number(this.told[place + 1]) / 1000
  }

  /** A run that succeeded. */
  note(task: string, ms: number): void {
    const at = monotonicMs()
    const known = this.#known.get(task)
    if (known && at - known.at < memoryMs) {
      known.ms += (ms < known.ms ? down : up) * (ms - known.ms)
      known.at = at
      return
    }
    if (this.#known.size >= maxTasks) this.#known.clear()
    this.#known.set(task, { ms, at })
  }

  /** Milliseconds; 0 for a task that did not run lately. */
  of(task: string, now: number = monotonicMs()): number {
    const known = this.#known.get(task)
    return known && now - known.at < memoryMs ? known.ms : 0
  }

  /** The tasks that run for `leastMs` or more, longest first. */
  longest(leastMs: number, count: number): [task: string, ms: number][] {
    return [...this.#known.keys()]
      .map(task => [task, this.of(task)] as [string, number])
      .filter(([, ms]) => ms >= leastMs)
      .sort(([, a], [, b]) => b - a)
      .slice(0, count)
  }
}
