import type { Beat } from '../../wire/answers.ts'
import { monotonicMs } from '../../wire/clock.ts'
import type { WorkerContext } from '../context.ts'

/** What is due later than this the beats tell of in time. */
const horizonMs = 2000

/**
 * Moves jobs whose time has come into their lists. One worker of a queue has the turn: its beats tell it when the first job is due, and it
 * sleeps until then. A job that is due before all others rings a bell; whoever hears that sleeps until then, too. That two do so does
 * no harm: what is not due stays, and what is moved is moved once.
 */
export class Due {
  readonly #context: WorkerContext
  #timer: NodeJS.Timeout | undefined
  /** When that fires, Redis milliseconds. */
  #wakesAt = Number.POSITIVE_INFINITY
  #underWay: Promise<void> | undefined
  /** The bell rang while a move was under way, whose answer may not know of it. */
  #mustRepeat = false
  #isStopped = false

  constructor(context: WorkerContext) {
    this.#context = context
  }

  onBeat({ dueMs }: Beat): void {
    if (dueMs !== undefined) this.#sleepUntil(dueMs)
  }

  /** The bell rang: a job is due before all others. */
  onBell(): void {
    this.#move()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#underWay
  }

  #sleepUntil(dueMs: number): void {
    const { clock } = this.#context
    const waitMs = dueMs - clock.atUs(monotonicMs()) / 1000
    if (this.#isStopped || waitMs > horizonMs || dueMs >= this.#wakesAt) return
    clearTimeout(this.#timer)
    this.#wakesAt = dueMs
    this.#timer = setTimeout(() => this.#move(), Math.max(0, Math.ceil(waitMs)))
  }

  #move(): void {
    clearTimeout(this.#timer)
    this.#wakesAt = Number.POSITIVE_INFINITY
    this.#mustRepeat = true
    this.#underWay ??= this.#moveAll().finally(() => {
      this.#underWay = undefined
    })
  }

  async #moveAll(): Promise<void> {
    const { jobQueue, commands, clock, problem } = this.#context
    try {
      while (this.#mustRepeat && !this.#isStopped) {
        this.#mustRepeat = false
        const { nowUs, count, dueMs } = await commands.send(client => jobQueue.moveDue(client))
        clock.learn(nowUs, monotonicMs())
        if (dueMs === undefined) continue
        if (count > 0 && dueMs * 1000 <= nowUs) this.#mustRepeat = true
        else if (!this.#mustRepeat) this.#sleepUntil(dueMs)
      }
    } catch (error) {
      // The next beat of whoever has the turn tells of it again.
      if ((error as Error).name === 'ReplyError') problem('due')(error as Error)
    }
  }
}
