import { createHash } from 'node:crypto'
import { maxTimeoutMs } from '../wire/clock.ts'
import { ConfigError } from '../wire/errors.ts'
import { type Backoff, backoffKinds, isBackoff, isWait } from '../wire/job-part.ts'
import { parseTaskName, type TaskName } from '../wire/names.ts'
import type { Phases } from '../wire/phases.ts'
import type { FromSchema } from './infer.ts'
import { compileOwn, type JsonSchema, type Validate } from './schema.ts'

/** Writes one line to the worker's log, marked with the task and the request's id. */
export interface TaskLog {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** What a handler is given besides its arguments. */
export interface TaskContext {
  readonly id: string
  /** `name:version` */
  readonly task: string
  /** Name of the service that called, as it named itself. */
  readonly from: string | undefined
  /** Which try this is, of a job: 1 for the first one. Of a call always 1. */
  readonly attempt: number
  /** Whether it runs as a job: nobody waits for it. */
  readonly isJob: boolean
  /** How long it waited before it was started, microseconds: in Redis, and in this worker. */
  readonly us: Pick<Phases, 'backlog' | 'queue'>
  /** Under noOverlap(): higher than that of all runs before it which shared its lock. Undefined without one. */
  readonly fence?: number | undefined
  /** Fires when the call's time is up, its caller gave up, or the worker leaves. Pass it on to what can be stopped. */
  readonly signal: AbortSignal
  /** Milliseconds until the deadline; Infinity when there is none. */
  remainingMs(): number
  readonly log: TaskLog
  /** Calls another task with what remains of this call's time, under the same trace. Throws HubError. */
  call(task: string, args?: unknown, options?: NestedOptions): Promise<unknown>
}

/** What may be said of a call that a handler makes; as for hub.call. */
export interface NestedOptions {
  timeoutMs?: number
  signal?: AbortSignal
  queue?: string | undefined
}

export type Handler<Args = unknown, Result = unknown> = (args: Args, context: TaskContext) => Result | Promise<Result>

/** What a worker is about to run, on its way through what use() was given. */
export interface TaskRequest {
  /** `name:version` */
  task: string
  /** Checked by the schema before; what is changed of them is not checked again. */
  args: unknown
}
export type TaskRun = (request: TaskRequest, context: TaskContext) => unknown
/** Wraps what is behind it: may look at a request and its result, change them, answer by itself, or throw. */
export type TaskMiddleware = (next: TaskRun, guards: Guards) => TaskRun

/** Steps in Redis, across all workers of its namespace. They reject as Redis does, or when there is no connection. */
export interface Guards {
  /**
   * Takes a lock for `leaseMs`, or renews it; with 0 frees it. `mayTake` false: only what this owner holds. Resolves with the token of
   * who holds it now, or milliseconds after which to look again.
   */
  lock(name: string, owner: string, leaseMs: number, mayTake: boolean): Promise<{ fence: number } | { waitMs: number }>
  /** Resolves with 0 when one more may begin of at most `limit` in `periodMs`; else with the milliseconds until it may. */
  admit(name: string, limit: number, periodMs: number, comesBack: boolean): Promise<number>
}

/** How a task is declared. Everything but the handler is published to the registry. */
export interface TaskOptions<A = JsonSchema, R = JsonSchema> {
  /** What it does, in Markdown; the first line is shown in lists. */
  description?: string
  /** JSON Schema (2020-12) of the arguments. Without one anything is accepted. */
  args?: A
  /** JSON Schema of the result. Without one any JSON is. */
  result?: R
  /** For calls that give no time of their own. Default 5000. */
  timeoutMs?: number
  /** True when running twice does no harm: then a call is run again elsewhere if its worker dies. Default false. */
  idempotent?: boolean
  /** How long it may run as a job. Default 30 minutes. */
  jobTimeoutMs?: number
  /** How often a job is tried again when it fails, unless the job itself says otherwise. Default 25. */
  retries?: number
  /** How long it waits before that. A function returns milliseconds, or undefined for a job that is to be given up. Default `exponential`. */
  backoff?: TaskBackoff
  /** For a handler that computes: it runs in threads of this task's own, so many at once. Default: in the main thread. */
  threads?: number
  /** Where these threads find the task: `import.meta.url` of a module that exports it. `pshub worker` knows that by itself. */
  module?: string
}

/** `attempt`: how often it has failed by now. */
export type TaskBackoff = Backoff | ((error: unknown, attempt: number) => number | undefined)

/** A declared task: give it to a Worker, or to `hub.call` for typed arguments and result. */
export interface Task<Args = unknown, Result = unknown> {
  readonly name: TaskName
  readonly description: string
  readonly args: JsonSchema | undefined
  readonly result: JsonSchema | undefined
  readonly timeoutMs: number
  readonly idempotent: boolean
  readonly jobTimeoutMs: number
  readonly retries: number | undefined
  readonly backoff: TaskBackoff | undefined
  readonly threads: number | undefined
  readonly module: string | undefined
  readonly handler: Handler<Args, Result>
  readonly checkArgs: Validate | undefined
  readonly checkResult: Validate | undefined
  /** Changes when the schemas do; tells workers apart that declare one version in two ways. */
  readonly digest: string
}

/** Marks what defineTask made, also across two copies of the package. */
const taskMark = Symbol.for('pshub.task')

export const defaultTimeoutMs = 5000
export const defaultJobTimeoutMs = 30 * 60 * 1000

/**
 * Declares a task. The types of the handler's arguments and result follow from the schemas where they are written in
 * place (or `as const`).
 *
 * @param fullName `name:major.minor`
 * @throws ConfigError for a malformed name, an invalid schema or an option that does not exist
 */
export const defineTask = <const A = undefined, const R = undefined>(
  fullName: string,
  options: TaskOptions<A, R>,
  handler: Handler<A extends undefined ? unknown : FromSchema<A>, R extends undefined ? unknown : FromSchema<R>>,
): Task<A extends undefined ? unknown : FromSchema<A>, R extends undefined ? unknown : FromSchema<R>> => {
  const name = parseTaskName(fullName)
  if (typeof handler !== 'function')
    throw new ConfigError(`${fullName}: the third argument must be the handler function.`)
  checkOptions(fullName, options)
  const args = options.args as JsonSchema | undefined
  const result = options.result as JsonSchema | undefined
  const task = {
    [taskMark]: true,
    name,
    description: options.description ?? '',
    args,
    result,
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    idempotent: options.idempotent ?? false,
    jobTimeoutMs: options.jobTimeoutMs ?? defaultJobTimeoutMs,
    retries: options.retries,
    backoff: options.backoff,
    threads: options.threads,
    module: options.module,
    handler,
    checkArgs: args === undefined ? undefined : compileOwn(args, `${fullName}: 'args'`),
    checkResult: result === undefined ? undefined : compileOwn(result, `${fullName}: 'result'`),
    digest: createHash('sha256')
      .update(JSON.stringify([args, result]))
      .digest('hex')
      .slice(0, 12),
  }
  checkLength(fullName, options)
  return Object.freeze(task) as never
}

export const isTask = (value: unknown): value is Task =>
  typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[taskMark] === true

const optionTypes: Record<keyof TaskOptions, string> = {
  description: 'string',
  args: 'object',
  result: 'object',
  timeoutMs: 'number',
  idempotent: 'boolean',
  jobTimeoutMs: 'number',
  retries: 'number',
  backoff: '',
  threads: 'number',
  module: 'string',
}

const checkOptions = (fullName: string, options: object): void => {
  if (typeof options !== 'object' || options === null)
    throw new ConfigError(`${fullName}: the second argument must be an object of options.`)
  for (const [key, value] of Object.entries(options)) {
    const type = optionTypes[key as keyof TaskOptions]
    if (type === undefined)
      throw new ConfigError(
        `${fullName}: there is no option '${key}'. Known are ${Object.keys(optionTypes).join(', ')}.`,
      )
    const actual = Array.isArray(value) ? 'array' : typeof value
    if (value !== undefined && type !== '' && actual !== type)
      throw new ConfigError(`${fullName}: '${key}' must be a ${type}, not ${actual}.`)
  }
  const { timeoutMs, jobTimeoutMs, retries, backoff, threads, module } = options as TaskOptions
  for (const [key, ms] of Object.entries({ timeoutMs, jobTimeoutMs }))
    if (ms !== undefined && !(ms > 0 && ms <= maxTimeoutMs))
      throw new ConfigError(`${fullName}: '${key}' must be above 0 and at most ${maxTimeoutMs} (a day).`)
  if (retries !== undefined && !isWait(retries))
    throw new ConfigError(`${fullName}: 'retries' must be a whole number of at least 0.`)
  if (backoff !== undefined && typeof backoff !== 'function' && !isBackoff(backoff))
    throw new ConfigError(`${fullName}: 'backoff' must be ${backoffKinds}, or a function.`)
  if (threads !== undefined && !(Number.isSafeInteger(threads) && threads >= 1))
    throw new ConfigError(`${fullName}: 'threads' must be a whole number of at least 1.`)
  if (module !== undefined && !module.startsWith('file:'))
    throw new ConfigError(
      `${fullName}: 'module' must be the URL of a file: import.meta.url of the module that exports it.`,
    )
}

/** Beside what else is on its card, which nobody reads when it is longer than maxCardLength. */
const maxDeclaration = 250_000

const checkLength = (fullName: string, { description, args, result }: TaskOptions<unknown, unknown>): void => {
  const { length } = JSON.stringify([description, args, result])
  if (length > maxDeclaration)
    throw new ConfigError(
      `${fullName}: its description and schemas are ${length} characters of JSON; at most ${maxDeclaration} fit on a card of the registry.`,
    )
}

/** What the registry knows of a task: its declaration, and where it runs. */
export interface TaskCard {
  task: string
  queue: string
  description: string
  args?: JsonSchema
  result?: JsonSchema
  timeoutMs: number
  idempotent: boolean
  digest: string
  /** Limits of its queue, as its worker was told: arguments in bytes of JSON, and requests that may wait. */
  maxPayloadBytes?: number
  maxBacklog?: number
  /** Redis seconds of the last time a worker published it. */
  at: number
}

export const cardOf = (
  task: Task,
  queue: string,
  limits: { maxPayloadBytes: number; maxBacklog: number },
  atSeconds: number,
): TaskCard => ({
  task: task.name.full,
  queue,
  description: task.description,
  ...(task.args === undefined ? {} : { args: task.args }),
  ...(task.result === undefined ? {} : { result: task.result }),
  timeoutMs: task.timeoutMs,
  idempotent: task.idempotent,
  digest: task.digest,
  maxPayloadBytes: limits.maxPayloadBytes,
  maxBacklog: limits.maxBacklog,
  at: atSeconds,
})

/** The tasks of a worker by name. Throws ConfigError for anything defineTask did not make, and for a task given twice. */
export const checkTasks = (tasks: unknown): ReadonlyMap<string, Task> => {
  if (!Array.isArray(tasks) || tasks.length === 0)
    throw new ConfigError("A worker needs 'tasks': an array of what defineTask returned.")
  const byName = new Map<string, Task>()
  for (const task of tasks) {
    if (!isTask(task)) throw new ConfigError("'tasks' holds something that defineTask did not return.")
    if (byName.has(task.name.full)) throw new ConfigError(`The task ${task.name.full} is given twice.`)
    byName.set(task.name.full, task)
  }
  return byName
}
