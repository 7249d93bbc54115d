import { BusyShare } from './busyshare.ts'
import type { WorkerStats } from './cards.ts'
import { monotonicMs } from './clock.ts'
import type { ErrorCode } from './errors.ts'
import { LoopDelay, type LoopMs } from './loopdelay.ts'
import type { Request } from './message.ts'
import type { Phases } from './phases.ts'
import { RecentFailures } from './recentfailures.ts'
import type { MeasuredTexts } from './registrar.ts'
import type { Slots } from './slots.ts'
import { SlowCalls, totalOf } from './slowcalls.ts'
import { TaskStats } from './taskstats.ts'

/** What a caller was told of a call that did not end well. */
export interface ToldError {
  code: ErrorCode
  message: string
}

/**
 * All that one worker measures of itself for others to read: what its tasks did, its slowest calls, its recent failures, its
 * slots and its loop.
 */
export class Measures {
  readonly #slots: Slots
  readonly #tasks: TaskStats
  readonly #slow = new SlowCalls()
  readonly #failures = new RecentFailures()
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

  /** A call ended that ran. `error` is undefined when it ended well; `redisUs` gives Redis' time of a moment. */
  ran(request: Request, error: ToldError | undefined, us: Phases, now: number, redisUs: (now: number) => number): void {
    const { task } = request
    this.#tasks.ran(task, error?.code, us, now, request.from)
    if (error) this.#keepFailure(request, error, us.exec, now, redisUs)
    if (!this.#slow.isSlow(task, us)) return
    const call = {
      id: request.id,
      at: redisUs(now),
      us,
      ...(error === undefined ? {} : { code: error.code }),
      ...(request.from === undefined ? {} : { from: request.from }),
      loopMs: this.#loop.longestMs(now - totalOf(us) / 1000, now),
    }
    this.#slow.keep(task, call, now)
  }

  /** A call was not started, because its time was up. */
  expired(request: Request, message: string, redisUs: (now: number) => number): void {
    const now = monotonicMs()
    this.#tasks.expired(request.task, now, request.from)
    this.#keepFailure(request, { code: 'Expired', message }, 0, now, redisUs)
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
      failures: all || this.#failures.isChanged(now) ? this.#failures.text(now) : undefined,
    }
  }

  /** The last texts may not have arrived. */
  repeat(): void {
    this.#mustRepeat = true
  }

  #keepFailure(
    { id, task, from }: Request,
    { code, message }: ToldError,
    execUs: number,
    now: number,
    redisUs: (now: number) => number,
  ): void {
    const failure = { id, at: redisUs(now), code, message, ...(from === undefined ? {} : { from }), execUs }
    this.#failures.keep(task, failure, now)
  }
}
