import { escaped, escapedLine } from '../../../src/wire/text/escape.ts'

/** A stranger's text as one line in which nothing is hidden. */
export const printable = (text: unknown): string => escapedLine(String(text ?? ''))

/** The same for text of several lines. */
export const printableLines = (text: string): string => escaped(text.replace(/\r\n?/g, '\n'), '\n\t')
