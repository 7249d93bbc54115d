import type { Refs } from '../../../schema/refs.ts'
import { bestBranch, fits } from './fits.ts'
import { initialOfBranch } from './initial.ts'
import { equal, isObject, own, ownObject } from './json.ts'
import { type Branch, viewOf } from './view.ts'

/** To choose from where a schema says nothing. */
export const anything: readonly Branch[] = [
  { schema: { type: 'string' }, label: 'text', index: 0 },
  { schema: { type: 'number' }, label: 'number', index: 0 },
  { schema: { type: 'boolean' }, label: 'true or false', index: 0 },
  { schema: { type: 'null' }, label: 'null', index: 0 },
  { schema: { type: 'object' }, label: 'object', index: 0 },
  { schema: { type: 'array' }, label: 'list', index: 0 },
]

/** The branch that a value from outside is shown in; -1: there is none yet. */
export const branchOf = (branches: readonly Branch[], value: unknown, refs: Refs): number => {
  if (value === undefined) return -1
  const schemas = branches.map(branch => branch.schema)
  return bestBranch(schemas, value, refs)
}

/** What a value becomes when somebody goes from one branch, if there was one, to another for the first time. */
export const movedTo = (value: unknown, from: Branch | undefined, to: Branch, refs: Refs): unknown =>
  carried(value, initialOfBranch(to.schema, refs), from?.schema, to.schema, refs)

/** What both branches have a field for is taken along, where it fits the new one and that does not fix it. */
const carried = (from: unknown, to: unknown, old: unknown, next: unknown, refs: Refs): unknown => {
  if (!isObject(from) || !isObject(to)) return to
  const known = ownObject(viewOf(old, refs).flat.keywords, 'properties')
  const wanted = ownObject(viewOf(next, refs).flat.keywords, 'properties')
  const begun = initialOfBranch(old, refs)
  const entries = new Map(Object.entries(to))
  for (const [key, value] of Object.entries(from)) {
    if (own(known, key) === undefined || own(wanted, key) === undefined) continue
    // What nobody changed is not theirs to keep.
    if (entries.has(key) && equal(own(begun, key), value)) continue
    const view = viewOf(own(wanted, key), refs)
    if (view.kind !== 'fixed' && view.kind !== 'options' && fits(own(wanted, key), value, refs).ok !== false)
      entries.set(key, value)
  }
  return Object.fromEntries(entries)
}
