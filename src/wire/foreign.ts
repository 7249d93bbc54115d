import { type Bigints, parseNumbers } from './json/numbers.ts'
import { nestsDeeperThan } from './payload.ts'

/*
 * What is in Redis was written by others, and may be anything. Readers of the registry take out of it, by these checks, what
 * they know and nothing else; so what a stranger adds costs nobody anything.
 */

/** A record that cannot be read counts as absent, and is shown as what it is. */
export class Unreadable extends Error {}

/** A record in Redis that is not valid for its key and is ignored. */
export interface UnreadableRecord {
  key: string
  /** Field of a hash; absent for the whole key. */
  field?: string
  /** A part of a sentence, such as `it is not JSON`. */
  reason: string
}

/** Longest card of a task, and longest of all other records, in characters. No worker writes longer ones. */
export const maxCardLength = 262_144
export const maxRecordLength = 1_048_576
/** Longest record of what a hub refused. */
export const maxUnansweredLength = 65_536
/** Deeper than any schema that is used, and so that whatever is done with it by recursion ends well. */
export const maxNesting = 1024
/** As many as nobody counts; what a stranger writes must not make sums lose their precision. */
const maxCount = 2 ** 40

/** @throws Unreadable for what is no JSON object, longer than `maxLength` or nested too deeply */
export const objectOf = (text: string, maxLength: number, bigints: Bigints = 'number'): Record<string, unknown> => {
  if (text.length > maxLength) throw new Unreadable(`it is longer than ${maxLength} characters`)
  if (nestsDeeperThan(text, maxNesting)) throw new Unreadable(`it is nested deeper than ${maxNesting} levels`)
  let value: unknown
  try {
    value = parseNumbers(text, bigints)
  } catch {
    throw new Unreadable('it is not JSON')
  }
  if (!isObject(value)) throw new Unreadable('it is not a JSON object')
  return value
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A number of something that can be measured. */
export const isAmount = (value: unknown, most = Number.MAX_VALUE): value is number =>
  typeof value === 'number' && value >= 0 && value <= most

/** A number of things. */
export const isCount = (value: unknown, most: number = maxCount): value is number =>
  Number.isInteger(value) && isAmount(value, most)

/** Microseconds, also those since 1970. */
export const isMicros = (value: unknown): value is number => isCount(value, Number.MAX_SAFE_INTEGER)

/** A moment as milliseconds since 1970 that a date can be made of. */
export const isMoment = (ms: unknown): ms is number => isAmount(ms, 8.64e15)

/** A number of things, or a moment, that stands in Redis as text. Undefined for what is none, whoever wrote it. */
export const numberIn = (text: string | null | undefined): number | undefined =>
  typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : undefined

/** What is no text counts as an empty one, and a longer one is cut. */
export const textOf = (value: unknown, maxLength: number): string =>
  typeof value === 'string' ? value.slice(0, maxLength) : ''

/** A name that keys and lists are made of. @throws Unreadable */
export const nameOf = (record: Record<string, unknown>, member: string): string => {
  const name = record[member]
  if (typeof name === 'string' && name !== '' && name.length <= maxNameLength) return name
  throw new Unreadable(`its ${member} is not a string of 1 to ${maxNameLength} characters`)
}

/** Longer than any valid name, so that a name that is not valid can be shown as it is. */
const maxNameLength = 256
