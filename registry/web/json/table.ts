import { toPointer } from '../../../src/schema-diff/pointer.ts'
import type { JsonNode } from './text.ts'

/** A list of objects as a table: a row for each, a column for each member that any of them has. */
export interface JsonTable {
  /** Where the list is in the whole value, as a JSON Pointer. */
  pointer: string
  columns: readonly string[]
  /** How many members have no column, because there are too many. */
  leftOut: number
  rows: readonly JsonRow[]
}

/** Members by name; those that the object does not have are missing. */
export type JsonRow = ReadonlyMap<string, JsonNode>

export const mostColumns = 40

/** The lists of objects that are a value, or its direct members: each can be shown as a table. */
export const tablesIn = (node: JsonNode): JsonTable[] => {
  const whole = tableOf('', node)
  if (whole) return [whole]
  if (node.kind !== 'object') return []
  return node.members.flatMap(([name, member]) => tableOf(toPointer([name]), member) ?? [])
}

/** Undefined for what is no list of objects. */
const tableOf = (pointer: string, node: JsonNode): JsonTable | undefined => {
  if (node.kind !== 'array' || node.items.length === 0) return undefined
  const rows: JsonRow[] = []
  const names = new Set<string>()
  for (const item of node.items) {
    if (item.kind !== 'object') return undefined
    rows.push(new Map(item.members))
    for (const [name] of item.members) names.add(name)
  }
  const columns = [...names]
  return { pointer, columns: columns.slice(0, mostColumns), leftOut: Math.max(0, columns.length - mostColumns), rows }
}

export interface TableSort {
  column: string
  isDown: boolean
}

/** A copy of the rows in the order of one column. Numbers come before texts, what a row does not have comes last either way. */
export const sortedRows = (rows: readonly JsonRow[], { column, isDown }: TableSort): JsonRow[] =>
  [...rows].sort((a, b) => {
    const [one, other] = [a.get(column), b.get(column)]
    if (!one || !other) return one ? -1 : other ? 1 : 0
    return isDown ? compared(other, one) : compared(one, other)
  })

const kinds: readonly JsonNode['kind'][] = ['number', 'string', 'literal', 'array', 'object']
const words = new Intl.Collator('en', { numeric: true })

const compared = (a: JsonNode, b: JsonNode): number => {
  if (a.kind === 'number' && b.kind === 'number') return Number(a.text) - Number(b.text)
  if (a.kind === 'string' && b.kind === 'string') return words.compare(a.value, b.value)
  if (a.kind === 'literal' && b.kind === 'literal') return Number(a.value) - Number(b.value)
  if (a.kind === 'array' && b.kind === 'array') return a.items.length - b.items.length
  return kinds.indexOf(a.kind) - kinds.indexOf(b.kind)
}
