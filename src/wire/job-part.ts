import { isFailedStatus, type WireError } from './errors.ts'
import { isCount, isObject, textOf } from './foreign.ts'

/**
 * What a job carries beside its arguments: the `job` of its message, right behind the id, where functions in Redis read it and note
 * failures in it. No text in it has a brace or a bracket of its own (they are escaped), so that they find its end. PROTOCOL.md's table is made of
 * the comments of this type.
 */
export interface JobPart {
  /** Number of failures so far. Functions write it. */
  tries: number
  /**
   * The last 10 failures, oldest first: `{"at":<Redis ms>,"code","message"}`, with `"status"` if the handler chose one, and for tracked jobs
   * `"started"`, when that try began. Functions write it.
   */
  errors: JobFailure[]
  /** Most retries. Absent: the task's own number, or 25. */
  retries?: number | undefined
  /** Retry delays (section 10.11). Absent: the task's own, or `"exponential"`. */
  backoff?: Backoff | undefined
  /** Milliseconds from the push until it is due. */
  delay?: number | undefined
  /** Redis milliseconds when it is due. */
  due?: number | undefined
  /** Its list. Absent: `jobs`. */
  priority?: Priority | undefined
  /** Tracked: milliseconds for which the record is kept after the end. */
  keep?: number | undefined
  /** At most one job of the queue holds this text (section 9.9), of at most 256 characters. It MUST come with `keep`. */
  unique?: string | undefined
  /** The longest time to hold that text, ms. Absent: a day. */
  uniqueMs?: number | undefined
  /** It holds the text until it starts, not until it ends. */
  until?: 'started' | undefined
  /** Ordering key (section 10.17) or merge key (section 10.18), 1 to 200 bytes. */
  key?: string | undefined
  /** Its arguments are a payload that merges with those of the same key. */
  merged?: true | undefined
  /** Merged job: payloads with lower scores come first. Absent: Redis microseconds. */
  score?: number | undefined
  /** Merged job: if an equal payload waits already, its score stays. */
  scores?: 'first' | undefined
  /** Payloads of a merged run: `[[<key>,<tries>,[<bytes>,<score>, ...]], ...]`. Functions write it. */
  run?: RunKey[] | undefined
  /** Fencing token, higher than those of all earlier runs with this key. Only in the answer of a claim. */
  fence?: number | undefined
  /** When the key was free, Redis microseconds. Only in the answer of a claim. */
  since?: number | undefined
  /** Its batch: `<queue>/<batch>`, with the queue in which the batch is counted. */
  batch?: string | undefined
  /** Its chain (section 10.13): id of the first job. */
  chain?: string | undefined
  /** Number of this step, from 1. */
  step?: number | undefined
  /** `[queue, task]` of each step. */
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
