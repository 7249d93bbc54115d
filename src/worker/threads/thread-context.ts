import { inspect } from 'node:util'
import type { MessagePort } from 'node:worker_threads'
import {
  type Called,
  calledName,
  type Declaration,
  type Given,
  type NestedOptions,
  nestedOptionNames,
  type TaskContext,
  type TaskLog,
} from '../../task/task.ts'
import { onAbort } from '../../wire/clock.ts'
import { PayloadProblem } from '../../wire/json/json-value.ts'
import { refuseHubOptions } from '../../wire/options.ts'
import { encodePayload, invalid } from '../../wire/payload.ts'
import { checkProgress, type Progress } from '../../wire/stream.ts'
import { unpackError } from './carried-error.ts'
import { type FromThread, sharedMs, type ThreadRequest, type ToThread } from './messages.ts'

/** The context that a handler sees in its thread: as in the main thread, which does what it asks for. */
export class ThreadContext implements TaskContext {
  readonly id: string
  readonly task: string
  readonly from: string | undefined
  readonly attempt: number
  readonly isJob: boolean
  readonly us: TaskContext['us']
  readonly fence: number | undefined
  readonly log: TaskLog
  readonly #deadline: number
  readonly #port: MessagePort
  readonly #controller = new AbortController()
  readonly #calls = new Map<number, PromiseWithResolvers>()
  #lastCall = 0

  constructor({ id, task, from, attempt, isJob, us, fence, deadline }: ThreadRequest, port: MessagePort) {
    this.id = id
    this.task = task
    this.from = from
    this.attempt = attempt
    this.isJob = isJob
    this.us = us
    this.fence = fence
    this.#deadline = deadline
    this.#port = port
    const line = (level: keyof TaskLog) => (message: string, fields?: Record<string, unknown>) =>
      this.#tell({ is: 'log', level, message: String(message), fields: fields && cloneable(fields) })
    this.log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  remainingMs(): number {
    return Math.max(0, this.#deadline - sharedMs())
  }

  call<A = unknown, R = unknown>(task: string | Declaration<A, R>, ...given: Given<A, NestedOptions>): Promise<R>
  async call(called: Called, args?: unknown, given: NestedOptions = {}): Promise<unknown> {
    const task = calledName(called)
    refuseHubOptions(`ctx.call ${task}`, given, nestedOptionNames)
    const { timeoutMs, queue, signal } = given
    const call = ++this.#lastCall
    const text = args === undefined ? undefined : argsOf(task, args)
    const options = { ...(timeoutMs === undefined ? {} : { timeoutMs }), queue }
    const answer = new Promise((resolve, reject) => this.#calls.set(call, { resolve, reject }))
    const cancel = () => this.#tell({ is: 'cancel', call })
    this.#tell({ is: 'call', call, task, args: text, options })
    if (signal) onAbort(signal, cancel)
    if (signal?.aborted) cancel()
    try {
      return await answer
    } finally {
      this.#calls.delete(call)
      signal?.removeEventListener('abort', cancel)
    }
  }

  progress(progress: Progress): void {
    this.#tell({ is: 'progress', progress: checkProgress(progress) })
  }

  /** What the main thread says of this run. */
  heard(message: ToThread): void {
    if (message.is === 'aborted') this.#controller.abort(unpackError(message.reason))
    else if (message.is === 'answer') this.#calls.get(message.call)?.resolve(message.result)
    else if (message.is === 'failure') this.#calls.get(message.call)?.reject(unpackError(message.error))
  }

  #tell(message: FromThread): void {
    this.#port.postMessage(message)
  }
}

interface PromiseWithResolvers {
  resolve(value: unknown): void
  reject(reason: unknown): void
}

/** As the hub would say it. */
const argsOf = (task: string, args: unknown): string => {
  try {
    return encodePayload(args)
  } catch (error) {
    if (error instanceof PayloadProblem) throw invalid('InvalidArgs', [error.problem], { task })
    throw error
  }
}

/** Fields of a log line: what is said with JSON as JSON says it, errors with their stacks, the rest as a console shows it. */
const cloneable = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, clonedField(value)]))

const clonedField = (value: unknown): unknown => {
  try {
    if (value instanceof Error) return structuredClone(value)
    const text = JSON.stringify(value)
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return inspect(value)
  }
}
