import type { Beat } from '../answers.ts'
import type { Measures } from '../measures.ts'
import type { Slots } from '../slots.ts'
import type { Events } from '../telemetry.ts'

export interface ReportOptions {
  queueName: string
  slots: Slots
  events: Events
  measures: Measures
  workerId(): string
}

/** Tells with each beat how the worker's process is and, if it is the one that reports the queue, how that is. */
export class Report {
  readonly #options: ReportOptions

  constructor(options: ReportOptions) {
    this.#options = options
  }

  /** Whether anybody here wants the queue's figures: a worker without listeners must not keep others from reporting. */
  get isWanted(): boolean {
    return this.#options.events.has('queue:measured')
  }

  onBeat({ figures }: Beat): void {
    const { queueName: queue, slots, events, measures, workerId } = this.#options
    if (events.has('worker:beat')) {
      const loopDelayMs = measures.loopDelayMs()
      events.emit('worker:beat', { worker: workerId(), queue, slots: slots.size, busy: slots.busy, loopDelayMs })
    }
    if (figures) events.emit('queue:measured', { queue, ...figures })
  }
}
