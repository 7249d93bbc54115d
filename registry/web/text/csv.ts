export type Cell = string | number | boolean | undefined

/** What a spreadsheet would take for a formula, and run: also in the wide letters of East Asian keyboards, and behind a tab or a break. */
const formula = /^[=+\-@\t\r\n＝＋－＠]/

/**
 * A table as CSV by RFC 4180: lines end with CRLF, a cell with a comma, a quote or a break is quoted. A text that a spreadsheet would run
 * begins with an apostrophe; numbers never do.
 */
export const csvOf = (names: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [names, ...rows].map(row => `${row.map(written).join(',')}\r\n`).join('')

const written = (cell: Cell): string => {
  if (typeof cell === 'string') return quoted(formula.test(cell) ? `'${cell}` : cell)
  if (cell === undefined || (typeof cell === 'number' && !Number.isFinite(cell))) return ''
  return String(cell)
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
