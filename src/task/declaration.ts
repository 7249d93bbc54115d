import type { Keyed } from '../wire/job-part.ts'
import type { TaskName } from '../wire/names.ts'
import { namesOf } from '../wire/options.ts'
import type { Phases } from '../wire/phases.ts'
import type { Progress } from '../wire/stream.ts'
import type { TaskBackoff } from './options.ts'
import type { JsonSchema, Validate } from './schema.ts'

/** Writes a line to the log of the worker, with the task and the request id. */
export interface TaskLog {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** The context of a handler. */
export interface TaskContext {
  readonly id: string
  /** `name:version` */
  readonly task: string
  /** Name of the calling service. */
  readonly from: string | undefined
  /** Number of this try of a job, from 1; for merged jobs that of the key that failed most. Always 1 for a call. */
  readonly attempt: number
  /** Whether it runs as a job. */
  readonly isJob: boolean
  /** How long it waited before it started, in microseconds: in Redis, and in this worker. */
  readonly us: Pick<Phases, 'backlog' | 'queue'>
  /**
   * Fencing token, for a job with a key and under noOverlap(): higher than that of all earlier runs with the same key
   * or lock. Let your storage reject writes with a lower token, to be safe from a worker that has lost its lease.
   * Undefined otherwise.
   */
  readonly fence?: number | undefined
  /** Aborted when the deadline passes, the caller cancels, or the worker stops. Pass it on to everything that can be cancelled. */
  readonly signal: AbortSignal
  /** Milliseconds until the deadline; Infinity without one. */
  remainingMs(): number
  readonly log: TaskLog
  /**
   * Reports progress to a caller with `onProgress`, and in the status of a job. The last report is sent about four
   * times a second. Throws ConfigError for invalid progress.
   */
  progress(progress: Progress): void
  /** Calls another task, like hub.call, with the remaining time of this call and in the same trace. Throws HubError. */
  call<A = unknown, R = unknown>(task: string | Declaration<A, R>, ...given: Given<A, NestedOptions>): Promise<R>
}

/** Options of a nested call, as for hub.call. */
export interface NestedOptions {
  timeoutMs?: number
  signal?: AbortSignal
  queue?: string | undefined
}

export const nestedOptionNames = namesOf<NestedOptions>({ timeoutMs: true, signal: true, queue: true })

declare const types: unique symbol
declare const chunks: unique symbol

/** A task as callers see it, with or without its handler: pass it to `hub.call` for typed arguments and result. */
export interface Declaration<Args = unknown, Result = unknown, Chunk = unknown> {
  readonly name: TaskName
  readonly description: string
  readonly args: JsonSchema | undefined
  readonly result: JsonSchema | undefined
  /** Schema of the chunks that its handler yields, or true if it yields without one; undefined if it does not yield, as far as is known. */
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

/** A task to call: its name, or the return value of defineTask. */
export type Called<Tasks = AnyTasks> = NameOf<Tasks> | Declaration<never>
/** Undefined for what is no task, whatever its type says. */
export const calledName = (task: Called): string => (typeof task === 'string' ? task : task?.name?.full)
/** The arguments of a task; unknown for a name without types. */
export type ArgsOf<T, Tasks = AnyTasks> = T extends Declaration<infer Args> ? Args : ArgsUnder<Tasks, T, unknown>
/** The chunks of a task; unknown for a name without types. */
export type ChunkOf<T, Tasks = AnyTasks> =
  T extends Declaration<never, unknown, infer Chunk> ? Chunk : ChunkUnder<Tasks, T, unknown>
/** The result of a task; unknown for a name without types. */
export type ResultOf<T, Tasks = AnyTasks> =
  T extends Declaration<never, infer Result> ? Result : ResultUnder<Tasks, T, unknown>
/** The same for one of several, with its task. */
export type Entry<T, Options, Tasks = AnyTasks> = readonly [
  task: T,
  ...given: Record<never, never> extends ArgsOf<T, Tasks>
    ? [args?: ArgsOf<T, Tasks> | undefined, options?: Options]
    : [args: ArgsOf<T, Tasks>, options?: Options],
]
