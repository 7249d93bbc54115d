import { numberIn, textOf } from '../wire/foreign.ts'
import { type JobFailure, readFailure, readSteps } from '../wire/job-part.ts'
import { isId, isQueueName, wholeQueue } from '../wire/keys.ts'
import type { Progress } from '../wire/stream.ts'

const jobStates = ['waiting', 'scheduled', 'running', 'retrying', 'done', 'dead', 'expired', 'cancelled'] as const
/** State of a job. The last four are final. */
export type JobState = (typeof jobStates)[number]

/** The status of a tracked job. */
export interface JobStatus {
  id: string
  queue: string
  task: string
  state: JobState
  /** How often it has failed so far. */
  tries: number
  /** Its last failure. */
  error: JobFailure | undefined
  /** Redis milliseconds; undefined for what has not happened yet. */
  enqueuedMs: number | undefined
  /** When it is or was due: the last time it was scheduled. */
  dueMs: number | undefined
  startedMs: number | undefined
  endedMs: number | undefined
  /** Worker that runs it, or ran it last. */
  worker: string | undefined
  /** While it runs: the last progress that its handler reported. */
  progress?: Progress | undefined
}

/** The fields of a record, which are texts. PROTOCOL.md's table is made of these comments. */
export interface RecordFields {
  /** `waiting`, `scheduled`, `running`, `retrying`, `done`, `dead`, `expired` or `cancelled`; `moved`: the record is in the shard that `to` names. */
  state: string
  /** Its full name. */
  task: string
  /** Redis milliseconds. */
  enqueued: string
  /** Redis milliseconds when it was or is due, the last time. */
  due: string
  /** Redis milliseconds of its last start. */
  started: string
  /** Redis milliseconds of its end. */
  ended: string
  /** Id of the worker that ran it last. */
  worker: string
  /** Number of failures. */
  tries: string
  /** The last failure as in `errors`, JSON. */
  error: string
  /** JSON, if done. */
  result: string
  /** As in its `job`. */
  unique: string
  /** As in its `job`. */
  key: string
  /** As in its `job`. */
  chain: string
  /** As in its `job`, JSON. */
  steps: string
  /** Redis milliseconds at which its `ttl` ends. */
  expires: string
  /** `1`: it also counts for this batch, whose duplicate it is. */
  'batch:<queue>/<batch>': string
  /** `1`: it was cancelled. */
  cancel: string
  /** Id of a hub that waits for its end. */
  'wait:<ticket>': string
  /** The shard that it moved to. */
  to: string
}

/** A record as it is in Redis. */
export interface JobRecord {
  status: JobStatus
  /** JSON; undefined for a job that is not done. */
  result: string | undefined
  /** The chain it is a step of. */
  chain: { id: string; steps: [queue: string, task: string][] } | undefined
}

/** Fields and values of a record; undefined for what is none. */
export const readJobRecord = (flat: readonly string[], id: string, queue: string): JobRecord | undefined => {
  const fields: Partial<RecordFields> = {}
  for (let at = 0; at + 1 < flat.length; at += 2) fields[flat[at] as keyof RecordFields] = flat[at + 1]!
  const state = jobStates.find(known => known === fields.state)
  if (!state) return undefined
  const status = {
    id,
    queue,
    task: textOf(fields.task, 128),
    state,
    tries: numberIn(fields.tries) ?? 0,
    error: failureOf(fields.error),
    enqueuedMs: numberIn(fields.enqueued),
    dueMs: numberIn(fields.due),
    startedMs: numberIn(fields.started),
    endedMs: numberIn(fields.ended),
    worker: fields.worker?.slice(0, 64),
  }
  return { status, result: state === 'done' ? fields.result : undefined, chain: chainOf(fields) }
}

/** The shard to which a job was moved, by the record that it left; undefined for one that was not. */
export const movedTo = (flat: readonly string[], queue: string): string | undefined => {
  const field = (name: string) => flat[flat.findIndex((each, at) => at % 2 === 0 && each === name) + 1]
  if (!flat.includes('state') || field('state') !== 'moved') return undefined
  const to = field('to')
  return to !== undefined && isQueueName(to) && to !== queue && wholeQueue(to) === wholeQueue(queue) ? to : undefined
}

const chainOf = ({ chain, steps }: Partial<RecordFields>): JobRecord['chain'] => {
  const read = steps === undefined ? undefined : readSteps(parsed(steps))
  return isId(chain) && read ? { id: chain, steps: read } : undefined
}

export const hasEnded = ({ state }: JobStatus): boolean =>
  state === 'done' || state === 'dead' || state === 'expired' || state === 'cancelled'

const failureOf = (text: string | undefined): JobFailure | undefined => readFailure(parsed(text))[0]

const parsed = (text: string | undefined): unknown => {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
