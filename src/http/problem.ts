import type { ServerResponse } from 'node:http'
import { type ErrorCode, errorTable, HubError, isErrorCode, isFailedStatus, type OwnCode } from '../wire/errors.ts'

/** The body of an answer that says what went wrong: RFC 9457, "problem details". */
export interface ProblemDetails {
  /** `urn:problem-type:pshub:<code>`; of a code that the worker chose there is none. */
  type?: string
  /** What the code means, the same each time. */
  title: string
  status: number
  /** What is the matter this time: left out where that is not the visitor's to know. */
  detail?: string
  code: ErrorCode | OwnCode
  /** Whether the handler may have run. */
  ran: 'no' | 'maybe' | 'yes'
  retryable: boolean
  /** As of the error: `{ problems }` of wrong arguments, of a worker's own code what that chose. */
  data?: unknown
  /** The task that was called, and the id of the call: only with `detailed`. */
  task?: string
  id?: string
}

/** How much an answer says. */
export interface ProblemOptions {
  /** Always with `detail` and `data`, and with `task` and `id`: for visitors who may know the tasks of the hub, as those of the registry. */
  detailed?: boolean
}

/** An answer that says what went wrong, for any framework. */
export interface HttpProblem {
  status: number
  /** `content-type`, and `retry-after` where a later try may succeed. */
  headers: Record<string, string>
  body: ProblemDetails
}

/** Of these the message is about what the visitor sent. What others say may have names of tasks, hosts and files in it. */
const isAboutRequest: ReadonlySet<ErrorCode> = new Set(['InvalidArgs', 'PayloadTooLarge', 'Overloaded', 'NoSuchJob'])

/**
 * The answer that fits the error of a call: its status, `retry-after`, and a body of `application/problem+json`. Undefined for what is no
 * HubError, a mistake in your own code, which is the framework's to answer. The message and data of an error are told where they are about what
 * the visitor sent, or where the handler chose a code of its own; of any other it is what the code means. Log the error itself.
 */
export const problemOf = (error: unknown, { detailed = false }: ProblemOptions = {}): HttpProblem | undefined => {
  if (!isHubError(error)) return undefined
  const { code, kind, message, ran, retryable, data, task, id } = error
  // Who makes an error may give it any, and no server sends those.
  const status = isFailedStatus(error.status) ? error.status : errorTable.TaskFailed.status
  const isOwn = code !== kind
  const isTold = detailed || isOwn || isAboutRequest.has(kind)
  const wait = retryAfterOf(error)
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...(wait === undefined ? {} : { 'retry-after': wait }),
    },
    body: {
      ...(isOwn ? {} : { type: `urn:problem-type:pshub:${code}` }),
      title: !isOwn && isErrorCode(kind) ? errorTable[kind].meaning : code,
      status,
      ...(isTold ? { detail: message } : {}),
      code,
      ran,
      retryable,
      ...(isTold && (detailed ? data !== undefined : isJson(data)) ? { data } : {}),
      ...(detailed && task !== undefined ? { task } : {}),
      ...(detailed && id !== undefined ? { id } : {}),
    },
  }
}

/**
 * Also of another copy of pshub: a bundle has one in each of its parts, `sharedHub` is of whichever came first, and a package may bring a version of
 * its own.
 */
const isHubError = (error: unknown): error is HubError => {
  if (error instanceof HubError) return true
  if (!(error instanceof Error) || error.name !== 'HubError') return false
  const { code, kind, ran } = error as Partial<HubError>
  return [code, kind, ran].every(each => typeof each === 'string')
}

/** What is in an error that nobody sent may be anything. */
const isJson = (data: unknown): boolean => {
  try {
    return JSON.stringify(data) !== undefined
  } catch {
    return false
  }
}

/** The same as a web `Response`, for Next.js and whatever else takes one. Throws what is no HubError on. */
export const problemResponse = (error: unknown): Response => {
  const problem = problemOf(error)
  if (!problem) throw error
  return new Response(JSON.stringify(problem.body), { status: problem.status, headers: problem.headers })
}

/** The same through a response of `node:http`, which that of Express is. False: nothing was sent, for it is no HubError, or an answer has begun. */
export const sendProblem = (response: ServerResponse, error: unknown): boolean => {
  const problem = problemOf(error)
  if (!problem || response.headersSent) return false
  const body = JSON.stringify(problem.body)
  for (const name of ofAnotherBody) response.removeHeader(name)
  response.writeHead(problem.status, { ...problem.headers, 'content-length': Buffer.byteLength(body) }).end(body)
  return true
}

/** What a handler had said of the answer that it did not come to. */
const ofAnotherBody = [
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-range',
  'transfer-encoding',
  'etag',
  'last-modified',
]

/** As of PutOff. */
const longestWaitMs = 10 * 365 * 24 * 3600 * 1000

/** The value of `Retry-After`, in seconds: as long as the error says, at least 1 and at most ten years. Undefined where a later try would not help. */
export const retryAfterOf = ({ retryable, data }: HubError): string | undefined => {
  if (!retryable) return undefined
  const { retryAfterMs, waitMs } = (data ?? {}) as { retryAfterMs?: unknown; waitMs?: unknown }
  const ms = [retryAfterMs, waitMs].find(each => typeof each === 'number' && !Number.isNaN(each)) as number | undefined
  return String(Math.max(1, Math.ceil(Math.min(ms ?? 0, longestWaitMs) / 1000)))
}
