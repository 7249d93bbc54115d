import type { Exported } from '../rows/exported.ts'
import { namespace } from '../session/access.ts'
import { csvOf } from '../text/csv.ts'
import { count, plural } from '../text/figures.ts'
import { download } from './download.ts'

/** Saves the rows of a table as they are filtered and sorted, on all its pages. */
export const Export = <Row,>({
  one,
  columns,
  rows,
  of = rows.length,
  title = 'As filtered and sorted',
}: {
  /** What a row is: `task`. */
  one: string
  columns: Exported<Row>
  rows: readonly Row[]
  /** How many there are, where these are the first of them. */
  of?: number
  title?: string
}) => {
  if (rows.length === 0) return null
  const held = of > rows.length ? `${count(rows.length)} of ` : ''
  const save = (extension: string, text: string, type: string) => download(fileName(one, extension), text, type)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for what is filled in
    <div
      class="export"
      role="group"
      aria-label={`Export ${held}${plural(Math.max(of, rows.length), one)}`}
      title={title}
    >
      <span class="quiet" aria-hidden="true">
        Export {held}
        {count(Math.max(of, rows.length))}
      </span>
      <button type="button" class="small" onClick={() => save('csv', csvText(columns, rows), 'text/csv;charset=utf-8')}>
        CSV
      </button>
      <button type="button" class="small" onClick={() => save('json', jsonText(columns, rows), 'application/json')}>
        JSON
      </button>
    </div>
  )
}

/** Without it Excel takes UTF-8 for an alphabet of its own, and makes others of all letters beyond ASCII. */
const byteOrderMark = '\ufeff'

const csvText = <Row,>(columns: Exported<Row>, rows: readonly Row[]): string => {
  const cells = Object.values(columns)
  const table = csvOf(
    Object.keys(columns),
    rows.map(row => cells.map(cell => cell(row))),
  )
  return byteOrderMark + table
}

const jsonText = <Row,>(columns: Exported<Row>, rows: readonly Row[]): string => {
  const entries = Object.entries(columns)
  const objects = rows.map(row => Object.fromEntries(entries.map(([name, cell]) => [name, cell(row) ?? null])))
  return `${JSON.stringify(objects, undefined, 2)}\n`
}

/** Names of files sort by their time. */
const fileName = (one: string, extension: string): string => {
  const space = namespace.value === undefined || namespace.value === 'pshub' ? [] : [namespace.value]
  const parts = ['pshub', ...space, `${one}s`, new Date().toISOString().replace(/[-:]|\.\d+/g, '')]
  return `${parts.join('-').replace(/[^\w.-]+/g, '-')}.${extension}`
}
