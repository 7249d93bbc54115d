import { isObject } from '../../../src/schema-diff/schema.ts'
import { formatted } from './format.ts'
import { type JsonNode, readJson, writtenJson } from './text.ts'

/**
 * Values of JSON whose numbers stay what was written. A whole number that JavaScript would round is a BigInt; `jsonText` and
 * `readExact` take the place of JSON.stringify and JSON.parse, wherever such a value may be.
 */

/** A number as a value, or why there is none that says the same. */
export const numberOf = (text: string): { value: number | bigint } | { problem: string } => {
  const number = Number(text)
  if (!Number.isFinite(number)) return { problem: `${short(text)} is larger than a number can be.` }
  const { digits, exponent, sign } = decimal(text)
  const rounded = decimal(String(number))
  if (digits === rounded.digits && exponent === rounded.exponent) return { value: number }
  if (exponent >= 0) return { value: BigInt(`${sign}${digits}${'0'.repeat(exponent)}`) }
  return {
    problem: `${short(text)} would be changed to ${number}: a fraction has up to 17 digits. Send it as text, if the task takes that.`,
  }
}

/** The digits of a number without zeros at either end, and where its point is. */
const decimal = (text: string): { sign: string; digits: string; exponent: number } => {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const significant = `${whole}${fraction}`.replace(/^0+/, '')
  const digits = significant.replace(/0+$/, '')
  const exponent = digits === '' ? 0 : Number(power) - fraction.length + significant.length - digits.length
  return { sign: sign === '-' ? '-' : '', digits, exponent }
}

const short = (digits: string): string => (digits.length > 30 ? `${digits.slice(0, 30)}...` : digits)

/** A value as JSON.stringify writes it, BigInts as whole numbers. */
export const jsonText = (value: unknown, indent?: 2): string => {
  if (!hasBigInt(value)) return JSON.stringify(value, undefined, indent)
  const node = nodeOf(value)
  return indent === undefined ? writtenJson(node) : formatted(node)
}

const hasBigInt = (value: unknown): boolean =>
  typeof value === 'bigint' ||
  (Array.isArray(value) ? value.some(hasBigInt) : isObject(value) && Object.values(value).some(hasBigInt))

/** A value as it would be written. What is undefined is left out of objects, as JSON has no word for it. */
export const nodeOf = (value: unknown): JsonNode => {
  if (typeof value === 'bigint') return { kind: 'number', at: 0, text: String(value) }
  if (Array.isArray(value)) return { kind: 'array', at: 0, items: value.map(nodeOf) }
  if (!isObject(value)) return readJson(JSON.stringify(value ?? null))
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return { kind: 'object', at: 0, members: members.map(([key, inner]) => [key, nodeOf(inner)]) }
}

/** Reads JSON of the service. Only where a number is so long that it may be rounded this takes longer than JSON.parse. */
export const readExact = (text: string): unknown =>
  /\d{16}/.test(text) ? exactValue(readJson(text)) : JSON.parse(text)

const exactValue = (node: JsonNode): unknown => {
  if (node.kind === 'object') return Object.fromEntries(node.members.map(([key, inner]) => [key, exactValue(inner)]))
  if (node.kind === 'array') return node.items.map(exactValue)
  if (node.kind !== 'number') return node.value
  const number = numberOf(node.text)
  return 'value' in number ? number.value : Number(node.text)
}

/** The same value with rounded numbers, for those who know no BigInts. */
export const rounded = (value: unknown): unknown => {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]))
}
