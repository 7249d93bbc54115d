import type { WorkerCounters, WorkerStats } from '../catalogue/cards.ts'
import type { MeasuredTexts } from '../catalogue/registrar.ts'
import type { Events } from '../figures/events.ts'
import { JobCounts } from '../figures/job-figures.ts'
import type { LoopDelay } from '../figures/loop-delay.ts'
import { RecentFailures } from '../figures/recent-failures.ts'
import { SlowCalls, totalOf } from '../figures/slow-calls.ts'
import { TaskStats } from '../figures/task-stats.ts'
import { isHeldJob } from '../jobs/held-job.ts'
import type { Beat } from '../wire/answers.ts'
import { monotonicMs } from '../wire/clock.ts'
import { type CallOutcome, isExpected, outcomeOf, type WireError } from '../wire/errors.ts'
import type { Request } from '../wire/message.ts'
import type { Phases } from '../wire/phases.ts'
import type { RedisClock } from '../wire/redis-clock.ts'
import { clearTimeout, setTimeout } from '../wire/timers.ts'
import type { Outcome } from './executor.ts'
import type { Slots } from './slots.ts'

export interface MeasuresOptions {
  queueName: string
  slots: Slots
  clock: Pick<RedisClock, 'atUs'>
  events: Events
  /** How the loop of this process is, whatever queue it works for. */
  loop: LoopDelay
}

/** A request that ran. */
export interface Ran {
  request: Request
  outcome: Outcome
  us: Phases
  /** When it ended, monotonic milliseconds. */
  now: number
}

/**
 * What nobody listens to is counted together, so many runs or those of so many milliseconds: one by one the figures cost a lone call's
 * worker a sixth of its processor time, because nothing of what counts them is in the processor's caches then.
 */
const mostUntold = 64
const tellMs = 10

/**
 * All that one worker measures of itself, for others to read and for who listens here: what its tasks did, its slowest calls, its
 * recent failures, its slots and its loop.
 */
export class Measures {
  readonly counters: WorkerCounters = { ok: 0, rejected: 0, failed: 0, expired: 0, malformed: 0, unserved: 0 }
  readonly loop: LoopDelay
  readonly jobs = new JobCounts()
  readonly #options: MeasuresOptions
  readonly #tasks = new TaskStats(monotonicMs())
  readonly #slow = new SlowCalls()
  readonly #failures = new RecentFailures()
  #untold: Ran[] = []
  #soon: NodeJS.Immediate | undefined
  #later: NodeJS.Timeout | undefined
  #mustRepeat = false

  constructor(options: MeasuresOptions) {
    this.#options = options
    this.loop = options.loop
  }

  /** Counts a request that ran, always behind the replies of the same turn of the loop: somebody waits for those. */
  ran(ran: Ran): void {
    const { ok } = ran.outcome
    this.counters[outcomeIn(ran)]++
    this.#untold.push(ran)
    if (!ok || this.#isHeard || this.#untold.length >= mostUntold) this.#soon ??= setImmediate(() => this.tell())
    else this.#later ??= setTimeout(() => this.tell(), tellMs)
  }

  /** Counts and tells what is left. */
  tell(): void {
    clearImmediate(this.#soon)
    clearTimeout(this.#later)
    this.#soon = undefined
    this.#later = undefined
    const isHeard = this.#isHeard
    const untold = this.#untold
    this.#untold = []
    for (const ran of untold) {
      this.#count(ran)
      if (isHeard) this.#emit(ran)
    }
    // The last first: of a backlog each one has waited for longer than the one before, and would be kept in its place.
    for (let at = untold.length - 1; at >= 0; at--) this.#keepSlow(untold[at]!)
  }

  /** A call was not started, because its time was up. */
  expired(request: Request, error: WireError): void {
    const now = monotonicMs()
    this.#tasks.expired(request.task, now, request.from)
    this.#keepFailure(request, error, 0, now)
  }

  /** Whether anybody here wants the queue's figures: a worker without listeners must not keep others from reporting. */
  get reportsQueue(): boolean {
    return this.#options.events.has('queue:measured')
  }

  /** Tells how the worker's process is and, if it is the one that reports the queue, how that is. */
  onBeat({ figures }: Beat, worker: string): void {
    const { queueName: queue, slots, events } = this.#options
    if (events.has('worker:beat'))
      events.emit('worker:beat', { worker, queue, slots: slots.size, busy: slots.busy, loopDelayMs: this.loop.take() })
    if (figures) events.emit('queue:measured', { queue, ...figures })
  }

  stats(): Pick<WorkerStats, 'busy' | 'counters' | 'busyShare' | 'loopMs' | 'rssBytes' | 'jobs'> {
    const { slots } = this.#options
    return {
      busy: slots.busy,
      counters: this.counters,
      busyShare: Math.round(slots.busyShare() * 1000) / 1000,
      loopMs: this.loop.lately(),
      rssBytes: process.memoryUsage.rss(),
      jobs: this.jobs.figures(monotonicMs()),
    }
  }

  /** What to publish; all of it when `isAll`, or when the last texts did not arrive. */
  texts(isAll: boolean, now = monotonicMs()): MeasuredTexts {
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

  get #isHeard(): boolean {
    return this.#options.events.has('task:settled')
  }

  #count({ request, outcome, us, now }: Ran): void {
    const { task } = request
    this.#tasks.ran(task, outcome.ok ? undefined : outcome.error, us, now, request.from, isHeldJob(request.heldId))
    // What handlers reject is no fault, and would leave no room for what is.
    if (!outcome.ok && !isExpected(outcome.error)) this.#keepFailure(request, outcome.error, us.exec, now)
  }

  #keepSlow({ request, outcome, us, now }: Ran): void {
    const { task } = request
    if (!this.#slow.isSlow(task, us)) return
    const code = outcome.ok ? undefined : outcome.error.code
    const call = {
      id: request.id,
      at: this.#options.clock.atUs(now),
      us,
      ...(code === undefined ? {} : { code }),
      ...(request.from === undefined ? {} : { from: request.from }),
      loopMs: this.loop.longestMs(now - totalOf(us) / 1000, now),
    }
    this.#slow.keep(task, call, now)
  }

  #emit({ request, outcome, us }: Ran): void {
    this.#options.events.emit('task:settled', {
      task: request.task,
      queue: this.#options.queueName,
      id: request.id,
      ok: outcome.ok,
      outcome: outcomeIn({ outcome }),
      code: outcome.ok ? undefined : outcome.error.code,
      message: outcome.ok ? undefined : outcome.error.message,
      thrown: outcome.ok ? undefined : outcome.thrown,
      us,
      keyUs: keyWaitOf(request),
      isJob: isHeldJob(request.heldId),
    })
  }

  #keepFailure({ id, task, from }: Request, { code, message }: WireError, execUs: number, now: number): void {
    const at = this.#options.clock.atUs(now)
    this.#failures.keep(task, { id, at, code, message, ...(from === undefined ? {} : { from }), execUs }, now)
  }
}

/** From when a job was due until its key was free. */
const keyWaitOf = ({ atUs, job }: Request): number | undefined =>
  job?.since === undefined || atUs === undefined ? undefined : Math.max(0, job.since - atUs)

const outcomeIn = ({ outcome }: Pick<Ran, 'outcome'>): CallOutcome => outcomeOf(outcome.ok ? undefined : outcome.error)
