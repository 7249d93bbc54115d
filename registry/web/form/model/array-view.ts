import type { Flat } from './flatten.ts'
import { own, ownArray, ownNumber } from './json.ts'

export interface ArrayView {
  /** Length of the part whose places have schemas of their own. */
  readonly fixed: number
  /** Whether one more item may be added to a list of this length. */
  mayGrow(length: number): boolean
  itemSchema(index: number): unknown
  /** Title of a place in a tuple. */
  placeTitle(index: number): string | undefined
}

export const arrayViewOf = (flat: Flat): ArrayView => {
  const { keywords } = flat
  // Arrays under `items` are how older drafts wrote tuples.
  const items = own(keywords, 'items')
  const prefix = ownArray(keywords, 'prefixItems') ?? (Array.isArray(items) ? items : [])
  const rest = Array.isArray(items) ? own(keywords, 'additionalItems') : (items ?? own(keywords, 'unevaluatedItems'))
  const most = ownNumber(keywords, 'maxItems') ?? Number.POSITIVE_INFINITY
  return {
    fixed: prefix.length,
    mayGrow: length => length < most && (rest !== false || length < prefix.length),
    itemSchema: index => (index < prefix.length ? prefix[index] : (rest ?? true)),
    placeTitle: index => {
      const title = index < prefix.length ? own(prefix[index], 'title') : undefined
      return typeof title === 'string' ? title : undefined
    },
  }
}
