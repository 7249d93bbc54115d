import type { Keyed } from '../wire/job-part.ts'
import type { TaskName } from '../wire/names.ts'
import { namesOf } from '../wire/options.ts'
import type { Phases } from '../wire/phases.ts'
import type { Progress } from '../wire/stream.ts'
import type { TaskBackoff } from './options.ts'
import type { JsonSchema, Validate } from './schema.ts'

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

declare const types: unique symbol
declare const chunks: unique symbol

/** What there is of a task for those who call it, with or without its handler: give it to `hub.call` for typed arguments and result. */
export interface Declaration<Args = unknown, Result = unknown, Chunk = unknown> {
  readonly name: TaskName
  readonly description: string
  readonly args: JsonSchema | undefined
  readonly result: JsonSchema | undefined
  /** The schema of what its handler yields, or true where it yields and none was given; undefined: it does not, as far as is known. */
  readonly yields: JsonSchema | true | undefined
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
  readonly checkChunk: Validate | undefined
  /** Changes when the schemas do; tells workers apart that declare one version in two ways. */
  readonly digest: string
  /** For the compiler alone: nothing is there. */
  readonly [types]?: (args: Args) => Result
  readonly [chunks]?: Chunk
}

/** What follows a task that is called or enqueued: its arguments, which may be left out where `{}` would fit them, and options. */
export type Given<Args, Options> =
  Record<never, never> extends Args
    ? [args?: NoInfer<Args> | undefined, options?: Options]
    : [args: NoInfer<Args>, options?: Options]

/**
 * Tasks by their names, with the types of what goes in and comes out, and of what is yielded: what `pshub types` writes, for `new Hub<Tasks>()`. This one is of a hub
 * that was told of none: any name, and anything.
 */
export interface AnyTasks {
  [name: string]: { args: unknown; result: unknown; chunk?: unknown }
}

/** The names a hub knows. */
export type NameOf<Tasks> = keyof Tasks & string
/** What a type parameter for what is called is where the types of arguments and result are said outright. */
export type NoName<Tasks> = string extends keyof Tasks ? string : never
/** What a hub was told of a part of the task under a name; else `Own`. */
type Under<Tasks, T, Part extends string, Own> = string extends keyof Tasks
  ? Own
  : T extends keyof Tasks
    ? Tasks[T] extends Record<Part, infer Told>
      ? Told
      : unknown
    : Own
export type ArgsUnder<Tasks, T, A> = Under<Tasks, T, 'args', A>
export type ResultUnder<Tasks, T, R> = Under<Tasks, T, 'result', R>
export type ChunkUnder<Tasks, T, C> = Under<Tasks, T, 'chunk', C>

/** A task as it is called: by its name, or as what defineTask returned. */
export type Called<Tasks = AnyTasks> = NameOf<Tasks> | Declaration<never>
/** Undefined for what is no task, whatever its type says. */
export const calledName = (task: Called): string => (typeof task === 'string' ? task : task?.name?.full)
/** Of a task that is called; unknown of a name that the hub was not told of. */
export type ArgsOf<T, Tasks = AnyTasks> = T extends Declaration<infer Args> ? Args : ArgsUnder<Tasks, T, unknown>
/** What a task yields; unknown of a name that the hub was not told of. */
export type ChunkOf<T, Tasks = AnyTasks> =
  T extends Declaration<never, unknown, infer Chunk> ? Chunk : ChunkUnder<Tasks, T, unknown>
/** The result of a task; unknown of a name that the hub was not told of. */
export type ResultOf<T, Tasks = AnyTasks> =
  T extends Declaration<never, infer Result> ? Result : ResultUnder<Tasks, T, unknown>
/** The same for one of several, with its task. */
export type Entry<T, Options, Tasks = AnyTasks> = readonly [
  task: T,
  ...given: Record<never, never> extends ArgsOf<T, Tasks>
    ? [args?: ArgsOf<T, Tasks> | undefined, options?: Options]
    : [args: ArgsOf<T, Tasks>, options?: Options],
]
