import type { Beat } from '../wire/answers.ts'
import { monotonicMs } from '../wire/clock.ts'
import { clearTimeout, setTimeout } from '../wire/timers.ts'
import type { WorkerContext } from './context.ts'

/** What comes later than this the beats tell of in time. */
const horizonMs = 2000

/** When to do it next. */
export interface Next {
  /** Redis milliseconds; undefined where nobody knows of any. */
  atMs: number | undefined
  /** Not sooner than this from now on. */
  leastMs?: number
  /** There is more to do at once. */
  isMore?: boolean
}

/**
 * Does something when its time comes, and never twice at once. The beats of whoever has the turn tell of that time, the bell of what is
 * due that there may be an earlier one, and each doing of the one after it.
 */
export class Alarm {
  readonly #context: WorkerContext
  readonly #what: Parameters<WorkerContext['problem']>[0]
  readonly #act: () => Promise<Next>
  #timer: NodeJS.Timeout | undefined
  /** When that fires, Redis milliseconds. */
  #wakesAt = Number.POSITIVE_INFINITY
  #underWay: Promise<void> | undefined
  /** It rang while something was under way, whose answer may not know of it. */
  #mustRepeat = false
  #isStopped = false

  /** @param what names it in a problem that is told */
  constructor(context: WorkerContext, what: Parameters<WorkerContext['problem']>[0], act: () => Promise<Next>) {
    this.#context = context
    this.#what = what
    this.#act = act
  }

  /** @param atMs Redis milliseconds; what a sooner time is known for already changes nothing */
  sleepUntil(atMs: Beat['dueMs'], leastMs = 0): void {
    if (atMs === undefined || this.#isStopped || atMs >= this.#wakesAt) return
    const waitMs = Math.max(leastMs, atMs - this.#context.clock.atUs(monotonicMs()) / 1000)
    // Nor for what is no time: it is somebody else's.
    if (!(waitMs <= horizonMs)) return
    clearTimeout(this.#timer)
    this.#wakesAt = atMs
    this.#timer = setTimeout(() => this.ring(), Math.ceil(waitMs))
  }

  ring(): void {
    clearTimeout(this.#timer)
    this.#wakesAt = Number.POSITIVE_INFINITY
    this.#mustRepeat = true
    this.#underWay ??= this.#actAll().finally(() => {
      this.#underWay = undefined
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#underWay
  }

  async #actAll(): Promise<void> {
    try {
      while (this.#mustRepeat && !this.#isStopped) {
        this.#mustRepeat = false
        const { atMs, leastMs, isMore } = await this.#act()
        if (isMore) this.#mustRepeat = true
        else if (!this.#mustRepeat) this.sleepUntil(atMs, leastMs)
      }
    } catch (error) {
      // The next beat of whoever has the turn tells of it again.
      if ((error as Error).name === 'ReplyError') this.#context.problem(this.#what)(error as Error)
    }
  }
}
