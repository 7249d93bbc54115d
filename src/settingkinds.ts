export type SettingsUser = 'hub' | 'worker' | 'cli' | 'registry'

/** One setting: who uses it, where it comes from, and what is right. */
export interface Setting<T> {
  users: SettingsUser[]
  /** Name of the environment variable. */
  env?: string
  fallback: T | (() => T)
  /** Text of a flag or a variable, as a value; missing when text cannot give it. */
  parse(text: string): unknown
  /** What is wrong with a value: a ConfigError's text after the setting's name. */
  check(value: unknown): string | undefined
  /** Messages do not show it. */
  isSecret?: true
}

export const text = (value: string) => value
export const number = (value: string) => (value.trim() === '' ? Number.NaN : Number(value))
export const integerIn = (low: number, high: number) => (value: unknown) =>
  Number.isInteger(value) && (value as number) >= low && (value as number) <= high
    ? undefined
    : `must be a whole number from ${low} to ${high}`

/** A flag that is a switch comes as `true`. */
const switches: Record<string, boolean> = { on: true, off: false, true: true, false: false }
export const switched = (value: string) => switches[value] ?? value
export const isSwitch = (value: unknown) =>
  typeof value === 'boolean' ? undefined : 'must be on or off; true or false in code and files'
export const oneOf =
  (...known: string[]) =>
  (value: unknown) =>
    known.includes(value as string) ? undefined : `must be one of ${known.join(', ')}`

/** Texts with commas in between. */
export const list = (value: string) =>
  value
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
export const listOf = (pattern: RegExp, wrong: string) => (value: unknown) =>
  Array.isArray(value) && value.every(entry => typeof entry === 'string' && pattern.test(entry)) ? undefined : wrong
