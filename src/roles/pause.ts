import type { Beat } from '../answers.ts'
import type { Events } from '../telemetry.ts'

export interface PauseOptions {
  queueName: string
  events: Events
  workerId(): string
  /** Takes nothing from now on. Said with each beat of a pause. */
  hold(): void
  /** Takes requests again. */
  goOn(): void
}

/** Follows whether the queue is paused, from beat to beat: asking with each claim would cost every call a command. */
export class Pause {
  readonly #options: PauseOptions
  #isPaused = false

  constructor(options: PauseOptions) {
    this.#options = options
  }

  onBeat({ pausedMs }: Beat): void {
    const { queueName: queue, events, workerId, hold, goOn } = this.#options
    const wasPaused = this.#isPaused
    this.#isPaused = pausedMs !== undefined
    if (pausedMs !== undefined) {
      hold()
      if (!wasPaused) events.emit('queue:paused', { worker: workerId(), queue, pausedMs })
    } else if (wasPaused) {
      goOn()
      events.emit('queue:resumed', { worker: workerId(), queue })
    }
  }
}
