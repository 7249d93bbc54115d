import { ConfigError, shown } from '../wire/errors.ts'
import { stringifyExact } from '../wire/json/exact-json.ts'

/** A job as a target receives it. */
export interface ForwardedJob {
  /** The same for every delivery: the target recognizes duplicates by it. */
  readonly id: string
  readonly task: string
  readonly args: unknown
  /** Jobs with the same key are delivered one at a time. */
  readonly key?: string | undefined
  /** Name of the service that enqueued it. */
  readonly from?: string | undefined
  /** Number of this try, from 1. */
  readonly attempt: number
  /** Its trace, in W3C format. */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
}

/** Why a job was not taken. */
export interface NotForwarded {
  id: string
  reason: string
  /** A retry cannot help: the job is dead. */
  isFinal?: boolean | undefined
  /** Earliest time of the next try. */
  retryAfterMs?: number | undefined
  /** HTTP status of the failure, 400 to 599. */
  status?: number | undefined
}

/** The outcome of a batch. */
export interface ForwardOutcome {
  /** Ids of the jobs that the target has confirmed. */
  taken: Iterable<string>
  /** Details of failed jobs. */
  failed?: Iterable<NotForwarded> | undefined
}

/** The target of a forwarder. */
export interface ForwardTarget {
  /** Maximum number of jobs per batch. Default: the number of slots of the forwarder. */
  readonly batch?: number | undefined
  /**
   * Delivers jobs. Several batches may be in flight at once, but never two jobs with the same key and task.
   *
   * @param signal aborted when nobody waits any more: on timeout, or when the forwarder stops
   * @returns ids of the jobs that the target has confirmed, and no others: these are done and deleted from the hub.
   *   Missing jobs are retried like failed jobs, unless `failed` says that a retry cannot help. If it throws, no job was
   *   taken
   */
  forward(
    batch: readonly ForwardedJob[],
    signal: AbortSignal,
  ): Iterable<string> | ForwardOutcome | Promise<Iterable<string> | ForwardOutcome>
  /** Called once, when no delivery is in flight any more. */
  close?(): unknown
}

/** @throws ConfigError */
export const checkForwardTarget = (target: ForwardTarget): void => {
  if (typeof target?.forward !== 'function')
    throw new ConfigError(
      "'target' must have a method forward(batch, signal), as redisList() and the others return it.",
    )
  if (target.batch !== undefined && !isCountTo(target.batch, 1000))
    throw new ConfigError("'batch' of the target must be a whole number from 1 to 1000.")
}

export const isCountTo = (value: unknown, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most

/** Formats a job as the message that is sent. */
export type ForwardFormat = (job: ForwardedJob) => string

/**
 * A format that throws for what is no text, which would arrive as something that nobody meant. Default: all of the job as JSON.
 * @throws ConfigError
 */
export const checkedFormat = (target: string, format: ForwardFormat = messageText): ForwardFormat => {
  if (typeof format !== 'function') throw new ConfigError(`${target}: 'format' must be a function.`)
  return job => {
    const text: unknown = format(job)
    if (typeof text === 'string') return text
    throw new Error(`'format' must return a string, not ${shown(text)}`)
  }
}

const messageText: ForwardFormat = ({ id, task, args, key, from, attempt, traceparent, tracestate }) =>
  stringifyExact({ id, task, args, key, from, attempt, traceparent, tracestate })
