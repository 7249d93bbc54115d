import { numberOf } from '../../json/exact.ts'

/** The text of a number field, as it is typed. */
export type Typed = { value: number | bigint; problem?: undefined } | { value?: undefined; problem: string }

/** Parses the text of a number field. Spaces around it are ignored; an empty text is no number. */
export const parseNumber = (text: string): Typed => {
  const trimmed = text.trim()
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed)) return { problem: 'is not a number' }
  const number = numberOf(trimmed)
  if ('problem' in number) return number
  // JSON has no -0.
  return { value: number.value || 0 }
}
