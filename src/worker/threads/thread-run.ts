import { AsyncResource } from 'node:async_hooks'
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { Piscina } from 'piscina'
import type { Task, TaskContext } from '../../task/task.ts'
import { HubError, messageOf, TaskError } from '../../wire/errors.ts'
import { Abandoned } from '../../wire/failures.ts'
import { parseNumbers } from '../../wire/json/numbers.ts'
import { invalid } from '../../wire/payload.ts'
import { clearTimeout, setTimeout } from '../../wire/timers.ts'
import { drained } from '../answers/yielded.ts'
import { abandonAfterMs } from '../run.ts'
import { packError, unpackError } from './carried-error.ts'
import { type FromThread, sharedMs, type ThreadOutcome, type ThreadRequest, type ToThread } from './messages.ts'
import { ThreadSource } from './thread-source.ts'

/**
 * One run of a handler in a thread, seen from the main thread: waiting, then `in` the pool, then settled, once. It does for the
 * thread what that asks for, and ends a thread that goes on after its signal.
 */
export class ThreadRun {
  /** As the handler settles in its thread; rejects when the run is given up, or the thread dies. */
  readonly result: Promise<unknown>
  readonly #task: Task
  readonly #args: unknown
  readonly #context: TaskContext
  readonly #killing = new AbortController()
  readonly #calls = new Map<number, AbortController>()
  #settle!: (outcome: Promise<unknown>) => void
  #isSettled = false
  #hasBegun = false
  #port: MessagePort | undefined
  #timer: NodeJS.Timeout | undefined
  /** What its handler yields. */
  #source: ThreadSource | undefined
  /** Its thread is free again, or gone. */
  #isOver = false

  constructor(task: Task, args: unknown, context: TaskContext) {
    this.#task = task
    this.#args = args
    this.#context = context
    this.result = new Promise(resolve => {
      this.#settle = resolve
    })
    const { signal } = context
    if (signal.aborted) this.#onAbort()
    else signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  get isSettled(): boolean {
    return this.#isSettled
  }

  /** A thread has taken it. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Runs it in the next thread of the pool. Resolves when that is free again, or gone. */
  async in(pool: Piscina): Promise<void> {
    const { port1, port2 } = new MessageChannel()
    try {
      // Before the pool knows of it: what cannot be cloned concerns nobody else.
      port1.postMessage(this.#request())
    } catch (error) {
      port1.close()
      return this.fail(
        new TaskError(`The arguments of ${this.#task.name.full} cannot be sent to a thread: ${messageOf(error)}`),
      )
    }
    this.#port = port1
    port1.on('message', this.#heard)
    port1.unref()
    try {
      const { signal } = this.#killing
      const outcome: ThreadOutcome = await pool.run({ port: port2 }, { transferList: [port2], signal })
      this.#hearTheRest()
      this.#ended(Promise.resolve().then(() => this.#valueOf(outcome)))
    } catch (error) {
      this.#hearTheRest()
      this.#ended(Promise.reject(this.#deathOf(error)))
      for (const call of this.#calls.values()) call.abort()
    }
    this.#closeIfDone()
  }

  /** Ends it, with its thread if it has one. */
  fail(error: unknown): void {
    this.#end(Promise.reject(error))
    this.#killing.abort()
  }

  #request(): ThreadRequest {
    const { id, task, from, attempt, isJob, us, fence } = this.#context
    const deadline = sharedMs() + this.#context.remainingMs()
    return { module: this.#task.module!, id, task, from, attempt, isJob, us, fence, args: this.#args, deadline }
  }

  readonly #onAbort = (): void => {
    const reason: unknown = this.#context.signal.reason
    // The run's code is the reason's, as where the executor gives up a handler in the main thread.
    const given = reason instanceof HubError ? new Abandoned(reason.code, reason.message) : reason
    this.#tell({ is: 'aborted', reason: packError(reason) })
    if (this.#hasBegun) this.#killLater(given)
    else this.fail(given)
  }

  /** In the asynchronous context of its own handler, in which its span is: a run that waited is started by the end of another one. */
  readonly #heard = AsyncResource.bind((message: FromThread): void => {
    if (message.is === 'begun') this.#hasBegun = true
    else if (message.is === 'unfit') this.fail(new TaskError(message.reason))
    else if (message.is === 'log') this.#context.log[message.level](message.message, message.fields)
    else if (message.is === 'progress') this.#context.progress(message.progress)
    else if (message.is === 'yields') this.#drain()
    else if (message.is === 'chunk') this.#source?.put(parseNumbers(message.value, 'bigint'))
    else if (message.is === 'cancel') this.#calls.get(message.call)?.abort()
    else void this.#call(message)
  })

  async #call({ call, task, args, options }: Extract<FromThread, { is: 'call' }>): Promise<void> {
    const gaveUp = new AbortController()
    this.#calls.set(call, gaveUp)
    try {
      const given = args === undefined ? undefined : parseNumbers(args, 'bigint')
      const result = await this.#context.call(task, given, { ...options, signal: gaveUp.signal })
      this.#tell({ is: 'answer', call, result })
    } catch (error) {
      this.#tell({ is: 'failure', call, error: packError(error) })
    }
    this.#calls.delete(call)
    this.#closeIfDone()
  }

  /** Hands on what its handler yields, in the context of the run, whose end is then the end of that. */
  #drain(): void {
    const stop = () => {
      this.#tell({ is: 'stop' })
      this.#killLater(new TaskError(`${this.#task.name.full} did not stop.`))
    }
    const source = new ThreadSource(() => this.#tell({ is: 'more' }), stop)
    this.#source = source
    const drain = new Promise(resolve => resolve(drained(source, this.#context)))
    drain
      .catch(() => source.return())
      .then(() => {
        this.#end(drain)
        this.#closeIfDone()
      })
  }

  #killLater(reason: unknown): void {
    if (!this.#isOver) this.#timer ??= setTimeout(() => this.fail(reason), abandonAfterMs)
  }

  #tell(message: ToThread): void {
    this.#port?.postMessage(message)
  }

  /** What the thread said before its end may come behind the news of that. */
  #hearTheRest(): void {
    for (let next = receiveMessageOnPort(this.#port!); next; next = receiveMessageOnPort(this.#port!))
      this.#heard(next.message)
  }

  #valueOf(outcome: ThreadOutcome): unknown {
    if (outcome.is === 'error') throw unpackError(outcome.error)
    if (outcome.is === 'result')
      return outcome.result === undefined ? undefined : parseNumbers(outcome.result, 'bigint')
    const { task, id } = this.#context
    const { message, data } = invalid('InvalidResult', [outcome.problem], { task })
    throw new Abandoned('InvalidResult', message, { task, id, data })
  }

  /** By its own doing: process.exit, an exception that nothing caught, too little memory. */
  #deathOf(error: unknown): TaskError {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it ran out of memory' : messageOf(error)
    return new TaskError(`The thread that ran ${this.#task.name.full} died: ${why}`, { cause: error })
  }

  /** Its thread has settled it. */
  #ended(outcome: Promise<unknown>): void {
    this.#isOver = true
    outcome.catch(() => undefined)
    clearTimeout(this.#timer)
    if (this.#source) this.#source.end(outcome)
    else this.#end(outcome)
  }

  #end(outcome: Promise<unknown>): void {
    outcome.catch(() => undefined)
    if (this.#isSettled) return
    this.#isSettled = true
    this.#source?.end(outcome)
    this.#context.signal.removeEventListener('abort', this.#onAbort)
    this.#settle(outcome)
  }

  /** Calls that the handler did not await are answered all the same. */
  #closeIfDone(): void {
    if (this.#isOver && this.#isSettled && this.#calls.size === 0) this.#port?.close()
  }
}
