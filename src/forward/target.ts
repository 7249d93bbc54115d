import { ConfigError, shown } from '../wire/errors.ts'
import { stringifyExact } from '../wire/json/exact-json.ts'

/** A job on its way out of the hub, as the other side gets it. */
export interface ForwardedJob {
  /** The same however often it is sent: by this the other side knows what it has already. */
  readonly id: string
  readonly task: string
  readonly args: unknown
  /** Those with the same key come one after the other. */
  readonly key?: string | undefined
  /** Name of the service that enqueued it. */
  readonly from?: string | undefined
  /** Which try this is, 1 for the first. */
  readonly attempt: number
  /** The trace that it is part of, as W3C has it. */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
}

/** Why a job was not taken. */
export interface NotForwarded {
  id: string
  reason: string
  /** Trying again is of no use: the job is dead. */
  isFinal?: boolean | undefined
  /** It is not tried again any sooner than this. */
  retryAfterMs?: number | undefined
  /** The HTTP status, 400 to 599, that says so. */
  status?: number | undefined
}

/** What became of a batch. */
export interface ForwardOutcome {
  /** Ids of the jobs that the other side has confirmed. */
  taken: Iterable<string>
  /** What is known of others. */
  failed?: Iterable<NotForwarded> | undefined
}

/** Where a forwarder's jobs go. */
export interface ForwardTarget {
  /** So many jobs it is given at once at the most. Default: as many as the forwarder has slots. */
  readonly batch?: number | undefined
  /**
   * Hands jobs to the other side. Several batches may be under way at once; no two jobs with the same key and task are.
   *
   * @param signal fires when nobody waits any more: the time is up, or the forwarder leaves
   * @returns ids of those that the other side has confirmed, and of no other: what is named here is done, and gone from the hub. Those
   *   that are missing are tried again, as a job is that failed, unless `failed` says that this is of no use. What throws took none
   */
  forward(
    batch: readonly ForwardedJob[],
    signal: AbortSignal,
  ): Iterable<string> | ForwardOutcome | Promise<Iterable<string> | ForwardOutcome>
  /** Called once, when nothing is under way any more. */
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

/** What the other side gets for a job, where messages are texts. */
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
