import { createHash } from 'node:crypto'
import { ConfigError } from '../wire/errors.ts'
import type { Keyed } from '../wire/job-part.ts'
import { parseTaskName, type TaskName } from '../wire/names.ts'
import { namesOf } from '../wire/options.ts'
import type { Phases } from '../wire/phases.ts'
import type { Progress } from '../wire/stream.ts'
import type { Guards } from './guards.ts'
import type { ChunkFrom, FromSchema, ResultByYields, ResultFrom } from './infer.ts'
import { type ByKey, defaultBatch, defaultMaxPayloads, type MergedOptions, mergedHandler } from './merged.ts'
import { checkLength, checkOptions, type TaskBackoff, type TaskOptions } from './options.ts'
import { compileOwn, type JsonSchema, type Validate } from './schema.ts'

export type { Guards } from './guards.ts'
export { type TaskBackoff, type TaskOptions, withoutHandler } from './options.ts'

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
  /** Which try this is, of a job: 1 for the first one; of a run of merged jobs that of the key which failed most. Of a call always 1. */
  readonly attempt: number
  /** Whether it runs as a job: nobody waits for it. */
  readonly isJob: boolean
  /** How long it waited before it was started, microseconds: in Redis, and in this worker. */
  readonly us: Pick<Phases, 'backlog' | 'queue'>
  /**
   * Of a job with a key, and under noOverlap(): higher than that of all runs before it which had the same key, or shared its lock. Undefined
   * without. Storage that refuses what comes with a lower one than it saw last is safe from a worker that was taken for dead.
   */
  readonly fence?: number | undefined
  /** Fires when the call's time is up, its caller gave up, or the worker leaves. Pass it on to what can be stopped. */
  readonly signal: AbortSignal
  /** Milliseconds until the deadline; Infinity when there is none. */
  remainingMs(): number
  readonly log: TaskLog
  /**
   * Says how far it is: to a caller that gave `onProgress`, and of a job to whoever looks at its status. Some four times a second the last one
   * is told. Throws ConfigError for what is no progress.
   */
  progress(progress: Progress): void
  /** Calls another task, typed as hub.call is, with what remains of this call's time and under the same trace. Throws HubError. */
  call<A = unknown, R = unknown>(task: string | Declaration<A, R>, ...given: Given<A, NestedOptions>): Promise<R>
}

/** What may be said of a call that a handler makes; as for hub.call. */
export interface NestedOptions {
  timeoutMs?: number
  signal?: AbortSignal
  queue?: string | undefined
}

export const nestedOptionNames = namesOf<NestedOptions>({ timeoutMs: true, signal: true, queue: true })

/** What runs merged jobs: the payloads of each key. */
export type MergedHandler<Payload> = (byKey: ByKey<Payload>, context: TaskContext) => unknown
/** What runs a task: it is given the arguments, checked, and the run's context. What it returns, or resolves with, is the result. */
export type Handler<Args = unknown, Result = unknown> = (
  args: Args,
  context: TaskContext,
) => Result | Promise<Result> | ResultByYields<Result>

/** What a worker is about to run, on its way through what use() was given. */
export interface TaskRequest {
  /** `name:version` */
  task: string
  /** Checked by the schema before; what is changed of them is not checked again. */
  args: unknown
}
/** Runs a request: the handler itself, or a middleware around it. */
export type TaskRun = (request: TaskRequest, context: TaskContext) => unknown
/** Wraps what is behind it: may look at a request and its result, change them, answer by itself, or throw. */
export type TaskMiddleware = (next: TaskRun, guards: Guards) => TaskRun

declare const types: unique symbol
declare const chunks: unique symbol

/** What there is of a task for those who call it, with or without its handler: give it to `hub.call` for typed arguments and result. */
export interface Declaration<Args = unknown, Result = unknown, Chunk = unknown> {
  readonly name: TaskName
  readonly description: string
  readonly args: JsonSchema | undefined
  readonly result: JsonSchema | undefined
  readonly timeoutMs: number
  readonly idempotent: boolean
  readonly dangerous: string | true | undefined
  readonly jobTimeoutMs: number
  readonly retries: number | undefined
  readonly backoff: TaskBackoff | undefined
  readonly keyed: Keyed | undefined
  readonly onFailure: 'hold' | 'pass'
  readonly batch: number
  readonly maxPayloads: number
  readonly scores: 'first' | 'last'
  readonly serialize: ((payload: never) => unknown) | undefined
  readonly threads: number | undefined
  readonly module: string | undefined
  readonly checkArgs: Validate | undefined
  readonly checkResult: Validate | undefined
  /** Changes when the schemas do; tells workers apart that declare one version in two ways. */
  readonly digest: string
  /** For the compiler alone: nothing is there. */
  readonly [types]?: (args: Args) => Result
  readonly [chunks]?: Chunk
}

/** A task with its handler: give it to a Worker, or to `hub.call` for typed arguments and result. */
export interface Task<Args = unknown, Result = unknown, Chunk = unknown> extends Declaration<Args, Result, Chunk> {
  readonly kind: 'task'
  readonly handler: Handler<Args, Result>
}

/** A task without its handler, for a file that its callers and its workers share. */
export interface Contract<Args = unknown, Result = unknown> extends Declaration<Args, Result> {
  readonly kind: 'contract'
  /**
   * The task that a worker serves. The contract stays as it is.
   *
   * @param handler its result is checked against the contract's schema, if that has one
   * @param serving how it is run, where that is not the contract's affair: `threads`, and `module`, which exports what this returns
   * @throws ConfigError
   */
  handler<Returned>(
    handler: (
      args: Args,
      context: TaskContext,
    ) => unknown extends Result ? Returned : Result | Promise<Result> | ResultByYields<Result>,
    serving?: Serving,
  ): Task<
    Args,
    unknown extends Result ? ResultFrom<Returned> : Result,
    unknown extends Result ? ChunkFrom<Returned> : unknown
  >
}

/** The same of a task that merges its jobs. */
export interface MergedContract<Payload = unknown> extends Declaration<Payload, unknown> {
  readonly kind: 'contract'
  /** As Contract.handler(). */
  handler(handler: MergedHandler<Payload>, serving?: Serving): Task<Payload>
}

/** What a handler may be given beside itself. */
export type Serving = Pick<TaskOptions, 'threads' | 'module'>
const servingNames = namesOf<Serving>({ threads: true, module: true })

/** What follows a task that is called or enqueued: its arguments, which may be left out where `{}` would fit them, and options. */
export type Given<Args, Options> =
  Record<never, never> extends Args
    ? [args?: NoInfer<Args> | undefined, options?: Options]
    : [args: NoInfer<Args>, options?: Options]

/** A task as it is called: by its name, or as what defineTask returned. */
export type Called = string | Declaration<never>
/** Undefined for what is no task, whatever its type says. */
export const calledName = (task: Called): string => (typeof task === 'string' ? task : task?.name?.full)
/** Of a task that is called; unknown of a name. */
export type ArgsOf<T> = T extends Declaration<infer Args> ? Args : unknown
/** What a task yields; unknown of a name. */
export type ChunkOf<T> = T extends Declaration<never, unknown, infer Chunk> ? Chunk : unknown
/** The result of a task; unknown of a name. */
export type ResultOf<T> = T extends Declaration<never, infer Result> ? Result : unknown
/** The same for one of several, with its task. */
export type Entry<T, Options> = readonly [
  task: T,
  ...given: Record<never, never> extends ArgsOf<T>
    ? [args?: ArgsOf<T> | undefined, options?: Options]
    : [args: ArgsOf<T>, options?: Options],
]

/** What a schema describes, anything where there is none. */
type Described<S> = S extends undefined ? unknown : FromSchema<S>

/** Marks what defineTask made, also across two copies of the package. */
const taskMark: unique symbol = Symbol.for('pshub.task')

export const defaultTimeoutMs = 5000
export const defaultJobTimeoutMs = 30 * 60 * 1000

/**
 * Declares a task. The type of its arguments follows from their schema where that is written in place (or `as const`), that of its result
 * from the result's schema; where there is none, from what the handler returns, as it is after its way through JSON. Without a handler it
 * is a contract, whose `handler` makes the task of it elsewhere. One that yields (`async function*`) sends what it yields to callers of
 * `hub.stream()` as it comes; for all others its result is what it returns, or where that is nothing the list of what it yielded. The handler of one that is `keyed: 'merged'` is given a Map of keys and their
 * payloads.
 *
 * @param fullName `name:major.minor`
 * @throws ConfigError for a malformed name, an invalid schema or an option that does not exist
 */
export function defineTask<
  const A = undefined,
  const R = undefined,
  const K extends Keyed | undefined = undefined,
  Payload = Described<A>,
>(
  fullName: string,
  options: TaskOptions<A, R, K, Payload>,
): K extends 'merged' ? MergedContract<Payload> : Contract<Described<A>, Described<R>>
// What the handler may return is said in a list of parameters, so that its literals keep their types (`state: 'ok'`).
export function defineTask<
  const A = undefined,
  const R = undefined,
  const K extends Keyed | undefined = undefined,
  Payload = Described<A>,
  Returned = unknown,
>(
  fullName: string,
  options: TaskOptions<A, R, K, Payload>,
  ...given: K extends 'merged'
    ? [handler: MergedHandler<Payload>]
    : R extends undefined
      ? [handler: (args: Described<A>, context: TaskContext) => Returned]
      : [handler: Handler<Described<A>, FromSchema<R>>]
): K extends 'merged'
  ? Task<Payload>
  : Task<
      Described<A>,
      R extends undefined ? ResultFrom<Returned> : FromSchema<R>,
      R extends undefined ? ChunkFrom<Returned> : unknown
    >
export function defineTask(fullName: string, options: object, ...given: unknown[]): never {
  const contract = contractOf(fullName, options as TaskOptions)
  return (
    given.length === 0 ? contract : taskOf(contract, given[0], {}, (options as MergedOptions).deserialize)
  ) as never
}

const contractOf = (fullName: string, options: TaskOptions): Contract => {
  const name = parseTaskName(fullName)
  checkOptions(fullName, options)
  const { args, result } = options
  const contract: Contract & { [taskMark]: true } = {
    [taskMark]: true,
    kind: 'contract',
    name,
    description: options.description ?? '',
    args,
    result,
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    idempotent: options.idempotent ?? false,
    dangerous: options.dangerous || undefined,
    jobTimeoutMs: options.jobTimeoutMs ?? defaultJobTimeoutMs,
    retries: options.retries,
    backoff: options.backoff,
    keyed: options.keyed,
    onFailure: options.onFailure ?? 'hold',
    batch: options.batch ?? defaultBatch,
    maxPayloads: options.maxPayloads ?? defaultMaxPayloads,
    scores: options.scores ?? 'last',
    serialize: options.serialize,
    threads: options.threads,
    module: options.module,
    handler: (handler, serving = {}) => taskOf(contract, handler, serving, options.deserialize) as never,
    checkArgs: args === undefined ? undefined : compileOwn(args, `${fullName}: 'args'`),
    checkResult: result === undefined ? undefined : compileOwn(result, `${fullName}: 'result'`),
    digest: createHash('sha256')
      .update(JSON.stringify([args, result]))
      .digest('hex')
      .slice(0, 12),
  }
  checkLength(fullName, options)
  return Object.freeze(contract)
}

const taskOf = (
  contract: Contract,
  handler: unknown,
  serving: Serving,
  deserialize: ((json: unknown) => unknown) | undefined,
): Task => {
  const { full } = contract.name
  if (typeof handler !== 'function')
    throw new ConfigError(`${full}: its handler must be a function, not ${typeof handler}.`)
  checkOptions(full, serving, servingNames)
  const { threads = contract.threads, module = contract.module } = serving
  const isMerged = contract.keyed === 'merged'
  const own = isMerged ? mergedHandler(handler as MergedHandler<unknown>, deserialize) : (handler as Handler)
  return Object.freeze({ ...contract, threads, module, kind: 'task', handler: own })
}

/** Whether defineTask made it, with a handler. */
export const isTask = (value: unknown): value is Task => isMarked(value) && value.kind === 'task'

/** Whether defineTask made it, without a handler. */
export const isContract = (value: unknown): value is Contract => isMarked(value) && value.kind === 'contract'

const isMarked = (value: unknown): value is Task | Contract =>
  typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[taskMark] === true
