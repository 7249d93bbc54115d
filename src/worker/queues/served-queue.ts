import type { MergedTask } from '../../queue/queue.ts'
import type { Place } from '../../redis/connection.ts'
import type { Beat, Claimed } from '../../wire/answers.ts'
import { clearTimeout, setTimeout } from '../../wire/timers.ts'
import type { WorkerContext } from '../context.ts'

/** One of the queues that a worker serves, as its claims see it. */
export class ServedQueue {
  readonly context: WorkerContext
  /** Where its claims go. */
  readonly place: Place
  /** Tasks that merge their jobs. */
  readonly merging: readonly MergedTask[]
  readonly #onAwake: () => void
  /** What the last claims left in its lists, and bells told of since. */
  callsWait = true
  jobsWait = false
  /** When the last claim was sent, monotonic milliseconds. */
  claimedAt = Number.NEGATIVE_INFINITY
  /** Claims in a row that brought no answer. */
  failures = 0
  #isPaused = false
  #rest: NodeJS.Timeout | undefined
  #jobsRest: NodeJS.Timeout | undefined
  #isStopped = false

  /** @param onAwake is called when it may be claimed from again, after a pause or a rest */
  constructor(context: WorkerContext, onAwake: () => void) {
    this.context = context
    this.place = context.commands.at(context.queue.keys.calls)
    this.merging = [...context.tasks]
      .filter(([, { keyed }]) => keyed === 'merged')
      .map(([task, { batch, maxPayloads }]) => ({ task, batch, maxPayloads }))
    this.#onAwake = onAwake
  }

  /** Whether it may be claimed from now. */
  get isAwake(): boolean {
    return !this.#isPaused && this.#rest === undefined
  }

  /** Whether its jobs may be claimed when it is. */
  get takesJobs(): boolean {
    return this.#jobsRest === undefined
  }

  /** Nothing is claimed from it for so long. */
  rest(ms: number): void {
    clearTimeout(this.#rest)
    if (this.#isStopped) return
    this.#rest = setTimeout(() => {
      this.#rest = undefined
      this.#onAwake()
    }, ms)
  }

  /** The same of its jobs, while its calls are taken. */
  restJobs(ms: number): void {
    clearTimeout(this.#jobsRest)
    if (this.#isStopped) return
    this.#jobsRest = setTimeout(() => {
      this.#jobsRest = undefined
      this.#onAwake()
    }, ms)
  }

  /** Ends a rest, and nobody is told; there are no further ones. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#rest)
    clearTimeout(this.#jobsRest)
  }

  learn({ left, jobsLeft }: Claimed, askedForJobs: boolean): void {
    this.failures = 0
    this.callsWait = left > 0
    if (askedForJobs) this.jobsWait = jobsLeft > 0
  }

  /** What bells tell: calls wait, or jobs. */
  hear(calls: boolean, jobs: boolean): void {
    this.callsWait ||= calls
    this.jobsWait ||= jobs
  }

  /** Something is due earlier than was known. */
  onDueBell(): void {
    this.context.due.onBell()
    this.context.tick.onBell()
  }

  /** Follows whether the queue is paused. Returns whether it is. */
  onBeat({ pausedMs }: Beat): boolean {
    const { queue, events, workerId } = this.context
    const wasPaused = this.#isPaused
    this.#isPaused = pausedMs !== undefined
    if (pausedMs !== undefined) {
      if (!wasPaused) events.emit('queue:paused', { worker: workerId(), queue: queue.name, pausedMs })
    } else if (wasPaused) {
      // Tokens of the bells may be gone, and what they announced still waits.
      this.hear(true, true)
      this.#onAwake()
      events.emit('queue:resumed', { worker: workerId(), queue: queue.name })
    }
    return this.#isPaused
  }
}
