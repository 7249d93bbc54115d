import type { Beat } from '../answers.ts'
import type { WorkerContext } from '../context.ts'

/** Follows whether the queue is paused, from beat to beat: asking with each claim would cost every call a command. */
export class Pause {
  readonly #context: WorkerContext
  #isPaused = false

  constructor(context: WorkerContext) {
    this.#context = context
  }

  onBeat({ pausedMs }: Beat): void {
    const { queue, events, workerId, fetch } = this.#context
    const wasPaused = this.#isPaused
    this.#isPaused = pausedMs !== undefined
    if (pausedMs !== undefined) {
      // With each beat of a pause: what ends a wait may overtake it.
      fetch.pause()
      if (!wasPaused) events.emit('queue:paused', { worker: workerId(), queue: queue.name, pausedMs })
    } else if (wasPaused) {
      fetch.resume()
      events.emit('queue:resumed', { worker: workerId(), queue: queue.name })
    }
  }
}
