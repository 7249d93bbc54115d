import type { CallPhases } from './phases.ts'

/**
 * The one table of error codes. PROTOCOL.md's table, the HTTP statuses of the registry and the other languages'
 * classes are tested against it.
 *
 * `ran` is the promise that lets a caller decide about trying again: `no` means the handler was certainly not
 * started, `maybe` that it may have been, `yes` that it was.
 */
export const errorTable = {
  NotEnqueued: { ran: 'no', retryable: true, status: 503, meaning: 'The request did not reach Redis.' },
  NoSuchTask: { ran: 'no', retryable: false, status: 404, meaning: 'No worker ever declared this task.' },
  NoWorkers: { ran: 'no', retryable: true, status: 503, meaning: 'The task is known, but no live worker provides it.' },
  Overloaded: {
    ran: 'no',
    retryable: true,
    status: 429,
    meaning: 'The queue is full, or too long for the call to finish before its deadline.',
  },
  Expired: { ran: 'no', retryable: true, status: 504, meaning: 'The deadline passed while the request was waiting.' },
  InvalidArgs: {
    ran: 'no',
    retryable: false,
    status: 400,
    meaning: 'The arguments do not match the schema of the task.',
  },
  PayloadTooLarge: { ran: 'no', retryable: false, status: 413, meaning: 'The arguments are larger than allowed.' },
  HubClosed: { ran: 'no', retryable: false, status: 503, meaning: 'The hub was closed before the request was sent.' },
  Timeout: { ran: 'maybe', retryable: false, status: 504, meaning: 'No reply came before the deadline.' },
  WorkerLost: {
    ran: 'maybe',
    retryable: false,
    status: 502,
    meaning: 'The worker crashed or lost its lease while it held the request.',
  },
  OutcomeUnknown: {
    ran: 'maybe',
    retryable: false,
    status: 502,
    meaning: 'The connection to Redis broke, and it is unknown whether the request arrived.',
  },
  NoSuchJob: {
    ran: 'maybe',
    retryable: false,
    status: 404,
    meaning: 'There is no record of a job with this id: it was not tracked, or the record has expired.',
  },
  Aborted: { ran: 'maybe', retryable: false, status: 499, meaning: 'The caller stopped waiting.' },
  TaskFailed: { ran: 'yes', retryable: false, status: 500, meaning: 'The handler of the task failed.' },
  InvalidResult: {
    ran: 'yes',
    retryable: false,
    status: 500,
    meaning: 'The result is not JSON, is too large, or does not match the result schema.',
  },
} as const satisfies Record<
  string,
  { ran: 'no' | 'maybe' | 'yes'; retryable: boolean; status: number; meaning: string }
>

/** The codes of the table. */
export type ErrorCode = keyof typeof errorTable

/** A code that a handler chooses for an expected failure, such as `NoSuchCity`; see TaskError. */
export type OwnCode = string & Record<never, never>

/** One offending field: where it is (JSON Pointer, '' is the whole value) and what is wrong with it. */
export interface Problem {
  pointer: string
  message: string
}

/** What travels in a reply's `error`. PROTOCOL.md's table is made of these comments. */
export interface WireError {
  /** Required: a code of section 7, or the handler's own: `^[A-Z][A-Za-z0-9]{0,63}$`. */
  code: string
  /** Required, for people. MUST NOT hold a stack trace. */
  message: string
  /** Overrides the table of section 7. */
  retryable?: boolean
  /** HTTP status from 400 to 599, chosen by the handler; counts with `TaskFailed` and the handler's own codes only. */
  status?: number
  /**
   * For programs; nested at most 63 levels deep. Of `InvalidArgs` and `InvalidResult`: `{"problems":[{"pointer","message"}]}` with JSON
   * Pointers.
   */
  data?: unknown
}

/** As much of an error as says how its call counts. */
export type Judged = Pick<WireError, 'code' | 'status'>

/**
 * How calls and jobs end. `rejected`: not run, or rejected by the handler with a TaskError of a status under 500.
 * `failed`: any other failure.
 */
export type CallOutcome = 'ok' | 'rejected' | 'failed'

/** Details of an error besides its code and message. */
export interface HubErrorDetails {
  /** `name:version`, as far as it is known. */
  task?: string
  /** The request's id, once there is one. */
  id?: string
  /** Overrides the table if more is known: a call cancelled before it was sent certainly did not run. */
  ran?: 'no' | 'maybe' | 'yes' | undefined
  /** Overrides the table, as a failing handler may. */
  retryable?: boolean | undefined
  /** For a failed task: the HTTP status that its handler chose. */
  status?: number | undefined
  /** Structured details: `{ problems }` for InvalidArgs and InvalidResult, the handler's own for TaskFailed. */
  data?: unknown
  cause?: unknown
}

/** Every way in which a call can fail. Decide by `code`, or by `ran` if you only need to know whether repeating is safe. */
export class HubError extends Error {
  override readonly name = 'HubError'
  /** A code of the table, or one that the handler chose: see `kind`. */
  readonly code: ErrorCode | OwnCode
  /** The code in the table: `TaskFailed` if the handler chose its own. */
  readonly kind: ErrorCode
  readonly ran: 'no' | 'maybe' | 'yes'
  readonly retryable: boolean
  /** HTTP status of this error; for a failed task the one its handler chose, else 500. */
  readonly status: number
  readonly task: string | undefined
  readonly id: string | undefined
  readonly data: unknown
  /** Where the time went; undefined if no worker reported it. */
  phases: CallPhases | undefined = undefined

  constructor(code: ErrorCode | OwnCode, message?: string, details: HubErrorDetails = {}) {
    const kind = kindOf(code)
    const row = errorTable[kind]
    super(message ?? row.meaning, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.kind = kind
    this.ran = details.ran ?? row.ran
    this.status = (kind === 'TaskFailed' ? details.status : undefined) ?? row.status
    this.retryable = details.retryable ?? row.retryable
    this.task = details.task
    this.id = details.id
    this.data = details.data
  }

  /** The fields for JSON.stringify and loggers; without the stack. */
  toJSON(): WireError & Pick<HubError, 'ran' | 'task' | 'id'> {
    const { code, message, ran, retryable, task, id, data } = this
    return { code, message, ran, retryable, task, id, data }
  }
}

/** Details of a TaskError besides its message. */
export interface TaskErrorOptions {
  /** Code for callers, such as `NoSuchCity`: a capital letter, then letters and digits, at most 64. Default: `TaskFailed`. */
  code?: OwnCode | undefined
  /** HTTP status, 400 to 599. Default: 500. Under 500 it is an expected failure: the call counts as rejected and raises no alarm. */
  status?: number | undefined
  /** Whether a retry may succeed. */
  retryable?: boolean | undefined
  /** JSON for the programs of callers. */
  data?: unknown
  cause?: unknown
}

/**
 * Throw it in a handler to give a failure a code, an HTTP status, structured data, and whether a retry may help. A job
 * is retried unless `retryable` is false; a call only if it is true.
 */
export class TaskError extends Error {
  override readonly name = 'TaskError'
  readonly retryable: boolean
  /** `retryable` was set to false. */
  readonly isFinal: boolean
  readonly code: OwnCode
  readonly status: number | undefined
  readonly data: unknown

  /** @throws ConfigError for an invalid code, a code of pshub itself, or a status out of range */
  constructor(message: string, options: TaskErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    const { code = 'TaskFailed', status } = options
    if (code !== 'TaskFailed' && !isOwnCode(code)) throw new ConfigError(whyNotOwn(code))
    if (status !== undefined && !isFailedStatus(status))
      throw new ConfigError(`The status of a TaskError must be a whole number from 400 to 599, not ${shown(status)}.`)
    this.code = code
    this.status = status
    this.retryable = options.retryable ?? false
    this.isFinal = options.retryable === false
    this.data = options.data
  }
}

/**
 * Throw it in a worker to delay a request: a job waits for `delayMs`, which does not count as a try. A call does not
 * wait: it fails as `Overloaded`, with `data.retryAfterMs`, or as `TaskFailed` if its handler has already started.
 */
export class PutOff extends Error {
  override readonly name = 'PutOff'
  readonly delayMs: number

  /** @throws ConfigError for a delay that is not 0 to ten years in milliseconds */
  constructor(delayMs: number, message = 'The task cannot run now; try again later.') {
    super(message)
    if (!(delayMs >= 0 && delayMs <= longestPutOffMs))
      throw new ConfigError(`The delay of a PutOff must be 0 to ${longestPutOffMs} ms, not ${delayMs}.`)
    this.delayMs = delayMs
  }
}

const longestPutOffMs = 10 * 365 * 24 * 3600 * 1000

/** An invalid setting, declaration or command line; thrown before anything is started. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly code = 'InvalidConfig'
}

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorTable, code)

/** A code of the table; `TaskFailed` for one that a handler chose. */
export const kindOf = (code: string): ErrorCode => (isErrorCode(code) ? code : 'TaskFailed')

/** A code that others wrote: `TaskFailed` for what has not the form of one. */
export const codeOf = (code: unknown): string => (isErrorCode(code) || isOwnCode(code) ? code : 'TaskFailed')

/** Of an error with this code, and the status that its handler chose; undefined: it ended well. */
export const outcomeOf = (error: Judged | undefined): CallOutcome => {
  if (!error) return 'ok'
  return errorTable[kindOf(error.code)].ran === 'no' || isExpected(error) ? 'rejected' : 'failed'
}

/** Rejected by the handler, which is no fault of anybody's. */
export const isExpected = ({ code, status = 500 }: Judged): boolean => kindOf(code) === 'TaskFailed' && status < 500

/** What a handler may call a failure of its own: short, and never what pshub says itself. */
export const isOwnCode = (code: unknown): code is OwnCode =>
  typeof code === 'string' && /^[A-Z][A-Za-z0-9]{0,63}$/.test(code) && !isErrorCode(code)

const whyNotOwn = (code: unknown): string =>
  isErrorCode(code)
    ? `${code} is a code that pshub itself uses. Choose another one, such as NoSuchCity.`
    : `The code of a TaskError must start with a capital letter and have at most 64 letters and digits, such as NoSuchCity; it is ${shown(code)}.`

/** What somebody gave in the place of something else: a text in quotes, cut where it is long. */
export const shown = (given: unknown): string => {
  try {
    const text = typeof given === 'string' ? JSON.stringify(given) : String(given)
    return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text
  } catch {
    return typeof given
  }
}

const mostShown = 80

export const isFailedStatus = (status: unknown): status is number =>
  Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599

/** Rebuilds the error of a reply. A code this version does not know is a failed task as far as the caller can tell. */
export const fromWire = (wire: WireError, details: HubErrorDetails): HubError => {
  const retryable = typeof wire.retryable === 'boolean' ? wire.retryable : undefined
  const status = isFailedStatus(wire.status) ? wire.status : undefined
  return new HubError(codeOf(wire.code), wire.message, { ...details, retryable, status, data: wire.data })
}

/** Why a keyed task takes no calls. */
export const whyKeyed = (task: string): string =>
  `${task} is keyed and takes no calls: a call would run beside the jobs of its key. Enqueue a job with a key, as in 'pshub enqueue ${task} --key order-17'.`

/** Any thrown value as one sentence; a handler may throw strings, undefined, or objects whose message itself throws. */
export const messageOf = (thrown: unknown): string => {
  try {
    // A message can be anything once somebody assigned it.
    if (thrown instanceof Error) return String(thrown.message || thrown.name)
    if (typeof thrown === 'string') return thrown
    return `a value that is not an Error was thrown: ${String(JSON.stringify(thrown))}`
  } catch {
    return 'a value that is not an Error was thrown'
  }
}
