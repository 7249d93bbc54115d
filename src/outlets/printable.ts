import { stringifyExact } from '../wire/json/exact-json.ts'

/**
 * Controls, and what is invisible or turns the direction of writing: a terminal would obey them instead of showing
 * them. \p{Cs} are halves of surrogate pairs.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** As in JSON: one \uXXXX per unit of UTF-16. */
const escaped = (char: string): string =>
  char
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')

/**
 * Any value as one line that is safe to show on a terminal. Names, descriptions and messages come from whoever can
 * write to Redis, so they may hold escape sequences.
 */
export const printable = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (stringifyExact(value) ?? '')
  return text.replace(/[\t\r\n]+/g, ' ').replace(unsafe, escaped)
}

/** A value as JSON that is safe to show; what is escaped can only be inside strings, so it means the same. */
export const printableJson = (
  value: unknown,
  indent?: number,
  replacer?: (key: string, value: unknown) => unknown,
): string =>
  (stringifyExact(value, indent, replacer) ?? 'null').replace(unsafe, char => (char === '\n' ? char : escaped(char)))
