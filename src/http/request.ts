import type { ServerResponse } from 'node:http'
import { HubError, shown } from '../wire/errors.ts'
import { namesOf, refuseHubOptions, refuseWait } from '../wire/options.ts'

type Headers = Record<string, string | string[] | undefined> | { get(name: string): string | null }

/** A request of any framework: of `node:http`, Express, Fastify, or a web `Request`. */
export interface IncomingRequest {
  readonly headers: Headers
  /** Aborted when the visitor disconnects. */
  readonly signal?: AbortSignal
}

/** Options for a call that answers a request. */
export interface RequestOptions {
  /** Maximum wait of the visitor. The header `pshub-timeout-ms` can shorten it. Default: the timeout of the task. */
  timeoutMs?: number
  /** For requests without a `signal`, as in Express and `node:http`: the response, which closes when the visitor disconnects. */
  response?: ServerResponse
}

const requestOptionNames = namesOf<RequestOptions>({ timeoutMs: true, response: true })
const timeoutHeader = 'pshub-timeout-ms'
const maxTimeoutMs = 10 * 60_000

/**
 * Options for a call that answers this request: it waits no longer than the visitor, and is cancelled when they
 * disconnect.
 *
 * @throws HubError InvalidArgs for an invalid header `pshub-timeout-ms`
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
 * How long the visitor waits, from the header `pshub-timeout-ms`; undefined without it.
 *
 * @throws HubError InvalidArgs when it is not a whole number from 1 to 600000
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

/** Aborted when the visitor disconnects before the response is sent. Returns the same signal for the same response. */
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
