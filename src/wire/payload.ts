import { HubError, messageOf, type Problem } from './errors.ts'
import { ExactNumber, stringifyExact } from './json/exact-json.ts'
import {
  escapePointer,
  isPlainJson,
  jsonValueOf,
  maxDepth,
  PayloadProblem,
  protoKey,
  tooDeep,
} from './json/json-value.ts'
import { type Bigints, parseNumbers } from './json/numbers.ts'

/** `value` as JSON text. Throws PayloadProblem for what JSON cannot say, what is nested too deep, and a key named `__proto__`. */
export const encodePayload = (value: unknown): string => encoded(value, false)

/** `isPlain`: it was looked at. */
const encoded = (value: unknown, isPlain: boolean): string => {
  try {
    return isPlain || isPlainJson(value) ? JSON.stringify(value) : stringifyExact(jsonValueOf(value))
  } catch (cause) {
    if (cause instanceof PayloadProblem) throw cause
    throw new PayloadProblem('', cause instanceof RangeError ? tooDeep : `not JSON: ${messageOf(cause)}`)
  }
}

/**
 * Parses JSON text that came from somebody else, with the same limits as encodePayload. What its large numbers become `bigints` says; none is
 * looked for ahead of `from`. Throws PayloadProblem.
 */
export const decodePayload = (text: string, bigints: Bigints = 'number', from = 0): unknown => {
  if (nestsDeeperThan(text, maxDepth + 1)) throw new PayloadProblem('', tooDeep)
  let value: unknown
  try {
    value = parseNumbers(text, bigints, from)
  } catch {
    throw new PayloadProblem('', 'not JSON')
  }
  // Escapes can spell the key in other ways, so any sign of one sends the value through the slow check.
  if (text.includes('__proto__') || text.includes('\\u')) refuseProto(value, '')
  return value
}

/** The same of what may be anything: what is no JSON that can be used is a text, a number that JavaScript cannot hold an ExactNumber. */
export const readAnyPayload = (text: string): unknown => {
  try {
    return decodePayload(text, 'reject')
  } catch {
    return text
  }
}

/** Two characters are needed per level and few payloads have many brackets, so the scan of each character is rare. */
export const nestsDeeperThan = (text: string, limit: number): boolean =>
  text.length > 2 * limit &&
  countUpTo(text, '[', limit) + countUpTo(text, '{', limit) > limit &&
  scanFindsDeeperThan(text, limit)

const countUpTo = (text: string, bracket: string, limit: number): number => {
  let count = 0
  for (let at = text.indexOf(bracket); at !== -1 && count <= limit; at = text.indexOf(bracket, at + 1)) count++
  return count
}

const scanFindsDeeperThan = (text: string, limit: number): boolean => {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (inString) {
      if (char === 92) at++
      else if (char === 34) inString = false
    } else if (char === 34) inString = true
    else if (char === 91 || char === 123) {
      if (++depth > limit) return true
    } else if (char === 93 || char === 125) depth--
  }
  return false
}

/** Throws when an own key named `__proto__` is anywhere in a parsed value. */
const refuseProto = (value: unknown, pointer: string): void => {
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) {
    const inner = `${pointer}/${escapePointer(key)}`
    if (key === '__proto__') throw new PayloadProblem(inner, protoKey)
    refuseProto((value as Record<string, unknown>)[key], inner)
  }
}

/** Bytes of the text as UTF-8; most texts are so short that no counting is needed to know that they fit. */
export const exceeds = (text: string, maxBytes: number): boolean =>
  text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes)

/**
 * A value as JSON that fits a limit and a schema, or what is wrong with it; undefined when it is larger. What counts is what travels:
 * a Date is a string there, an undefined property is absent.
 */
export const encodeFitting = (
  value: unknown,
  maxBytes: number,
  check: ((value: unknown, size: number) => Problem[]) | undefined,
): string | Problem[] | undefined => {
  try {
    const isPlain = isPlainJson(value)
    const json = encoded(value, isPlain)
    if (exceeds(json, maxBytes)) return undefined
    if (!check || (isPlain && check(value, json.length).length === 0)) return json
    const problems = check(JSON.parse(json), json.length)
    return problems.length === 0 ? json : problems
  } catch (error) {
    if (error instanceof PayloadProblem) return [error.problem]
    throw error
  }
}

/** An InvalidArgs or InvalidResult whose message names each offending field. */
export const invalid = (
  code: 'InvalidArgs' | 'InvalidResult',
  problems: Problem[],
  details: { task?: string; id?: string },
): HubError => {
  const what = code === 'InvalidArgs' ? 'arguments' : 'result'
  const shown = problems.slice(0, 5).map(({ pointer, message }) => `${pointer === '' ? what : pointer} ${message}`)
  const more = problems.length > shown.length ? `; and ${problems.length - shown.length} more` : ''
  return new HubError(code, `The ${what} of ${details.task ?? 'the task'}: ${shown.join('; ')}${more}.`, {
    ...details,
    data: { problems },
  })
}

/**
 * As RFC 8785 (JSON Canonicalization Scheme) writes it, in whatever order keys were written and in whatever language; but integers beyond 2^53 - 1
 * with all their digits, which it would round.
 */
export const canonical = (value: unknown): string => {
  if (value instanceof ExactNumber) return value.text
  if (Array.isArray(value)) return `[${value.map(canonical)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`)}}`
}

/** The same of JSON that was written in another way. */
export const canonicalText = (json: string): string => canonical(parseNumbers(json, 'reject'))
