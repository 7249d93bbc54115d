/** JSON as somebody types it. */
export type Parsed = { value: unknown; problem?: undefined } | { value?: undefined; problem: string }

/** Why an integer is refused; from here on numbers of JavaScript are no longer exact. */
export const tooLargeToBeExact = (digits: string): string =>
  `${digits.length > 24 ? `${digits.slice(0, 24)}...` : digits} is larger than 9007199254740991 (2^53 - 1) and would be ` +
  'changed on the way. Send it as text, if the task takes that.'

const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** The first integer of a JSON text that JavaScript would change. Texts between quotes are passed over. */
const inexactInteger = (text: string): string | undefined => {
  for (const [token] of text.matchAll(tokens))
    if (/^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token))) return token
  return undefined
}

/** Parses JSON text. Refuses what JavaScript would change silently: integers beyond 2^53 - 1, and a key `__proto__`. */
export const parseJson = (text: string): Parsed => {
  if (text.trim() === '') return { problem: 'is empty: JSON is needed here' }
  let value: unknown
  try {
    value = JSON.parse(text, (key, inner) => {
      if (key === '__proto__') throw new RangeError('a key named __proto__ is not allowed')
      return inner
    })
  } catch (error) {
    if (error instanceof RangeError) return { problem: error.message }
    return { problem: `is not JSON: ${(error as Error).message}` }
  }
  const inexact = inexactInteger(text)
  return inexact === undefined ? { value } : { problem: tooLargeToBeExact(inexact) }
}

/** Parses the text of a number field. Spaces around it are ignored; an empty text is no number. */
export const parseNumber = (text: string): Parsed => {
  const trimmed = text.trim()
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed)) return { problem: 'is not a number' }
  const value = Number(trimmed)
  if (!Number.isFinite(value)) return { problem: 'is too large for a number' }
  if (/^[+-]?\d+$/.test(trimmed) && !Number.isSafeInteger(value)) return { problem: tooLargeToBeExact(trimmed) }
  // JSON has no -0.
  return { value: value === 0 ? 0 : value }
}
