import { randomBytes } from 'node:crypto'

/*
 * JSON whose numbers keep their text. JavaScript reads 1253261109769874438 as 1253261109769874400 and 1e400 as Infinity; whatever passes
 * values on (the gateway, MCP, the command line, a forwarder) reads and writes them with these functions, and changes none.
 */

/** A number as its JSON text, for numbers that JavaScript would write differently. */
export class ExactNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  /** The number as it was written. */
  toString(): string {
    return this.text
  }
  /** JSON.stringify alone rounds: use stringifyExact. */
  toJSON(): number | string {
    if (!isWriting) return Number(this.text)
    hasMarks = true
    return `${mark}${this.text}`
  }
}

let isWriting = false
let hasMarks = false
/** No text of somebody else's has it. */
const mark = `#${randomBytes(15).toString('base64url')}#`
const marked = new RegExp(`"${mark}([^"]*)"`, 'g')

/** Like JSON.stringify, with each ExactNumber as its text. */
export const stringifyExact = (value: unknown, indent?: number, replacer?: Replacer): string => {
  const text = withMarks(value, indent, replacer)
  return hasMarks ? withoutMarks(text) : text
}

/** A replacer like that of JSON.stringify. */
export type Replacer = (key: string, value: unknown) => unknown

const withMarks = (value: unknown, indent?: number, replacer?: Replacer): string => {
  isWriting = true
  hasMarks = false
  try {
    return JSON.stringify(value, replacer, indent)
  } finally {
    isWriting = false
  }
}

/**
 * For a library that calls JSON.stringify itself: converts a value to one whose JSON has marks, which withoutMarks
 * turns back into numbers.
 */
export const toMarks = (value: unknown): unknown => {
  const text = withMarks(value)
  return hasMarks ? JSON.parse(text) : value
}

/** Turns the marks of toMarks in a JSON text back into numbers. */
export const withoutMarks = (text: string): string => (text.includes(mark) ? text.replace(marked, '$1') : text)

/** Whether any number of a text may be written in another way than JavaScript writes it: a long one, a fraction, an exponent, -0. */
const mayChange = /\d[.eE]|-0|\d{16}/
/** Strings and numbers of some JSON. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Like JSON.parse, with an ExactNumber for each number that JavaScript would write differently. */
export const parseExact = (text: string): unknown =>
  mayChange.test(text)
    ? withNumbers(text, (written, number) => (isKept(written, number) ? number : new ExactNumber(written)))
    : JSON.parse(text)

/** Large integers are written with all digits of the double, and not as JavaScript shows them. */
const isKept = (written: string, number: number): boolean =>
  String(number) === written && (!Number.isInteger(number) || Number.isSafeInteger(number) || written.includes('e'))

/** As JSON.parse, with what `read` makes of each number. */
export const withNumbers = (text: string, read: (written: string, number: number) => unknown): unknown => {
  // As strings their texts survive; only a number of the one is grafted from a string of the other.
  const rounded: unknown = JSON.parse(text)
  const written: unknown = JSON.parse(text.replace(tokens, token => (token.startsWith('"') ? token : `"${token}"`)))
  return grafted(rounded, written, read)
}

const grafted = (value: unknown, written: unknown, read: (written: string, number: number) => unknown): unknown => {
  if (typeof value === 'number') return read(written as string, value)
  if (typeof value !== 'object' || value === null) return value
  const [to, from] = [value, written] as Record<string, unknown>[]
  // An own key __proto__ must not become a prototype.
  for (const key of Object.keys(value))
    Object.defineProperty(to, key, {
      value: grafted(to![key], from![key], read),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  return value
}
