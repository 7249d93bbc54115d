import type { Refs } from '../../../schema/refs.ts'
import { arrayViewOf } from './array-view.ts'
import { has, own, ownNumber } from './json.ts'
import { objectViewOf } from './object-view.ts'
import { viewOf } from './view.ts'

/** Required parts within required parts are made down to this depth: a schema may ask for endless ones. */
const maxDepth = 6
const maxParts = 200

/**
 * What a field starts with when it is given: its default, its only value, or the required parts of an object or list. Undefined
 * where somebody has to say: a text, a number, one of several values.
 */
export const initialOf = (schema: unknown, refs: Refs): unknown => {
  let parts = 0
  const make = (schema: unknown, depth: number): unknown => {
    if (depth > maxDepth || ++parts > maxParts) return undefined
    const view = viewOf(schema, refs)
    const { keywords } = view.flat
    if (has(keywords, 'default')) return own(keywords, 'default')
    switch (view.kind) {
      case 'fixed':
        return view.fixed
      case 'null':
        return null
      case 'choice':
        return view.branches.length ? make(view.branches[0]!.schema, depth + 1) : undefined
      case 'object': {
        const fields = objectViewOf(view.flat, {}, refs).fields.filter(field => field.required)
        const entries = fields.map(({ name, schema }) => [name, make(schema, depth + 1)] as const)
        return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
      }
      case 'array': {
        const { fixed, itemSchema, mayGrow } = arrayViewOf(view.flat)
        const least = Math.min(ownNumber(keywords, 'minItems') ?? fixed, 20)
        const items: unknown[] = []
        while (items.length < least && mayGrow(items.length)) items.push(make(itemSchema(items.length), depth + 1))
        return items
      }
      default:
        return undefined
    }
  }
  return make(schema, 0)
}

/** The same for a field that somebody chose to give: a text is empty then. */
export const givenOf = (schema: unknown, refs: Refs): unknown => {
  const initial = initialOf(schema, refs)
  if (initial !== undefined) return initial
  const view = viewOf(schema, refs)
  if (view.kind === 'text') return ''
  if (view.kind === 'any') return view.nullable ? '' : {}
  return undefined
}
