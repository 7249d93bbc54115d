import { stringifyExact } from '../wire/json/exact-json.ts'
import { escaped, escapedLine } from '../wire/text/escape.ts'

/** Any value as one line that is safe to show on a terminal. */
export const printable = (value: unknown): string =>
  escapedLine(typeof value === 'string' ? value : (stringifyExact(value) ?? ''))

/** A value as JSON that is safe to show; what is escaped can only be inside strings, so it means the same. */
export const printableJson = (
  value: unknown,
  indent?: number,
  replacer?: (key: string, value: unknown) => unknown,
): string => escaped(stringifyExact(value, indent, replacer) ?? 'null', '\n')
