import type { ServerResponse } from 'node:http'
import { HubError, shown } from '../wire/errors.ts'
import { namesOf, refuseHubOptions, refuseWait } from '../wire/options.ts'

type Headers = Record<string, string | string[] | undefined> | { get(name: string): string | null }

/** A request of any framework: of `node:http`, Express, Fastify, or a web `Request`. */
export interface IncomingRequest {
  readonly headers: Headers
  /** Fires when the visitor has gone. */
  readonly signal?: AbortSignal
}

/** What is said of a call that answers a request. */
export interface RequestOptions {
  /** How long the visitor waits at most. The header `pshub-timeout-ms` makes it less, and not more. Default: the task's own. */
  timeoutMs?: number
  /** Where the request has no `signal`, as in Express and `node:http`: its response, which is closed when the visitor goes. */
  response?: ServerResponse
}

const requestOptionNames = namesOf<RequestOptions>({ timeoutMs: true, response: true })
const timeoutHeader = 'pshub-timeout-ms'
const maxTimeoutMs = 10 * 60_000

/**
 * The options of a call that answers this request: it waits no longer than whoever sent it does, and is given up when they go.
 * @throws HubError InvalidArgs when the header `pshub-timeout-ms` is no such time
 */
export const callOptionsOf = (
  request: IncomingRequest,
  options: RequestOptions = {},
): { timeoutMs?: number; signal?: AbortSignal } => {
  refuseHubOptions('callOptionsOf', options, requestOptionNames)
  refuseWait('callOptionsOf', options)
  const { timeoutMs, response } = options
  const asked = timeoutOf(request)
  const least = asked === undefined || timeoutMs === undefined ? (asked ?? timeoutMs) : Math.min(asked, timeoutMs)
  const signal = response ? signalOf(response) : request.signal
  return { ...(least === undefined ? {} : { timeoutMs: least }), ...(signal ? { signal } : {}) }
}

/**
 * How long whoever sent a request waits for its answer, as its header `pshub-timeout-ms` says; undefined when it does not.
 * @throws HubError InvalidArgs when that is no whole number from 1 to 600000
 */
export const timeoutOf = ({ headers }: Pick<IncomingRequest, 'headers'>): number | undefined => {
  const header = typeof headers.get === 'function' ? headers.get(timeoutHeader) : valueIn(headers as Plain)
  if (header === undefined || header === null) return undefined
  const timeoutMs = /^\d{1,6}$/.test(header) ? Number(header) : Number.NaN
  if (timeoutMs >= 1 && timeoutMs <= maxTimeoutMs) return timeoutMs
  throw new HubError(
    'InvalidArgs',
    `The header ${timeoutHeader} must be a whole number from 1 to ${maxTimeoutMs}, not ${shown(header)}.`,
  )
}

type Plain = Record<string, string | string[] | undefined>

/** Node joins what is sent twice by commas, which is no number. */
const valueIn = (headers: Plain): string | undefined => headers[timeoutHeader]?.toString()

/** A request may take many calls; its response hears of one listener. */
const signals = new WeakMap<ServerResponse, AbortSignal>()

/** Fires when the visitor goes before the answer is sent. Of one response it is the same each time. */
export const signalOf = (response: ServerResponse): AbortSignal => {
  const known = signals.get(response)
  if (known) return known
  const signal = newSignalOf(response)
  signals.set(response, signal)
  return signal
}

const newSignalOf = (response: ServerResponse): AbortSignal => {
  const gone = new AbortController()
  const leave = () => {
    if (!response.writableFinished) gone.abort(new Error('the client closed its connection'))
  }
  if (response.destroyed) leave()
  else response.once('close', leave)
  return gone.signal
}
