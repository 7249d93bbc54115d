import { BusyShare } from './busyshare.ts'
import type { WorkerStats } from './cards.ts'
import type { MeasuredTexts } from './catalogue.ts'
import { monotonicMs } from './clock.ts'
import { LoopDelay, type LoopMs } from './loopdelay.ts'
import type { Request } from './message.ts'
import type { Phases } from './phases.ts'
import type { Slots } from './slots.ts'
import { SlowCalls, totalOf } from './slowcalls.ts'
import { TaskStats } from './taskstats.ts'

/** All that one worker measures of itself for others to read: what its tasks did, its slowest calls, its slots and its loop. */
export class Measures {
  readonly #slots: Slots
  readonly #tasks: TaskStats
  readonly #slow = new SlowCalls()
  readonly #loop = new LoopDelay()
  readonly #busy: BusyShare
  #mustRepeat = false

  constructor(slots: Slots) {
    const now = monotonicMs()
    this.#slots = slots
    this.#tasks = new TaskStats(now)
    this.#busy = new BusyShare(slots.size, now)
  }

  start(): void {
    this.#loop.start()
  }

  stop(): void {
    this.#loop.stop()
  }

  /** A call ended that ran. `code` is undefined when it ended well; `redisUs` gives Redis' time of a moment. */
  ran(request: Request, code: string | undefined, us: Phases, now: number, redisUs: (now: number) => number): void {
    const { task } = request
    this.#tasks.ran(task, code, us, now)
    if (!this.#slow.isSlow(task, us)) return
    const call = {
      id: request.id,
      at: redisUs(now),
      us,
      ...(code === undefined ? {} : { code }),
      ...(request.from === undefined ? {} : { from: request.from }),
      loopMs: this.#loop.longestMs(now - totalOf(us) / 1000, now),
    }
    this.#slow.keep(task, call, now)
  }

  /** A call was not started, because its time was up. */
  expired(task: string): void {
    this.#tasks.expired(task, monotonicMs())
  }

  stats(): Pick<WorkerStats, 'busyShare' | 'loopMs' | 'rssBytes'> {
    const busyShare = this.#busy.look(this.#slots.usedMs(), monotonicMs())
    return {
      busyShare: Math.round(busyShare * 1000) / 1000,
      loopMs: this.#loop.lately(),
      rssBytes: process.memoryUsage.rss(),
    }
  }

  /** How late the event loop was since this was asked last. */
  loopDelayMs(): Pick<LoopMs, 'mean' | 'max'> {
    return this.#loop.take()
  }

  /** What to publish; all of it when `isAll`, or when the last texts did not arrive. */
  texts(isAll: boolean): MeasuredTexts {
    const now = monotonicMs()
    const all = isAll || this.#mustRepeat
    this.#mustRepeat = false
    return {
      tasks: all || this.#tasks.isChanged ? this.#tasks.text(now) : undefined,
      slow: all || this.#slow.isChanged(now) ? this.#slow.text(now) : undefined,
    }
  }

  /** The last texts may not have arrived. */
  repeat(): void {
    this.#mustRepeat = true
  }
}
