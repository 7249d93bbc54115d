import type { Sink } from './output.ts'
import { printable } from './printable.ts'

export interface Column<Row> {
  title: string
  /** What the cell shows; made printable here, so that no caller can forget it. */
  value(row: Row): unknown
  /** Numbers stand under each other by their last digit. */
  right?: boolean
  /** Marks the cell; undefined leaves it plain. */
  style?(row: Row): Parameters<Sink['paint']>[0] | undefined
}

const gap = '  '
const minLastWidth = 12
/** Longer than any valid name. One spoilt entry of the registry must not push all other columns out of sight. */
const maxWidth = 120

/** Writes rows as aligned columns. On a terminal the last column is cut to its width; nothing is cut elsewhere. */
export const writeTable = <Row>(sink: Sink, columns: Column<Row>[], rows: Row[]): void => {
  const lastAt = columns.length - 1
  const shown = (text: string, at: number) => (at === lastAt ? text : cut(text, maxWidth))
  const texts = rows.map(row => columns.map((column, at) => shown(printable(column.value(row)), at)))
  const widths = columns.map(({ title }, at) =>
    texts.reduce((width, line) => Math.max(width, lengthOf(line[at]!)), title.length),
  )
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0)
  const lastWidth = sink.width === undefined ? Number.POSITIVE_INFINITY : Math.max(minLastWidth, sink.width - before)
  const cell = (text: string, at: number): string => {
    const space = ' '.repeat(Math.max(0, widths[at]! - lengthOf(text)))
    if (columns[at]!.right) return space + text
    return at === lastAt ? cut(text, lastWidth) : text + space
  }
  sink.line(columns.map(({ title }, at) => sink.paint('bold', cell(title, at))).join(gap))
  rows.forEach((row, rowAt) => {
    const line = columns.map((column, at) => {
      const text = cell(texts[rowAt]![at]!, at)
      const style = column.style?.(row)
      return style === undefined ? text : sink.paint(style, text)
    })
    sink.line(line.join(gap).trimEnd())
  })
}

const lengthOf = (text: string): number => [...text].length

const cut = (text: string, width: number): string =>
  lengthOf(text) <= width ? text : `${[...text].slice(0, Math.max(0, width - 1)).join('')}…`
