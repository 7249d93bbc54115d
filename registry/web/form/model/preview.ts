import type { Refs } from '../../../schema/refs.ts'
import { isNumber, isObject, own, type Path } from './json.ts'
import { innerView, partsOf } from './parts.ts'
import { type View, viewOf } from './view.ts'

const maxLength = 60
/** Of so many fields the first that says something is told. */
const maxLooked = 8

const telling = new Set(['text', 'number', 'options', 'fixed'])

/** A folded group in a few words: how much is in it, and what tells it from its neighbours. Nothing secret. */
export const previewOf = (schema: unknown, value: unknown, path: Path, refs: Refs): string => {
  if (Array.isArray(value)) return several(value.length, 'item')
  if (!isObject(value)) return ''
  const count = several(Object.keys(value).length, 'field')
  const view = innerView(viewOf(schema, refs), value, refs)
  if (isSecret(view)) return count
  const parts = partsOf({ schema, value, path, required: true, role: 'field' }, refs)
  for (const part of parts.slice(0, maxLooked)) {
    const inner = viewOf(part.schema, refs)
    const text = typeof part.value === 'string' || isNumber(part.value) ? String(part.value).trim() : ''
    if (text === '' || !telling.has(inner.kind) || isSecret(inner)) continue
    return `${text.length > maxLength ? `${text.slice(0, maxLength)}...` : text}, ${count}`
  }
  return count
}

const isSecret = (view: View): boolean =>
  own(view.flat.keywords, 'writeOnly') === true ||
  (view.kind === 'text' && view.text !== 'line' && view.text !== 'lines')

const several = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
