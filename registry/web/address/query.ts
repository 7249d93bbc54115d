/** What a page shows is in its address, so that it can be sent to somebody, and the back button works. */

/** `from` with changes; what is empty or undefined is left out. Sorted, so that one view has one address. */
export const withQuery = (
  from: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | undefined>>,
): string => {
  const entries = Object.entries({ ...from, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  )
  const params = new URLSearchParams(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
  const text = params.toString().replaceAll('%3A', ':')
  return text === '' ? '' : `?${text}`
}

/** One of the choices, or the first. */
export const choiceOf = <Choice extends string>(choices: readonly Choice[], text: string | undefined): Choice =>
  choices.find(choice => choice === text) ?? choices[0]!

/** A page number from 1 to `last`. */
export const pageOf = (text: string | undefined, last: number): number => {
  const page = Number(text)
  return Number.isInteger(page) && page >= 1 ? Math.min(page, Math.max(1, last)) : 1
}

/** `sort=-rate`: by rate, largest first. */
export const sortOf = <Column extends string>(
  columns: readonly Column[],
  text: string | undefined,
  fallback: `${'' | '-'}${NoInfer<Column>}`,
): { column: Column; isDown: boolean } => {
  const column = columns.find(name => name === text?.replace(/^-/, ''))
  if (column) return { column, isDown: text!.startsWith('-') }
  return { column: fallback.replace(/^-/, '') as Column, isDown: fallback.startsWith('-') }
}

/** Compares what is known; what is not known comes last, whatever the direction. */
export const compare = (a: string | number | undefined, b: string | number | undefined, isDown: boolean): number => {
  if (a === b) return 0
  if (a === undefined || (typeof a === 'number' && Number.isNaN(a))) return 1
  if (b === undefined || (typeof b === 'number' && Number.isNaN(b))) return -1
  const order = typeof a === 'string' && typeof b === 'string' ? naturally.compare(a, b) : a < b ? -1 : 1
  return isDown ? -order : order
}

/** So that 10.0 comes behind 9.0. */
const naturally = new Intl.Collator('en', { numeric: true })
