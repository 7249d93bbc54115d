import type { Problem } from '../errors.ts'
import { ExactNumber, parseExact, withNumbers } from './exact-json.ts'
import { escapePointer } from './json-value.ts'

/**
 * How JavaScript code receives integers beyond 2^53 - 1. `reject`: the value is rejected; `number`: rounded, as
 * JSON.parse does; `bigint`: as a BigInt; `exact`: each number that JavaScript would write differently is an
 * ExactNumber.
 */
export type Bigints = 'reject' | 'number' | 'bigint' | 'exact'

/** Nearly no text has so long a number, or one with so large an exponent. */
const large = /\d{16}|\d[eE]\+?0*\d{3}/g

/** Whether a text, from there on, may have a number that JavaScript cannot hold. */
export const mayHaveLarge = (text: string, from = 0): boolean => {
  large.lastIndex = from
  return large.test(text)
}

const isInteger = /^-?\d+$/

/** JSON.parse, but what JavaScript cannot hold is a BigInt or an ExactNumber. */
export const parseNumbers = (text: string, bigints: Bigints, from = 0): unknown => {
  if (bigints === 'exact') return parseExact(text)
  if (bigints === 'number' || !mayHaveLarge(text, from)) return JSON.parse(text)
  return withNumbers(text, (written, number) => {
    if (Number.isFinite(number) && (Number.isSafeInteger(number) || !isInteger.test(written))) return number
    return bigints === 'bigint' && isInteger.test(written) ? BigInt(written) : new ExactNumber(written)
  })
}

/** The first number in a value of parseNumbers that JavaScript code cannot be given. */
export const largeIn = (value: unknown, pointer = ''): Problem | undefined => {
  if (value instanceof ExactNumber) {
    const shown = value.text.length > 40 ? `${value.text.slice(0, 40)}…` : value.text
    const why = isInteger.test(value.text)
      ? 'is beyond 2^53 - 1, where JavaScript rounds: set PSHUB_BIGINT=bigint to get a BigInt, or send it as a string'
      : 'is larger than any number of JavaScript: send it as a string'
    return { pointer, message: `${shown} ${why}` }
  }
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const found = largeIn(inner, `${pointer}/${escapePointer(key)}`)
    if (found) return found
  }
  return undefined
}

/** The same value as JSON.parse reads it: schemas are checked by that. */
export const rounded = (value: unknown): unknown => {
  if (value instanceof ExactNumber || typeof value === 'bigint') return Number(String(value))
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]))
}
