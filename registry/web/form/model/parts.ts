import type { Refs } from '../../../schema/refs.ts'
import { arrayViewOf } from './array-view.ts'
import { anything, branchOf } from './branches.ts'
import { isObject, own, type Path, toPointer } from './json.ts'
import { objectViewOf } from './object-view.ts'
import { openingOf } from './opening.ts'
import { type View, viewOf } from './view.ts'

/** A part of the value that has a field of its own. */
export interface Part {
  readonly schema: unknown
  readonly value: unknown
  readonly path: Path
  readonly required: boolean
  readonly role: 'field' | 'item' | 'entry'
}

/** How many items of a list and fields of an object are drawn before more are asked for. */
export const batches = { items: 100, fields: 200 } as const

/** A choice within a choice is not followed further than this. */
const maxHops = 8

/** The view that a value is drawn by inside a choice: that of its branch. */
export const innerView = (view: View, value: unknown, refs: Refs): View => {
  let inner = view
  for (let hops = 0; hops < maxHops && (inner.kind === 'choice' || inner.kind === 'any'); hops++) {
    const branches = inner.kind === 'choice' ? inner.branches : anything
    const branch = branches[branchOf(branches, value, refs)]
    if (!branch) return inner
    inner = viewOf(branch.schema, refs)
  }
  return inner
}

/** What is drawn inside a field, as far as it is drawn before more is asked for. Empty where it has no fields inside. */
export const partsOf = ({ schema, value, path, required }: Part, refs: Refs): readonly Part[] => {
  const outer = viewOf(schema, refs)
  if (openingOf(outer, { value, depth: path.length, required, isAsked: false }).isClosed) return []
  const view = innerView(outer, value, refs)
  if (view.kind === 'array' && Array.isArray(value)) {
    const { itemSchema } = arrayViewOf(view.flat)
    return value.slice(0, batches.items).map((item, i) => {
      return { schema: itemSchema(i), value: item, path: [...path, i], required: true, role: 'item' }
    })
  }
  if (view.kind !== 'object' || (value !== undefined && !isObject(value))) return []
  const { fields, extra, entrySchema } = objectViewOf(view.flat, value, refs)
  const inside = (name: string) => ({ value: own(value, name), path: [...path, name] })
  return [
    ...fields
      .slice(0, batches.fields)
      .map(({ name, schema, required }): Part => ({ ...inside(name), schema, required, role: 'field' })),
    ...extra
      .slice(0, batches.fields)
      .map((name): Part => ({ ...inside(name), schema: entrySchema(name), required: true, role: 'entry' })),
  ]
}

export const pointerOf = ({ path }: Part): string => toPointer(path)
