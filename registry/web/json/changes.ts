import { escapePointer } from '../../../src/schema-diff/pointer.ts'
import type { JsonNode } from './text.ts'

/** One place where two results differ; `before` or `after` is missing where there was nothing. */
export interface JsonChange {
  pointer: string
  before?: JsonNode
  after?: JsonNode
}

const maxChanges = 200
const maxSteps = 100_000

/** What differs between two JSON values, place by place. `isComplete` is false when there was more than is told. */
export const changesBetween = (before: JsonNode, after: JsonNode): { changes: JsonChange[]; isComplete: boolean } => {
  const changes: JsonChange[] = []
  let steps = 0
  const visit = (pointer: string, a: JsonNode | undefined, b: JsonNode | undefined): void => {
    if (++steps > maxSteps || changes.length > maxChanges) return
    if (a?.kind === 'object' && b?.kind === 'object') {
      const [old, now] = [new Map(a.members), new Map(b.members)]
      for (const key of new Set([...old.keys(), ...now.keys()]))
        visit(`${pointer}/${escapePointer(key)}`, old.get(key), now.get(key))
    } else if (a?.kind === 'array' && b?.kind === 'array') {
      for (let at = 0; at < Math.max(a.items.length, b.items.length); at++)
        visit(`${pointer}/${at}`, a.items[at], b.items[at])
    } else if (!a || !b || !isSameLeaf(a, b)) {
      changes.push({ pointer, ...(a && { before: a }), ...(b && { after: b }) })
    }
  }
  visit('', before, after)
  return { changes: changes.slice(0, maxChanges), isComplete: steps <= maxSteps && changes.length <= maxChanges }
}

const isSameLeaf = (a: JsonNode, b: JsonNode): boolean => {
  if (a.kind === 'number' && b.kind === 'number') return a.text === b.text
  if (a.kind === 'string' && b.kind === 'string') return a.value === b.value
  return a.kind === 'literal' && b.kind === 'literal' && a.value === b.value
}
