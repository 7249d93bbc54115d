/**
 * Controls, and what is invisible or turns the direction of writing. Names and messages come from whoever can write to Redis, and a
 * terminal would obey them. \p{Cs} are halves of surrogate pairs.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** A text with what is unsafe to show written as in JSON, one \uXXXX per unit of UTF-16, but for the characters in `kept`. */
export const escaped = (text: string, kept = ''): string =>
  text.replace(unsafe, char =>
    kept.includes(char)
      ? char
      : char
          .split('')
          .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join(''),
  )

/** The same on one line. */
export const escapedLine = (text: string): string => escaped(text.replace(/[\t\r\n]+/g, ' '))
