import { isFailedStatus, type WireError } from './errors.ts'
import { isCount, isObject, textOf } from './foreign.ts'

/**
 * What a job carries beside its arguments: the `job` of its message, right behind the id, where functions in Redis read it and note
 * failures in it. No text in it has a brace or a bracket of its own (they are escaped), so that they find its end. See PROTOCOL.md.
 */
export interface JobPart {
  /** How often it has failed. */
  tries: number
  /** The last ten failures, oldest first. */
  errors: JobFailure[]
  /** How often it is tried again at most; undefined: as its task says. */
  retries?: number | undefined
  backoff?: Backoff | undefined
  /** Milliseconds from its push, or Redis milliseconds. */
  delay?: number | undefined
  due?: number | undefined
  priority?: Priority | undefined
  /** Milliseconds for which its record is kept after its end. Absent: it has none. */
  keep?: number | undefined
  /** What no other job of its queue may say at the same time; for how long at most; and whether only until it starts. */
  unique?: string | undefined
  uniqueMs?: number | undefined
  until?: 'started' | undefined
  /** Jobs of its task with the same key run one after the other, or are merged. */
  key?: string | undefined
  /** Its arguments are merged with those of the same key, under this score; `first`: that of an equal one that waits already counts. */
  merged?: true | undefined
  score?: number | undefined
  scores?: 'first' | undefined
  /** What a run took of several keys: said by the claim. */
  run?: RunKey[] | undefined
  /** A token that is higher than those of all runs before it that had its key: said by the claim, never kept. */
  fence?: number | undefined
  /** Since when it could run, Redis microseconds, of a job with a key: said with the fence. To wait for a key is no backlog. */
  since?: number | undefined
  /** The batch it is one of: <queue>/<id>. */
  batch?: string | undefined
  /** The chain that it is a step of: id of its first job; and which one it is, counted from 1. */
  chain?: string | undefined
  step?: number | undefined
  /** Queue and task of each of its steps. */
  steps?: [queue: string, task: string][] | undefined
}

/** How jobs with the same key run: `ordered`, one at a time; `merged`, all waiting ones together. */
export type Keyed = 'ordered' | 'merged'

export const isKeyed = (value: unknown): value is Keyed => value === 'ordered' || value === 'merged'

/** A key of a run, how often its runs have failed so far, and how many payloads it took of it. */
export interface RunKey {
  key: string
  tries: number
  count: number
}

export type Priority = 'high' | 'low'

/**
 * Wait before a retry. `exponential`: a second, doubled with each failure, at most a day, with jitter from half to the
 * whole. `polynomial`: n^4 + 15 + (0 to 30) * (n + 1) seconds after failure n, counted from 0, like Sidekiq. A number:
 * a fixed number of milliseconds. A list: milliseconds after the first failure, the second, ...; the last one repeats.
 */
export type Backoff = 'exponential' | 'polynomial' | number | readonly number[]

/** What `backoff` may be, for people. */
export const backoffKinds = "'exponential', 'polynomial', a number of milliseconds or a list of them"

/** One failed try of a job. */
export interface JobFailure {
  /** When it ended, Redis milliseconds. */
  at: number
  /** When a worker claimed it for that try, Redis milliseconds; only of a tracked job. */
  started?: number
  /** A code of the error table, or the handler's own. */
  code: string
  message: string
  /** The HTTP status that the handler chose. */
  status?: number
}

export const maxFailureMessage = 500
const maxUnique = 256
/** Bytes of UTF-8. */
export const maxKeyBytes = 200
/** Ten years: longer waits are a mistake. */
export const longestWaitMs = 10 * 365 * 24 * 3600 * 1000

/** As it travels. */
export const jobPartText = (part: Partial<JobPart>): string =>
  withoutBrackets(JSON.stringify(part, (_, value) => (typeof value === 'string' ? whole(value) : value)))

/** A failure as functions in Redis take it: JSON without its braces, to which they add the time. */
export const failureText = ({ code, message, status }: WireError): string =>
  withoutBrackets(JSON.stringify({ code, message: whole(message.slice(0, maxFailureMessage)), status })).slice(1, -1)

/** Braces and brackets inside the texts of some JSON, as escapes. */
const withoutBrackets = (json: string): string =>
  json.replace(/"(?:[^"\\]|\\.)*"/g, text =>
    text.replace(/[{}[\]]/g, char => `\\u00${char.charCodeAt(0).toString(16)}`),
  )

/** Without halves of surrogate pairs, which the JSON reader in Redis refuses. */
const whole = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd')

/** What others wrote there, as far as it can be used. */
export const readJobPart = (value: unknown): JobPart => {
  if (!isObject(value)) return { tries: 0, errors: [] }
  const { tries, errors, retries, backoff, delay, due, priority, keep } = value
  const { unique, uniqueMs, until, batch, chain, step, steps, key, fence, since } = value
  const { merged, score, scores, run } = value
  return {
    tries: isCount(tries) ? tries : 0,
    errors: Array.isArray(errors) ? errors.slice(-10).flatMap(readFailure) : [],
    retries: isCount(retries) ? retries : undefined,
    backoff: isBackoff(backoff) ? backoff : undefined,
    delay: isWait(delay) ? delay : undefined,
    due: isWait(due, Number.MAX_SAFE_INTEGER) ? due : undefined,
    priority: priority === 'high' || priority === 'low' ? priority : undefined,
    keep: isWait(keep) ? keep : undefined,
    unique: typeof unique === 'string' && unique.length <= maxUnique ? unique : undefined,
    uniqueMs: isWait(uniqueMs) ? uniqueMs : undefined,
    until: until === 'started' ? until : undefined,
    key: typeof key === 'string' ? key : undefined,
    merged: merged === true || undefined,
    score: typeof score === 'number' ? score : undefined,
    scores: scores === 'first' ? scores : undefined,
    run: readRunKeys(run),
    fence: isCount(fence, Number.MAX_SAFE_INTEGER) ? fence : undefined,
    since: isCount(since, Number.MAX_SAFE_INTEGER) ? since : undefined,
    batch: typeof batch === 'string' && batch.length <= 130 ? batch : undefined,
    chain: typeof chain === 'string' && chain.length <= 64 ? chain : undefined,
    step: isCount(step) ? step : undefined,
    steps: readSteps(steps),
  }
}

/** Queue and task of the steps of a chain. */
export const readSteps = (value: unknown): [queue: string, task: string][] | undefined => {
  if (!Array.isArray(value)) return undefined
  const steps = value.filter(each => Array.isArray(each) && typeof each[0] === 'string' && typeof each[1] === 'string')
  return steps.length === value.length ? steps.map(([queue, task]) => [queue, task]) : undefined
}

/** `[[key, tries, [bytes, score, ...]], ...]` */
const readRunKeys = (value: unknown): RunKey[] | undefined => {
  if (!Array.isArray(value)) return undefined
  return value.flatMap((each): RunKey[] => {
    if (!Array.isArray(each) || typeof each[0] !== 'string' || !Array.isArray(each[2])) return []
    return [{ key: each[0], tries: isCount(each[1]) ? each[1] : 0, count: Math.floor(each[2].length / 2) }]
  })
}

export const readFailure = (value: unknown): JobFailure[] => {
  if (!isObject(value)) return []
  const { at, started, code, message, status } = value
  const chosen = isFailedStatus(status) ? { status } : {}
  const told = { code: textOf(code, 64), message: textOf(message, maxFailureMessage), ...chosen }
  const began = isCount(started, 8.64e15) ? { started } : {}
  return [{ at: isCount(at, 8.64e15) ? at : 0, ...began, ...told }]
}

export const isWait = (value: unknown, most: number = longestWaitMs): value is number => isCount(value, most)

export const isBackoff = (value: unknown): value is Backoff =>
  value === 'exponential' ||
  value === 'polynomial' ||
  isWait(value) ||
  (Array.isArray(value) && value.length > 0 && value.length <= 100 && value.every(ms => isWait(ms)))
