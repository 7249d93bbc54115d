import { isIP } from 'node:net'

/** What a setting's values are: how text becomes one, and which are right. */
export interface Kind {
  /** Text of a flag or a variable, as a value; something that `check` refuses when it cannot be one. */
  parse(text: string): unknown
  /** What is wrong with a value: a ConfigError's text after the setting's name. */
  check(value: unknown): string | undefined
}

type Fits<T> = (value: T) => unknown

export const text = (fits: RegExp | Fits<string>, wrong: string): Kind => ({
  parse: value => value,
  check: value =>
    typeof value === 'string' && (fits instanceof RegExp ? fits.test(value) : fits(value)) ? undefined : wrong,
})

export const oneOf = (...known: string[]): Kind =>
  text(value => known.includes(value), `must be one of ${known.join(', ')}`)

/** Texts with commas in between. */
export const list = (fits: RegExp | Fits<string>, wrong: string): Kind => ({
  parse: value =>
    value
      .split(',')
      .map(entry => entry.trim())
      .filter(entry => entry !== ''),
  check: value =>
    Array.isArray(value) &&
    value.every(entry => typeof entry === 'string' && (fits instanceof RegExp ? fits.test(entry) : fits(entry)))
      ? undefined
      : wrong,
})

/** Only decimal digits: Number() takes 0x4, 1e1, and spaces. */
export const number = (fits: Fits<number>, wrong: string, numeral = /^\d+(\.\d+)?$/): Kind => ({
  parse: value => (numeral.test(value) ? Number(value) : Number.NaN),
  check: value => (typeof value === 'number' && fits(value) ? undefined : wrong),
})

export const integer = (low: number, high: number): Kind =>
  number(
    value => Number.isInteger(value) && value >= low && value <= high,
    `must be a whole number from ${low} to ${high}`,
    /^\d+$/,
  )

/** A flag that is a switch comes as `true`. */
const switches: Record<string, boolean> = { on: true, off: false, true: true, false: false }

export const onOrOff: Kind = {
  parse: value => switches[value] ?? value,
  check: value => (typeof value === 'boolean' ? undefined : 'must be on or off; true or false in code and files'),
}

/** An address, or all that begin alike, as in 10.0.0.0/8. */
export const isNetwork = (value: string): boolean => {
  const [address = '', length, ...more] = value.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || more.length > 0) return false
  return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128))
}
