import { AsyncResource } from 'node:async_hooks'
import type { RunLook } from '../figures/worker-look.ts'
import { isHeldJob } from '../jobs/held-job.ts'
import type { RunSpan } from '../outlets/tracing.ts'
import {
  type Called,
  calledName,
  type Declaration,
  type Given,
  type Handler,
  type NestedOptions,
  nestedOptionNames,
  type TaskContext,
  type TaskLog,
} from '../task/task.ts'
import { following, monotonicMs } from '../wire/clock.ts'
import type { Timed } from '../wire/deadlines.ts'
import type { HubError } from '../wire/errors.ts'
import { Abandoned } from '../wire/failures.ts'
import type { Request, TraceContext } from '../wire/message.ts'
import { refuseHubOptions } from '../wire/options.ts'
import type { Yielding } from '../wire/returned.ts'
import { checkProgress, type Progress } from '../wire/stream.ts'
import { clearTimeout, setTimeout } from '../wire/timers.ts'
import { type Chunks, type Draining, drained, drains, readAll } from './answers/yielded.ts'

/** After its deadline a handler that ignores its signal is waited for this long; then its slot is given to others. */
export const abandonAfterMs = 1000

/** What a run needs from outside. */
export interface RunOptions {
  log(task: string, id: string): TaskLog
  /** Makes a nested call that inherits deadline and trace. */
  nestedCall(outer: TraceContext, task: string, args: unknown, options: NestedOptions): Promise<unknown>
  /** Is told how far a run is. */
  onProgress(request: Request, progress: Progress): void
}

/** One running request: the context its handler sees, and its deadline. The signal is only made when it is asked for. */
export class Run implements TaskContext, Timed, Draining {
  readonly request: Request
  readonly deadline: number
  readonly us: TaskContext['us']
  readonly #options: RunOptions
  readonly #span: RunSpan | undefined
  #expired: HubError | undefined
  #controller: AbortController | undefined
  /** Its handler's, in which those who listen to its signal hear of the end, too. */
  #context: AsyncResource | undefined
  #reason: HubError | undefined
  #giveUp: ((reason: Error) => void) | undefined
  #timer: NodeJS.Timeout | undefined
  /** Its end was told. What a handler does that was given up concerns nobody any more. */
  #isOver = false
  #log: TaskLog | undefined
  readonly #chunksOf: (run: Run) => Chunks
  #chunks: Chunks | undefined
  readonly #startedAt = monotonicMs()
  /** What it did last that can be seen from here: promises have no stack that could be asked for. */
  #last: { what: string; at: number } | undefined

  constructor(
    request: Request,
    deadline: number,
    us: TaskContext['us'],
    options: RunOptions,
    span: RunSpan | undefined,
    chunksOf: (run: Run) => Chunks,
  ) {
    this.#chunksOf = chunksOf
    this.request = request
    this.deadline = deadline
    this.us = us
    this.#options = options
    this.#span = span
  }

  /** Calls the handler in a context of its own, inside its span if there is one. */
  start(handler: Handler, given: unknown): unknown {
    const begin = () => {
      this.#context = new AsyncResource('pshub.run')
      return this.#context.runInAsyncScope(() => drained(handler(given, this), this))
    }
    return this.#span ? this.#span.around(begin) : begin()
  }

  /** Of what its handler has yielded into a stream: how many; undefined where there is no stream. */
  get chunks(): number | undefined {
    return this.#chunks?.count
  }

  [drains](source: Yielding, signal: AbortSignal): Promise<unknown> {
    if (this.#isOver) return Promise.resolve()
    this.#chunks ??= this.#chunksOf(this)
    return readAll(source, signal, this.#chunks)
  }

  progress(given: Progress): void {
    const progress = checkProgress(given)
    const { done, total } = progress
    this.#note(`reported progress: ${done}${total === undefined ? '' : ` of ${total}`}`)
    if (!this.#isOver) this.#options.onProgress(this.request, progress)
  }

  get id(): string {
    return this.request.id
  }
  get task(): string {
    return this.request.task
  }
  get from(): string | undefined {
    return this.request.from
  }
  get attempt(): number {
    const { tries = 0, run = [] } = this.request.job ?? {}
    return Math.max(tries, ...run.map(key => key.tries)) + 1
  }
  get isJob(): boolean {
    return isHeldJob(this.request.heldId)
  }
  get fence(): number | undefined {
    return this.request.job?.fence
  }
  get wasAborted(): boolean {
    return this.#reason?.code === 'Aborted'
  }
  get log(): TaskLog {
    this.#log ??= this.#noting(this.#options.log(this.request.task, this.request.id))
    return this.#log
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  remainingMs(): number {
    return Math.max(0, this.deadline - monotonicMs())
  }

  call<A = unknown, R = unknown>(task: string | Declaration<A, R>, ...given: Given<A, NestedOptions>): Promise<R>
  async call(given: Called, args?: unknown, options: NestedOptions = {}): Promise<unknown> {
    const task = calledName(given)
    refuseHubOptions(`ctx.call ${task}`, options, nestedOptionNames)
    const remaining = this.remainingMs()
    const timeoutMs = Math.min(options.timeoutMs ?? Number.POSITIVE_INFINITY, remaining)
    const { controller, release } = following(options.signal, this.signal)
    const { signal } = controller
    const narrowed = { signal, queue: options.queue, ...(timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs }) }
    const call = this.#options.nestedCall(this.#span?.trace ?? this.request, task, args, narrowed)
    this.#note(`waits for its call of ${task}`)
    return call.finally(() => {
      release()
      this.#note(`continued after its call of ${task}`)
    })
  }

  look(now: number): RunLook {
    const { id, task, isJob, attempt } = this
    const last = this.#last && { what: this.#last.what, forMs: Math.round(now - this.#last.at) }
    return { task, id, isJob, attempt, forMs: Math.round(now - this.#startedAt), last }
  }

  #note(what: string): void {
    this.#last = { what, at: monotonicMs() }
  }

  #noting(log: TaskLog): TaskLog {
    const noted = (level: keyof TaskLog) => (message: string, fields?: Record<string, unknown>) => {
      this.#note(`logged: ${String(message).slice(0, 150)}`)
      log[level](message, fields)
    }
    return { debug: noted('debug'), info: noted('info'), warn: noted('warn'), error: noted('error') }
  }

  /** The deadline has come: the signal fires, and a handler that does not react is given up a little later. */
  expire(): void {
    const timeout = new Abandoned('Timeout', `${this.task} did not finish before its deadline.`)
    this.#expired = timeout
    this.abort(timeout)
    this.#timer = setTimeout(() => this.abandon(timeout), abandonAfterMs)
  }

  abort(reason: HubError): void {
    if (!this.#reason) this.#note(`was asked to stop: ${reason.message}`)
    this.#reason ??= reason
    const fire = () => this.#controller?.abort(this.#reason)
    if (this.#context) this.#context.runInAsyncScope(fire)
    else fire()
  }

  abandon(reason: HubError): void {
    this.#giveUp?.(this.#expired ?? new Abandoned(reason.code, reason.message))
  }

  /** As the handler settles, or rejects when the executor gives this run up. */
  settled(value: PromiseLike<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject
      value.then(resolve, reject)
    })
  }

  /** Its end is told. Ends the timer of a handler that was given up, or that reacted to its signal after all. */
  finish(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }
}
