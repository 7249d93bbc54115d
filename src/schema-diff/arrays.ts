import { compareLengths } from './limits.ts'
import type { Comparing } from './report.ts'
import { isSameKeyword } from './same.ts'
import { asSchema, keyword, type Schema } from './schema.ts'

const firstOf = (schema: Schema): unknown[] => {
  const first = keyword(schema, 'prefixItems')
  return Array.isArray(first) ? first : []
}

/** The schema of one item by its place; the ones after the first few share one. */
const itemAt = (schema: Schema, at: number): Schema => {
  const first = firstOf(schema)
  return asSchema(at < first.length ? first[at] : keyword(schema, 'items'))
}

export const compareArrays = (to: Comparing, pointer: string, before: Schema, after: Schema) => {
  compareLengths(to, pointer, before, after, 'number of items', 'minItems', 'maxItems')
  const places = Math.max(firstOf(before).length, firstOf(after).length)
  for (let at = 0; at < places; at++) to.compare(`${pointer}/${at}`, itemAt(before, at), itemAt(after, at))
  to.compare(`${pointer}/*`, itemAt(before, places), itemAt(after, places))
  const [old, now] = [keyword(before, 'uniqueItems') === true, keyword(after, 'uniqueItems') === true]
  if (!old && now) to.tell(pointer, 'fewer', 'Items must differ from each other now.')
  if (old && !now) to.tell(pointer, 'more', 'Items need not differ from each other any more.')
  const contained = ['contains', 'minContains', 'maxContains']
  if (contained.some(name => !isSameKeyword(to.documents, name, before, after)))
    to.tell(pointer, 'unclear', 'Which items an array must contain changed.')
}
