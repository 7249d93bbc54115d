import { ConfigError, isFailedStatus, messageOf } from '../../wire/errors.ts'
import { namesOf, refuseOptions } from '../../wire/options.ts'
import { clearTimeout, setTimeout } from '../../wire/timers.ts'
import { version } from '../../wire/version.ts'
import {
  checkedFormat,
  type ForwardedJob,
  type ForwardFormat,
  type ForwardTarget,
  type NotForwarded,
} from '../target.ts'
import { signatureOf, signingKeys } from './signature.ts'

/** A webhook, and how its requests are signed. */
export interface WebhookOptions {
  /** Address to post each job to: http or https. */
  url: string
  /** Secrets that sign the requests; several during a change of secrets. Default: unsigned. */
  secret?: string | readonly string[] | undefined
  /** Further headers, such as `authorization`. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Formats a job as a body. Default: all of it as JSON. */
  format?: ForwardFormat | undefined
}

const optionNames = namesOf<WebhookOptions>({ url: true, secret: true, headers: true, format: true })
/** No other side keeps a job waiting for longer. */
const maxRetryAfterMs = 24 * 3600 * 1000
/** Answers that may be others a moment later, as all from 500 on. */
const passing = [408, 425, 429]
/** What else were said of these would fail each request, go unheard or, of its length, have it hang. */
const ownHeaders = /^(webhook-.*|connection|content-length|expect|host|keep-alive|transfer-encoding|upgrade)$/
/** So much of an answer is read, and so many characters of it are told. */
const maxAnswerBytes = 65_536
const maxToldChars = 200
/** And for so long, once its status is known. */
const answerMs = 1000

/** Posts each job in a request of its own. A status of 200 to 299 confirms it; redirects are not followed. @throws ConfigError */
export const webhook = (options: WebhookOptions): ForwardTarget => {
  refuseOptions('webhook', options, optionNames)
  const { url, secret, headers } = options
  const address = addressOf(url)
  const keys = secret === undefined ? [] : signingKeys(secret)
  const common = headersOf(headers)
  const format = checkedFormat('webhook', options.format)
  const post = async (job: ForwardedJob, signal: AbortSignal): Promise<NotForwarded | undefined> => {
    try {
      const body = format(job)
      const own = headersFor(job, body, common, keys)
      const response = await fetch(address, { method: 'POST', headers: own, body, redirect: 'manual', signal })
      const answer = beginningOf(response)
      // The status confirms it, whatever comes behind that.
      return response.ok ? undefined : verdictOf(job.id, response, await answer)
    } catch (error) {
      return { id: job.id, reason: reasonOf(error) }
    }
  }
  return {
    // Each is confirmed by itself: a slow one keeps no other.
    batch: 1,
    async forward(batch, signal) {
      const failed = (await Promise.all(batch.map(job => post(job, signal)))).filter(each => each !== undefined)
      const missed = new Set(failed.map(({ id }) => id))
      return { taken: batch.map(({ id }) => id).filter(id => !missed.has(id)), failed }
    },
  }
}

const headersFor = (job: ForwardedJob, body: string, common: Headers, keys: readonly Buffer[]): Headers => {
  const { id, traceparent, tracestate } = job
  const seconds = Math.floor(Date.now() / 1000)
  const headers = new Headers(common)
  headers.set('webhook-id', id)
  headers.set('webhook-timestamp', String(seconds))
  if (keys.length > 0) headers.set('webhook-signature', signatureOf(keys, id, seconds, body))
  if (traceparent !== undefined) headers.set('traceparent', traceparent)
  if (tracestate !== undefined) headers.set('tracestate', tracestate)
  return headers
}

/** @throws ConfigError, which does not show the whole of it: it may hold a secret */
const addressOf = (url: unknown): URL => {
  const address = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (address?.protocol !== 'http:' && address?.protocol !== 'https:')
    throw new ConfigError("webhook: 'url' must begin with http:// or https://, as in https://example.com/hooks.")
  if (address.username !== '' || address.password !== '')
    throw new ConfigError("webhook: 'url' must hold no user and no password; give the header 'authorization' instead.")
  return address
}

/** @throws ConfigError */
const headersOf = (given: WebhookOptions['headers']): Headers => {
  try {
    const headers = new Headers({
      'content-type': 'application/json',
      'user-agent': `pshub/${version}`,
      ...lowered(given),
    })
    for (const name of headers.keys())
      if (ownHeaders.test(name)) throw new Error(`${name} is set by pshub for each job`)
    return headers
  } catch (error) {
    throw new ConfigError(`webhook: 'headers' cannot be sent: ${messageOf(error)}.`)
  }
}

const lowered = (headers: WebhookOptions['headers'] = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const verdictOf = (id: string, { status, headers }: Response, answer: string): NotForwarded => {
  const isPassing = status >= 500 || passing.includes(status)
  const told = answer === '' ? '' : `: ${answer}`
  return {
    id,
    reason: `HTTP ${status}${told}`,
    isFinal: !isPassing,
    retryAfterMs: isPassing ? retryAfterOf(headers.get('retry-after')) : 0,
    status: isFailedStatus(status) ? status : undefined,
  }
}

/** Seconds, or a date. */
const retryAfterOf = (value: string | null): number => {
  if (value === null) return 0
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return ms > 0 ? Math.min(ms, maxRetryAfterMs) : 0
}

/**
 * What an answer begins with, as one line, however it ends. All of a short one is read, so that its connection can be used again. Never
 * rejects.
 */
const beginningOf = async ({ body }: Response): Promise<string> => {
  if (!body) return ''
  const reader = body.getReader()
  const leave = () => reader.cancel().catch(() => undefined)
  const timer = setTimeout(leave, answerMs)
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    while (bytes <= maxAnswerBytes) {
      const { done, value } = await reader.read()
      if (done) break
      bytes += value.length
      if (text.length < maxToldChars) text += decoder.decode(value, { stream: true })
    }
  } catch {
    // It was cut off; what came of it is told.
  }
  clearTimeout(timer)
  void leave()
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, maxToldChars)
}

/** Of fetch, whose own errors say nothing but that it failed. */
const reasonOf = (error: unknown): string => {
  const { cause } = error as { cause?: unknown }
  const { code } = (cause ?? {}) as NodeJS.ErrnoException
  return cause instanceof Error ? cause.message || code || messageOf(error) : messageOf(error)
}
