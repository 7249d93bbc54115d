import type { Beat } from '../../wire/answers.ts'
import { monotonicMs } from '../../wire/clock.ts'
import { Alarm, type Next } from '../alarm.ts'
import type { WorkerContext } from '../context.ts'

/**
 * Moves jobs whose time has come into their lists. One worker of a queue has the turn: its beats tell it when the first job is due, and it
 * sleeps until then. A job that is due before all others rings a bell; whoever hears that sleeps until then, too. That two do so does
 * no harm: what is not due stays, and what is moved is moved once.
 */
export class Due {
  readonly #context: WorkerContext
  readonly #alarm: Alarm

  constructor(context: WorkerContext) {
    this.#context = context
    this.#alarm = new Alarm(context, 'due', () => this.#move())
  }

  onBeat({ dueMs }: Beat): void {
    this.#alarm.sleepUntil(dueMs)
  }

  /** The bell rang: a job is due before all others. */
  onBell(): void {
    this.#alarm.ring()
  }

  stop(): Promise<void> {
    return this.#alarm.stop()
  }

  async #move(): Promise<Next> {
    const { jobQueue, commands, clock } = this.#context
    const { nowUs, count, dueMs } = await commands.send(client => jobQueue.moveDue(client))
    clock.learn(nowUs, monotonicMs())
    return { atMs: dueMs, isMore: dueMs !== undefined && count > 0 && dueMs * 1000 <= nowUs }
  }
}
