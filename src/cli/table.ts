import type { Sink } from './output.ts'
import { printable } from './printable.ts'

export interface Column<Row> {
  title: string
  /** What the cell shows; made printable here, so that no caller can forget it. */
  value(row: Row): unknown
  /** Numbers stand under each other by their last digit. */
  right?: boolean
  /** Where a terminal is too narrow, columns with a rank leave, the highest first; those without one stay. */
  rank?: number
  /** Marks the cell; undefined leaves it plain. */
  style?(row: Row): Parameters<Sink['paint']>[0] | undefined
}

const gap = '  '
const minLastWidth = 12
/** Longer than any valid name. One spoilt entry of the registry must not push all other columns out of sight. */
const maxWidth = 120

/**
 * Writes rows as aligned columns. On a terminal columns that find no room are left out, and the last column is cut to its
 * width; elsewhere nothing is.
 */
export const writeTable = <Row>(sink: Sink, columns: Column<Row>[], rows: Row[]): void => {
  const fitting = columnsThatFit(
    sink.width,
    columns.map(column => cellsOf(column, rows)),
  )
  const lastAt = fitting.length - 1
  const before = fitting.slice(0, -1).reduce((sum, { width }) => sum + width + gap.length, 0)
  const lastWidth = sink.width === undefined ? Number.POSITIVE_INFINITY : Math.max(minLastWidth, sink.width - before)
  const cell = (text: string, at: number): string => {
    const { width, column } = fitting[at]!
    const space = ' '.repeat(Math.max(0, width - lengthOf(text)))
    if (column.right) return space + text
    return at === lastAt ? cut(text, lastWidth) : text + space
  }
  sink.line(fitting.map(({ column }, at) => sink.paint('bold', cell(column.title, at))).join(gap))
  rows.forEach((row, rowAt) => {
    const line = fitting.map(({ column, texts }, at) => {
      const text = cell(texts[rowAt]!, at)
      const style = column.style?.(row)
      return style === undefined ? text : sink.paint(style, text)
    })
    sink.line(line.join(gap).trimEnd())
  })
}

interface Cells<Row> {
  column: Column<Row>
  texts: string[]
  width: number
}

const cellsOf = <Row>(column: Column<Row>, rows: Row[]): Cells<Row> => {
  const texts = rows.map(row => printable(column.value(row)))
  return { column, texts, width: texts.reduce((width, text) => Math.max(width, lengthOf(text)), column.title.length) }
}

/** The last column of all may be cut, so that it needs little; no other one may be wider than maxWidth. */
const columnsThatFit = <Row>(width: number | undefined, all: Cells<Row>[]): Cells<Row>[] => {
  const last = all.at(-1)!
  for (const cells of all) if (cells !== last) limit(cells)
  const fitting = [...all]
  const needed = () =>
    fitting.reduce(
      (sum, cells) => sum + (cells === last ? Math.min(minLastWidth, cells.width) : cells.width) + gap.length,
      -gap.length,
    )
  while (width !== undefined && needed() > width) {
    const rank = Math.max(0, ...fitting.map(({ column }) => column.rank ?? 0))
    if (rank === 0) break
    fitting.splice(
      fitting.findLastIndex(({ column }) => column.rank === rank),
      1,
    )
  }
  return fitting
}

const limit = <Row>(cells: Cells<Row>): void => {
  if (cells.width <= maxWidth) return
  cells.width = maxWidth
  cells.texts = cells.texts.map(text => cut(text, maxWidth))
}

const lengthOf = (text: string): number => [...text].length

const cut = (text: string, width: number): string =>
  lengthOf(text) <= width ? text : `${[...text].slice(0, Math.max(0, width - 1)).join('')}…`
