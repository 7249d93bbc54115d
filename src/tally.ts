import type { Outcome } from './executor.ts'
import type { Measures } from './measures.ts'
import type { Request } from './message.ts'
import type { Phases } from './phases.ts'
import type { Events } from './telemetry.ts'

export interface TallyOptions {
  queueName: string
  measures: Measures
  events: Events
  /** Redis' time of a moment of this process, microseconds. */
  redisUs(now: number): number
}

/** A request that ran. */
interface Run {
  request: Request
  outcome: Outcome
  us: Phases
  /** When it ended, monotonic milliseconds. */
  now: number
}

/**
 * What nobody listens to is told together, so many runs or those of so many milliseconds: one by one the figures cost a lone call's
 * worker a sixth of its processor time, because nothing of what counts them is in the processor's caches then.
 */
const mostUntold = 64
const tellMs = 10

/** Figures and events of what ran. Always behind the replies of the same turn of the loop: somebody waits for those. */
export class Tally {
  readonly #options: TallyOptions
  #untold: Run[] = []
  #soon: NodeJS.Immediate | undefined
  #later: NodeJS.Timeout | undefined

  constructor(options: TallyOptions) {
    this.#options = options
  }

  add(run: Run): void {
    this.#untold.push(run)
    if (!run.outcome.ok || this.#isHeard || this.#untold.length >= mostUntold) {
      this.#soon ??= setImmediate(() => this.tell())
    } else this.#later ??= setTimeout(() => this.tell(), tellMs)
  }

  /** Tells what is left. */
  tell(): void {
    clearImmediate(this.#soon)
    clearTimeout(this.#later)
    this.#soon = undefined
    this.#later = undefined
    const { measures, events, queueName, redisUs } = this.#options
    const isHeard = this.#isHeard
    const runs = this.#untold
    this.#untold = []
    for (const { request, outcome, us, now } of runs) {
      measures.ran(request, outcome.ok ? undefined : outcome.error, us, now, redisUs)
      if (!isHeard) continue
      events.emit('task:settled', {
        task: request.task,
        queue: queueName,
        id: request.id,
        ok: outcome.ok,
        code: outcome.ok ? undefined : outcome.error.code,
        message: outcome.ok ? undefined : outcome.error.message,
        thrown: outcome.ok ? undefined : outcome.thrown,
        us,
      })
    }
  }

  get #isHeard(): boolean {
    return this.#options.events.has('task:settled')
  }
}
