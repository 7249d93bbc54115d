import type { Refs } from '../../../schema/refs.ts'
import { arrayViewOf } from './array-view.ts'
import { fits } from './fits.ts'
import { own, ownNumber } from './json.ts'
import { objectViewOf } from './object-view.ts'
import { type View, viewOf } from './view.ts'

/** Required parts within required parts are made down to this depth: a schema may ask for endless ones. */
const maxDepth = 6
const maxParts = 200

/**
 * What a field starts with when it is given: its default, its only value, or the required parts of an object or list. Undefined
 * where somebody has to say: a text, a number, one of several values.
 */
export const initialOf = (schema: unknown, refs: Refs): unknown => new Beginning(refs).of(schema, 0)

/** The same of a branch that was chosen: with its fixed values, which tell it from the others. */
export const initialOfBranch = (schema: unknown, refs: Refs): unknown => new Beginning(refs).of(schema, 0, true)

class Beginning {
  readonly #refs: Refs
  #parts = 0

  constructor(refs: Refs) {
    this.#refs = refs
  }

  of(schema: unknown, depth: number, isBranch = false): unknown {
    if (depth > maxDepth || ++this.#parts > maxParts) return undefined
    const view = viewOf(schema, this.#refs)
    const value = own(view.flat.keywords, 'default')
    // One that does not fit would be sent, and refused, without anybody having typed it.
    if (value !== undefined && fits(schema, value, this.#refs).ok !== false) return value
    const only = onlyValue(view)
    if (only) return only.value
    if (view.kind === 'choice') return view.branches[0] && this.of(view.branches[0].schema, depth + 1, true)
    if (view.kind === 'object') return this.#object(view, depth, isBranch)
    return view.kind === 'array' ? this.#array(view, depth) : undefined
  }

  #object(view: View, depth: number, isBranch: boolean): unknown {
    const { fields } = objectViewOf(view.flat, {}, this.#refs)
    const given = fields.filter(
      ({ schema, required }) => required || (isBranch && onlyValue(viewOf(schema, this.#refs)) !== undefined),
    )
    const entries = given.map(({ name, schema }) => [name, this.of(schema, depth + 1)] as const)
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  #array(view: View, depth: number): unknown {
    const { fixed, itemSchema, mayGrow } = arrayViewOf(view.flat)
    const least = Math.min(ownNumber(view.flat.keywords, 'minItems') ?? fixed, 20)
    const items: unknown[] = []
    while (items.length < least && mayGrow(items.length)) items.push(this.of(itemSchema(items.length), depth + 1))
    return items
  }
}

/** The value of a field that can have no other. */
const onlyValue = (view: View): { value: unknown } | undefined => {
  if (view.kind === 'null') return { value: null }
  if (view.nullable) return undefined
  if (view.kind === 'fixed') return { value: view.fixed }
  return view.kind === 'options' && view.options.length === 1 ? { value: view.options[0]!.value } : undefined
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
