import type { Problem } from './errors.ts'
import { ConfigError, shown } from './errors.ts'
import { isAmount, isObject } from './foreign.ts'
import { rounded } from './json/numbers.ts'
import { namesOf, wrongOptions } from './options.ts'

/*
 * What comes to a caller's reply list before the reply, where its request asks for that: chunks, which are numbered from 1, and how far
 * the handler says that it is. See PROTOCOL.md, "Streams".
 */

/** Progress of a handler. */
export interface Progress {
  /** Units done, at least 0. */
  done: number
  /** Units in total; omit it if unknown. */
  total?: number | undefined
  /** Message for people: at most 200 characters, the rest is cut. */
  message?: string | undefined
}

/** What comes before a reply. */
/** `problem`: why the value cannot be given to JavaScript code. */
export type StreamPart =
  | { id: string; chunk: number; value: unknown; problem?: Problem }
  | { id: string; progress: Progress }

/** What a request asks for beside its reply. */
export interface Asked {
  /** So many chunks may lie in Redis or in the caller untaken; 0: the caller wants none, and gets the whole result. */
  window: number
  progress: boolean
}

/** The window that hubs ask for. */
export const streamWindow = 256
const mostWindow = 65_536
/** A caller says so long what it has taken, before the worker takes it for gone; it says so again every `takenAgainMs`. */
export const takenMs = 10_000
export const takenAgainMs = 3000
const longestMessage = 200

/** Members of a request; '' where nothing is asked for. */
export const askedText = ({ window, progress }: Asked): string =>
  (window > 0 ? `,"stream":${window}` : '') + (progress ? ',"progress":true' : '')

/** Undefined for a request that asks for nothing, as nearly all do. */
export const readAsked = ({ stream, progress }: Record<string, unknown>): Asked | undefined => {
  const window = Number.isInteger(stream) && (stream as number) > 0 ? Math.min(stream as number, mostWindow) : 0
  return window > 0 || progress === true ? { window, progress: progress === true } : undefined
}

/** `value` is JSON already. */
export const chunkText = (id: string, chunk: number, value: string): string =>
  `{"id":"${id}","chunk":${chunk},"value":${value}}`

export const progressText = (id: string, progress: Progress): string =>
  `{"id":"${id}","progress":${JSON.stringify(progress)}}`

/** What came before a reply; undefined for what is neither a chunk nor a progress. */
export const readPart = (id: string, { chunk, value, progress }: Record<string, unknown>): StreamPart | undefined => {
  if (Number.isSafeInteger(chunk) && (chunk as number) > 0)
    return value === undefined ? undefined : { id, chunk: chunk as number, value }
  const read = readProgress(rounded(progress))
  return read && { id, progress: read }
}

/** What anybody wrote as a progress; undefined for what is none. */
const readProgress = (value: unknown): Progress | undefined => {
  if (!isObject(value) || !isAmount(value.done)) return undefined
  const { done, total, message } = value
  return {
    done,
    ...(isAmount(total) ? { total } : {}),
    ...(typeof message === 'string' ? { message: message.slice(0, longestMessage) } : {}),
  }
}

/** The same of a text. */
export const readProgressText = (text: unknown): Progress | undefined => {
  if (typeof text !== 'string' || text.length > mostText) return undefined
  try {
    return readProgress(JSON.parse(text))
  } catch {
    return undefined
  }
}
const mostText = 4096

const progressNames = namesOf<Progress>({ done: true, total: true, message: true })

/** What a handler told, as it travels. @throws ConfigError for what is no progress */
export const checkProgress = (given: Progress): Progress => {
  const wrong = wrongOptions(given, progressNames, 'member')
  if (wrong !== undefined) throw new ConfigError(`ctx.progress: ${wrong}`)
  const { done, total, message } = given
  for (const [name, value] of Object.entries({ done, total }))
    if (!isAmount(value) && (name === 'done' || value !== undefined))
      throw new ConfigError(`ctx.progress: ${name} must be a number of at least 0, not ${shown(value)}.`)
  if (message !== undefined && typeof message !== 'string')
    throw new ConfigError(`ctx.progress: message must be a string, not ${shown(message)}.`)
  return readProgress(given)!
}
