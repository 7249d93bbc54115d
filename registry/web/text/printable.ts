/**
 * Controls, and what is invisible or turns the direction of writing: \p{Cs} are halves of surrogate pairs. The same set as the
 * command line's, for the same reason: names and messages come from whoever can write to Redis.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** As in JSON: one \uXXXX per unit of UTF-16. */
const escaped = (char: string): string =>
  char
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')

/** A stranger's text as one line in which nothing is hidden. */
export const printable = (text: unknown): string =>
  String(text ?? '')
    .replace(/[\t\r\n]+/g, ' ')
    .replace(unsafe, escaped)

/** The same for text of several lines. */
export const printableLines = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replace(unsafe, char => (char === '\n' || char === '\t' ? char : escaped(char)))
