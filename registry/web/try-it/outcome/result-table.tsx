import { useMemo, useState } from 'preact/hooks'
import { numberOf } from '../../json/exact.ts'
import { type JsonRow, type JsonTable, sortedRows, type TableSort } from '../../json/table.ts'
import { type JsonNode, writtenJson } from '../../json/text.ts'
import { shortJson } from '../../json/tree.tsx'
import { Export } from '../../parts/export.tsx'
import type { Exported } from '../../rows/exported.ts'
import type { Cell } from '../../text/csv.ts'
import { count, plural } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'

/** Rows shown at once. */
const page = 50
const maxCellLength = 120

/** A result that is a list of objects, or has such lists, as a table. */
export const ResultTable = ({ tables }: { tables: readonly JsonTable[] }) => {
  const [chosen, setChosen] = useState(0)
  const table = tables[chosen] ?? tables[0]!
  return (
    <>
      {tables.length > 1 && (
        <label class="which-table">
          List{' '}
          <select value={chosen} onChange={event => setChosen(Number(event.currentTarget.value))}>
            {tables.map(({ pointer, rows }, at) => (
              <option key={pointer} value={at}>
                {printable(pointer)} ({count(rows.length)})
              </option>
            ))}
          </select>
        </label>
      )}
      <OneTable key={table.pointer} table={table} />
    </>
  )
}

const OneTable = ({ table }: { table: JsonTable }) => {
  const { pointer, columns, leftOut } = table
  const [sort, setSort] = useState<TableSort>()
  const [shown, setShown] = useState(page)
  const rows = useMemo(() => (sort ? sortedRows(table.rows, sort) : table.rows), [table, sort])
  const exported = useMemo(() => cellsOf(columns), [columns])
  const more = Math.min(page, rows.length - shown)
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section class="result-table" aria-label="Result as a table" tabIndex={0}>
        <table>
          <caption class="visually-hidden">{pointer === '' ? 'The result' : printable(pointer)}</caption>
          <thead>
            <tr>
              {columns.map(column => (
                <Head key={column} column={column} sort={sort} onSort={setSort} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row, at) => (
              <tr key={at}>
                {columns.map(column => (
                  <TableCell key={column} node={row.get(column)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <div class="table-foot">
        <span class="quiet">
          {plural(rows.length, 'row')}
          {leftOut > 0 && `; ${plural(leftOut, 'further member')} under Pretty`}
        </span>
        {more > 0 && (
          <button type="button" class="small" onClick={() => setShown(shown + page)}>
            Show {more} more
          </button>
        )}
        <Export one="row" columns={exported} rows={rows} title="As sorted" />
      </div>
    </>
  )
}

interface HeadProps {
  column: string
  sort: TableSort | undefined
  onSort(sort: TableSort | undefined): void
}

/** Sorts by its column; again turns it round; once more is the order that the task gave. */
const Head = ({ column, sort, onSort }: HeadProps) => {
  const isSorted = sort?.column === column
  const next = isSorted ? (sort.isDown ? undefined : { column, isDown: true }) : { column, isDown: false }
  return (
    <th scope="col" aria-sort={isSorted ? (sort.isDown ? 'descending' : 'ascending') : undefined}>
      <button type="button" class="link" onClick={() => onSort(next)}>
        {column === '' ? '""' : printable(column)}
        <span class="sort-mark" aria-hidden="true">
          {isSorted ? (sort.isDown ? '↓' : '↑') : ''}
        </span>
      </button>
    </th>
  )
}

const TableCell = ({ node }: { node: JsonNode | undefined }) => {
  if (!node) return <td class="quiet">–</td>
  const text = node.kind === 'string' ? printable(node.value) : shortJson(node)
  const short = text.length > maxCellLength ? `${text.slice(0, maxCellLength)}…` : text
  return (
    <td class={node.kind === 'number' ? 'number' : undefined} data-kind={node.kind}>
      {short}
    </td>
  )
}

/** What a file has of each row: texts and numbers as they are, what is nested as JSON. */
const cellsOf = (columns: readonly string[]): Exported<JsonRow> =>
  Object.fromEntries(columns.map(column => [column, (row: JsonRow) => cellOf(row.get(column))]))

const cellOf = (node: JsonNode | undefined): Cell => {
  if (!node) return undefined
  if (node.kind === 'string') return node.value
  if (node.kind === 'literal') return node.value ?? undefined
  // Beyond 2^53 - 1 a number would become another one.
  if (node.kind !== 'number') return writtenJson(node)
  const number = numberOf(node.text)
  return 'value' in number && typeof number.value === 'number' ? number.value : node.text
}
