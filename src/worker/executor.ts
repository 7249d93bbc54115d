import type { Pulse } from '../figures/pulse.ts'
import type { RunSpan } from '../outlets/tracing.ts'
import type { Handler, NestedOptions, Task, TaskContext, TaskLog } from '../task/task.ts'
import { monotonicMs } from '../wire/clock.ts'
import { Deadlines, type Timed } from '../wire/deadlines.ts'
import type { HubError, ToldError } from '../wire/errors.ts'
import { Abandoned, failureOf } from '../wire/failures.ts'
import type { Request, TraceContext } from '../wire/message.ts'
import { encodeFitting, exceeds, invalid } from '../wire/payload.ts'
import type { Handlers } from './handlers.ts'

/** How a request ended in this worker. `result` is JSON already. */
export type Outcome =
  | { ok: true; result: string }
  /** `thrown` stays in this process, for its log. */
  | { ok: false; error: ToldError; thrown: unknown }

export interface Execution {
  outcome: Outcome
  /** Milliseconds from the claim's arrival to the handler's start. */
  queueMs: number
  execMs: number
  /** Somebody gave it up while it ran. */
  wasAborted: boolean
}

/** What the executor needs from outside; it knows neither Redis nor the registry. */
export interface ExecutorOptions {
  tasks: ReadonlyMap<string, Task>
  handlers: Handlers
  /** Is told what runs; its tasks are these, in this order. */
  pulse: Pulse
  maxPayloadBytes: number
  log(task: string, id: string): TaskLog
  /** Starts the span of a run that waited here for `queueMs`. */
  startSpan?: ((request: Request, queueMs: number) => RunSpan | undefined) | undefined
  /** Makes a nested call that inherits deadline and trace. */
  nestedCall(outer: TraceContext, task: string, args: unknown, options: NestedOptions): Promise<unknown>
}

/** What a request holds beside its arguments, at the most. */
const maxEnvelopeBytes = 2048
/** After its deadline a handler that ignores its signal is waited for this long; then its slot is given to others. */
export const abandonAfterMs = 1000

/** Runs one request to one outcome: checks the arguments, awaits the handler within its time, checks the result. */
export class Executor {
  readonly #options: ExecutorOptions
  readonly #tasks: ReadonlyMap<string, { task: Task; place: number }>
  readonly #deadlines = new Deadlines()
  readonly #running = new Map<string, Run>()

  constructor(options: ExecutorOptions) {
    this.#options = options
    this.#tasks = new Map([...options.tasks].map(([name, task], place) => [name, { task, place }]))
  }

  has(task: string): boolean {
    return this.#tasks.has(task)
  }

  /**
   * Runs a request that came from a claim at `receivedAt` with `remainingMs` left. `onEnd` is called once; before this returns
   * if the handler is done by then, because a lone call notices each promise on its way. Returns false when its time is up,
   * perhaps because another handler of the same claim blocked the loop until now: then it was not started.
   */
  start(request: Request, receivedAt: number, remainingMs: number, onEnd: (execution: Execution) => void): boolean {
    const { task, place } = this.#tasks.get(request.task)!
    const started = monotonicMs()
    if (started >= receivedAt + remainingMs) return false
    const span = this.#options.startSpan?.(request, started - receivedAt)
    const run = new Run(request, receivedAt + remainingMs, this.#options, span)
    this.#running.set(request.heldId, run)
    if (remainingMs !== Number.POSITIVE_INFINITY) this.#deadlines.add(run)
    this.#begin(task, place, run, outcome => {
      this.#running.delete(request.heldId)
      this.#deadlines.delete(run)
      run.finish()
      span?.end(outcome)
      onEnd({ outcome, queueMs: started - receivedAt, execMs: monotonicMs() - started, wasAborted: run.wasAborted })
    })
    return true
  }

  /** Fires the handler's signal; unknown ids are ignored. */
  abort(id: string, reason: HubError): void {
    this.#running.get(id)?.abort(reason)
  }

  /** Ends everything that still runs, as far as anybody waits for it: each execution resolves at once. */
  abandonAll(reason: HubError): number {
    const count = this.#running.size
    for (const run of this.#running.values()) {
      // In this order: what a handler returns because its signal fired must not pass for a result.
      run.abandon(reason)
      run.abort(reason)
    }
    return count
  }

  stop(): void {
    this.#deadlines.stop()
  }

  #begin(task: Task, place: number, run: Run, onOutcome: (outcome: Outcome) => void): void {
    const { pulse } = this.#options
    pulse.begin(place)
    const outcome = this.#inside(place, () => {
      this.#checkArgs(task, run.request)
      const value = run.start(this.#options.handlers.of(task))
      if (!isThenable(value)) return this.#outcomeOf(task, value, run.request)
      run.settled(value).then(
        result => {
          const outcome = this.#inside(place, () => this.#outcomeOf(task, result, run.request))
          pulse.end(place)
          onOutcome(outcome)
        },
        thrown => {
          // A handler that was given up can still block the loop.
          if (thrown instanceof Abandoned) void Promise.allSettled([value]).then(() => pulse.end(place))
          else pulse.end(place)
          onOutcome(failed(thrown))
        },
      )
      return undefined
    })
    if (!outcome) return
    pulse.end(place)
    onOutcome(outcome)
  }

  /** Runs what may run a handler's code: from here to its end that task alone can block the loop. */
  #inside<T>(place: number, act: () => T): T | Outcome {
    const { pulse } = this.#options
    pulse.enter(place)
    try {
      return act()
    } catch (thrown) {
      return failed(thrown)
    } finally {
      pulse.leave()
    }
  }

  #outcomeOf(task: Task, value: unknown, request: Request): Outcome {
    return { ok: true, result: this.#encodeResult(task, value, request) }
  }

  /** Throws why the handler is not started. A caller in another language may not have looked at the schema or the limit. */
  #checkArgs(task: Task, { task: name, id, args, text, job, then }: Request): void {
    const { maxPayloadBytes } = this.#options
    const isLong = exceeds(text, maxPayloadBytes + maxEnvelopeBytes)
    // A job carries its failures and the steps that follow it, too.
    if (isLong && ((!job && then === undefined) || exceeds(JSON.stringify(args), maxPayloadBytes)))
      throw new Abandoned('PayloadTooLarge', `The arguments of ${name} are larger than ${maxPayloadBytes} bytes.`)
    const problems = task.checkArgs?.(args, text.length)
    if (problems?.length) throw refused('InvalidArgs', problems, { task: name, id })
  }

  #encodeResult(task: Task, value: unknown, { task: name, id }: Request): string {
    const { maxPayloadBytes } = this.#options
    const details = { task: name, id }
    const encoded = encodeFitting(value === undefined ? null : value, maxPayloadBytes, task.checkResult)
    if (typeof encoded === 'string') return encoded
    if (encoded) throw refused('InvalidResult', encoded, details)
    throw new Abandoned('InvalidResult', `The result of ${name} is larger than ${maxPayloadBytes} bytes.`, details)
  }
}

const refused: typeof invalid = (code, problems, details) => {
  const { message, data } = invalid(code, problems, details)
  return new Abandoned(code, message, { ...details, data })
}

const failed = (thrown: unknown): Outcome => ({ ok: false, error: failureOf(thrown), thrown })

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/** One running request: the context its handler sees, and its deadline. The signal is only made when it is asked for. */
class Run implements TaskContext, Timed {
  readonly request: Request
  readonly deadline: number
  readonly #options: ExecutorOptions
  readonly #span: RunSpan | undefined
  #expired: HubError | undefined
  #controller: AbortController | undefined
  #reason: HubError | undefined
  #giveUp: ((reason: Error) => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #log: TaskLog | undefined

  constructor(request: Request, deadline: number, options: ExecutorOptions, span: RunSpan | undefined) {
    this.request = request
    this.deadline = deadline
    this.#options = options
    this.#span = span
  }

  /** Calls the handler, inside its span if there is one. */
  start(handler: Handler): unknown {
    const { args } = this.request
    return this.#span ? this.#span.around(() => handler(args, this)) : handler(args, this)
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
    return (this.request.job?.tries ?? 0) + 1
  }
  get wasAborted(): boolean {
    return this.#reason?.code === 'Aborted'
  }
  get log(): TaskLog {
    this.#log ??= this.#options.log(this.request.task, this.request.id)
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

  call(task: string, args?: unknown, options: NestedOptions = {}): Promise<unknown> {
    const remaining = this.remainingMs()
    const timeoutMs = Math.min(options.timeoutMs ?? Number.POSITIVE_INFINITY, remaining)
    const signal = options.signal ? AbortSignal.any([options.signal, this.signal]) : this.signal
    const narrowed = { signal, queue: options.queue, ...(timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs }) }
    const call = this.#options.nestedCall(this.#span?.trace ?? this.request, task, args, narrowed)
    // Node 20 collects a timeout signal that only AbortSignal.any knows, and then it never fires; this holds it.
    return options.signal ? call.finally(() => options.signal) : call
  }

  /** The deadline has come: the signal fires, and a handler that does not react is given up a little later. */
  expire(): void {
    const timeout = new Abandoned('Timeout', `${this.task} did not finish before its deadline.`)
    this.#expired = timeout
    this.abort(timeout)
    this.#timer = setTimeout(() => this.abandon(timeout), abandonAfterMs)
  }

  abort(reason: HubError): void {
    this.#reason ??= reason
    this.#controller?.abort(this.#reason)
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

  /** Ends the timer of a handler that was given up, or that reacted to its signal after all. */
  finish(): void {
    clearTimeout(this.#timer)
  }
}
