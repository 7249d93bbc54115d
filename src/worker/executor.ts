import type { Pulse } from '../figures/pulse.ts'
import type { RunLook } from '../figures/worker-look.ts'
import { isHeldJob } from '../jobs/held-job.ts'
import type { RunSpan } from '../outlets/tracing.ts'
import { givenTo, isDeclared, taskFor } from '../task/any-task.ts'
import type { RunArgs } from '../task/merged.ts'
import type { Task } from '../task/task.ts'
import { monotonicMs } from '../wire/clock.ts'
import { Deadlines } from '../wire/deadlines.ts'
import { type HubError, type WireError, whyKeyed } from '../wire/errors.ts'
import { Abandoned, failureOf, refused } from '../wire/failures.ts'
import { type Bigints, largeIn, rounded } from '../wire/json/numbers.ts'
import type { Request } from '../wire/message.ts'
import { encodeFitting, exceeds } from '../wire/payload.ts'
import { isThenable, isYielding } from '../wire/returned.ts'
import { WholeList } from './answers/whole-list.ts'
import { type Chunks, unread } from './answers/yielded.ts'
import type { Handlers } from './handlers.ts'
import { Run, type RunOptions } from './run.ts'

/** How a request ended in this worker. `result` is JSON already. */
export type Outcome =
  | { ok: true; result: string }
  /** `thrown` stays in this process, for its log. */
  | { ok: false; error: WireError; thrown: unknown }

export interface Execution {
  outcome: Outcome
  /** Milliseconds from the claim's arrival to the handler's start. */
  queueMs: number
  execMs: number
  /** Somebody gave it up while it ran. */
  wasAborted: boolean
  /** Of a stream: how many chunks it had. */
  chunks?: number | undefined
}

/** What the executor needs from outside; it knows neither Redis nor the registry. */
export interface ExecutorOptions extends RunOptions {
  tasks: ReadonlyMap<string, Task>
  handlers: Handlers
  /** Is told what runs; its tasks are these, in this order. */
  pulse: Pulse
  maxPayloadBytes: number
  bigint: Bigints
  /** Where a run's chunks go whose caller wants a stream, and gives it `encode`d; `signal` fires when it is to stop. */
  openStream(request: Request, hubId: string, signal: AbortSignal, encode: (value: unknown) => string): Chunks
  /** Starts the span of a run that waited here for `queueMs`. */
  startSpan?: ((request: Request, queueMs: number) => RunSpan | undefined) | undefined
}

/** What a request holds beside its arguments, at the most. */
const maxEnvelopeBytes = 2048

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
    return taskFor(this.#tasks, task) !== undefined
  }

  /**
   * Runs a request that came from a claim at `receivedAt` with `remainingMs` left. `onEnd` is called once; before this returns
   * if the handler is done by then, because a lone call notices each promise on its way. Returns false when its time is up,
   * perhaps because another handler of the same claim blocked the loop until now: then it was not started. `backlogUs`: how long it
   * waited in Redis.
   */
  start(
    request: Request,
    receivedAt: number,
    remainingMs: number,
    onEnd: (execution: Execution) => void,
    backlogUs = 0,
  ): boolean {
    const { task, place } = taskFor(this.#tasks, request.task)!
    const started = monotonicMs()
    if (started >= receivedAt + remainingMs) return false
    const span = this.#options.startSpan?.(request, started - receivedAt)
    const us = { backlog: Math.round(backlogUs), queue: Math.round((started - receivedAt) * 1000) }
    const run = new Run(request, receivedAt + remainingMs, us, this.#options, span, this.#chunksOf)
    this.#running.set(request.heldId, run)
    if (remainingMs !== Number.POSITIVE_INFINITY) this.#deadlines.add(run)
    this.#begin(task, place, run, outcome => {
      this.#running.delete(request.heldId)
      this.#options.handlers.forget(request.id)
      this.#deadlines.delete(run)
      run.finish()
      span?.end(outcome)
      const { wasAborted, chunks } = run
      onEnd({ outcome, queueMs: started - receivedAt, execMs: monotonicMs() - started, wasAborted, chunks })
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

  /** What runs, longest first. */
  look(now: number): RunLook[] {
    return [...this.#running.values()].map(run => run.look(now)).sort((a, b) => b.forMs - a.forMs)
  }

  stop(): void {
    this.#deadlines.stop()
  }

  #begin(task: Task, place: number, run: Run, onOutcome: (outcome: Outcome) => void): void {
    const { pulse } = this.#options
    pulse.begin(place)
    const outcome = this.#inside(place, task, run.request, () => {
      this.#checkArgs(task, run.request)
      const value = run.start(this.#options.handlers.of(task), givenTo(task, run.request))
      if (!isThenable(value)) return this.#outcomeOf(task, value, run)
      run.settled(value).then(
        result => {
          const outcome = this.#inside(place, task, run.request, () => this.#outcomeOf(task, result, run))
          pulse.end(place)
          onOutcome(outcome)
        },
        thrown => {
          // A handler that was given up can still block the loop.
          if (thrown instanceof Abandoned) void Promise.allSettled([value]).then(() => pulse.end(place))
          else pulse.end(place)
          onOutcome(this.#failed(thrown, task, run.request))
        },
      )
      return undefined
    })
    if (!outcome) return
    pulse.end(place)
    onOutcome(outcome)
  }

  /** Runs what may run a handler's code: from here to its end that task alone can block the loop. */
  #inside<T>(place: number, task: Task, request: Request, act: () => T): T | Outcome {
    const { pulse } = this.#options
    pulse.enter(place)
    try {
      return act()
    } catch (thrown) {
      return this.#failed(thrown, task, request)
    } finally {
      pulse.leave()
    }
  }

  #failed(thrown: unknown, task: Task, { id }: Request): Outcome {
    return { ok: false, error: failureOf(thrown, this.#options.handlers.wasReached(task, id)), thrown }
  }

  #outcomeOf(task: Task, value: unknown, { request, chunks }: Run): Outcome {
    // Its chunks were its result: there is nothing that a schema could say of it.
    if (chunks !== undefined && value === undefined) return { ok: true, result: 'null' }
    return { ok: true, result: this.#encodeResult(task, value, request) }
  }

  readonly #chunksOf = (run: Run): Chunks => {
    const { maxPayloadBytes, openStream } = this.#options
    const { request, task, id } = run
    const { checkChunk } = taskFor(this.#tasks, task)!.task
    const encode = (value: unknown) => {
      const encoded = encodeFitting(value === undefined ? null : value, maxPayloadBytes, checkChunk)
      if (typeof encoded === 'string') return encoded
      if (encoded) throw refused('InvalidResult', encoded, { task, id })
      throw new Abandoned('InvalidResult', `A chunk of ${task} is larger than ${maxPayloadBytes} bytes.`, { task, id })
    }
    if (request.asked?.window && request.hubId !== undefined)
      return openStream(request, request.hubId, run.signal, encode)
    return new WholeList(encode, maxPayloadBytes, () => tooLarge(task, maxPayloadBytes, id))
  }

  /** Throws why the handler is not started. A caller in another language may not have looked at the schema or the limit. */
  #checkArgs(task: Task, request: Request): void {
    const { task: name, id, heldId, argsBeside, text: message, job, then } = request
    const text = argsBeside ?? message
    const args = request.hasLarge ? this.#rounded(task, request) : request.args
    if (task.keyed && !isHeldJob(heldId)) throw new Abandoned('InvalidArgs', whyKeyed(name))
    if (task.keyed === 'merged') {
      if (job?.run) return
      // Enqueued before the task merged its jobs: nobody has looked at its payload.
      const [run] = job?.key === undefined ? [] : (args as RunArgs)
      const problems = run && task.checkArgs?.(run[1][0], text.length)
      if (problems?.length) throw refused('InvalidArgs', problems, { task: name, id })
      if (run) return
      throw new Abandoned('InvalidArgs', whyKeyed(name))
    }
    if (job?.run) throw new Abandoned('InvalidArgs', `${name} is no longer declared as merged, but these jobs were.`)
    const { maxPayloadBytes } = this.#options
    const isLong = exceeds(text, maxPayloadBytes + maxEnvelopeBytes)
    // A job carries its failures and the steps that follow it, too.
    if (isLong && ((!job && then === undefined) || exceeds(JSON.stringify(args), maxPayloadBytes)))
      throw new Abandoned('PayloadTooLarge', `The arguments of ${name} are larger than ${maxPayloadBytes} bytes.`)
    const problems = task.checkArgs?.(args, text.length)
    if (problems?.length) throw refused('InvalidArgs', problems, { task: name, id })
  }

  /** Arguments as a schema is to see them. Throws for what the handler cannot be given. */
  #rounded(task: Task, { task: name, id, args }: Request): unknown {
    const passesOn = this.#options.bigint === 'exact' || !isDeclared(task)
    const problem = passesOn ? undefined : largeIn(args)
    if (problem) throw refused('InvalidArgs', [problem], { task: name, id })
    return rounded(args)
  }

  #encodeResult(task: Task, value: unknown, { task: name, id }: Request): string {
    const { maxPayloadBytes } = this.#options
    const details = { task: name, id }
    if (isYielding(value)) throw unread(details)
    const encoded = encodeFitting(value === undefined ? null : value, maxPayloadBytes, task.checkResult)
    if (typeof encoded === 'string') return encoded
    if (encoded) throw refused('InvalidResult', encoded, details)
    throw tooLarge(name, maxPayloadBytes, id)
  }
}

const tooLarge = (task: string, maxBytes: number, id: string): Abandoned =>
  new Abandoned('InvalidResult', `The result of ${task} is larger than ${maxBytes} bytes.`, { task, id })
