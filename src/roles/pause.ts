import type { Beat } from '../answers.ts'
import type { WorkerContext } from '../context.ts'

export type PauseContext = Pick<WorkerContext, 'queue' | 'events' | 'workerId' | 'hold' | 'goOn'>

/** Follows whether the queue is paused, from beat to beat: asking with each claim would cost every call a command. */
export class Pause {
  readonly #context: PauseContext
  #isPaused = false

  constructor(context: PauseContext) {
    this.#context = context
  }

  onBeat({ pausedMs }: Beat): void {
    const { queue, events, workerId, hold, goOn } = this.#context
    const wasPaused = this.#isPaused
    this.#isPaused = pausedMs !== undefined
    if (pausedMs !== undefined) {
      // With each beat of a pause: what ends a wait may overtake it.
      hold()
      if (!wasPaused) events.emit('queue:paused', { worker: workerId(), queue: queue.name, pausedMs })
    } else if (wasPaused) {
      goOn()
      events.emit('queue:resumed', { worker: workerId(), queue: queue.name })
    }
  }
}
