import type { Problem } from '../errors.ts'
import { ExactNumber } from './exact-json.ts'

/** Deepest nesting of arrays and objects in arguments and results. */
export const maxDepth = 64
export const tooDeep = `nested deeper than ${maxDepth} levels`
export const protoKey = 'a key named __proto__ is not allowed'

/** A value that cannot travel as JSON: too deep, a cycle, a Set, a key that pollutes prototypes. */
export class PayloadProblem extends Error {
  readonly problem: Problem
  constructor(pointer: string, message: string) {
    super(message)
    this.problem = { pointer, message }
  }
}

/** One step of a JSON Pointer (RFC 6901). */
export const escapePointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/**
 * Whether JSON.stringify writes just this value, so that nothing else has to look at it. Nearly every value passes; others go through
 * `jsonValueOf`. It builds no pointers, because each call pays for it.
 */
export const isPlainJson = (value: unknown, depth = 0): boolean => {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  // NaN fails both comparisons. Of larger integers JSON.stringify writes 17 digits.
  if (typeof value === 'number') return value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER
  if (typeof value !== 'object' || depth === maxDepth) return false
  const prototype = Object.getPrototypeOf(value)
  if (prototype === Array.prototype) {
    const list = value as unknown[]
    for (let at = 0; at < list.length; at++) if (!isPlainJson(list[at], depth + 1)) return false
    return true
  }
  // Rows of databases are full of dates, and their toJSON is known.
  if (prototype === Date.prototype) return !Number.isNaN((value as Date).getTime()) && !Object.hasOwn(value, 'toJSON')
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key]
    if (key === '__proto__' || (inner !== undefined && !isPlainJson(inner, depth + 1))) return false
  }
  return true
}

/**
 * What JSON says of a value: what its `toJSON` returns, the fields of a class, all digits of an integer.
 * @throws PayloadProblem where JSON.stringify would leave something out, or write `{}` or `null` for it
 */
export const jsonValueOf = (given: unknown, key = '', pointer = '', depth = 0): unknown => {
  if (given instanceof ExactNumber) return given
  refuse(given, pointer)
  const value = toJson(given, key)
  if (value !== given) refuse(value, pointer)
  if (typeof value === 'bigint') return new ExactNumber(String(value))
  if (typeof value === 'number') return numberOf(value)
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value
  if (depth === maxDepth) throw new PayloadProblem('', tooDeep)
  if (Array.isArray(value))
    return Array.from(value, (inner, at) => jsonValueOf(inner, String(at), `${pointer}/${at}`, depth + 1))
  const fields: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(value)) {
    const at = `${pointer}/${escapePointer(name)}`
    if (name === '__proto__') throw new PayloadProblem(at, protoKey)
    if (inner !== undefined) fields[name] = jsonValueOf(inner, name, at, depth + 1)
  }
  return fields
}

/** From 1e21 on JSON.stringify writes an exponent, which every language reads as the same double. */
const numberOf = (value: number): number | ExactNumber =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21
    ? new ExactNumber(String(BigInt(value)))
    : value

type Serializable = { toJSON?: unknown } | null | undefined

const toJson = (value: unknown, key: string): unknown => {
  const has = (typeof value === 'object' && value !== null) || typeof value === 'bigint'
  const method = has ? (value as Serializable)?.toJSON : undefined
  return typeof method === 'function' ? method.call(value, key) : value
}

const refuse = (value: unknown, pointer: string): void => {
  const what = whatOf(value)
  if (what !== undefined) throw new PayloadProblem(pointer, `not JSON: ${what}`)
}

/** What a value is that JSON does not have; undefined for one that it has. */
const whatOf = (value: unknown): string | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : String(value)
  if (value === undefined) return 'undefined'
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  if (value instanceof Date && Number.isNaN(value.getTime())) return 'an invalid Date'
  // A Buffer has a toJSON, of which no other language knows what to make.
  if (ArrayBuffer.isView(value)) return `${named(value.constructor.name)}; send base64, as text`
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined
  const kind = Object.prototype.toString.call(value).slice(8, -1)
  if (kind !== 'Object') return `${named(kind)}; ${adviceFor[kind] ?? 'send its parts'}`
  const prototype = Object.getPrototypeOf(value)
  // Another realm, as a test runner's, has an Object of its own.
  if (prototype === null || Object.getPrototypeOf(prototype) === null || Object.keys(value).length > 0) return undefined
  return `${named(String(value.constructor?.name))} without fields of its own; give it a toJSON`
}

const named = (kind: string): string => `${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind}`

const adviceFor: Record<string, string> = {
  Set: 'send an array, [...set]',
  Map: 'send an object, Object.fromEntries(map)',
  Error: 'send its message',
  RegExp: 'send its source',
  Promise: 'await it',
  AsyncFunction: 'call it',
  ArrayBuffer: 'send base64, as text',
  Blob: 'send base64, as text',
  Headers: 'send an object, Object.fromEntries(headers)',
  URLSearchParams: 'send an object, Object.fromEntries(params)',
}
