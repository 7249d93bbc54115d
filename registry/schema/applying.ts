import type { Refs } from './refs.ts'
import { isObject, type Loose, listOf, own } from './steps.ts'

/** Which parts of a schema may have a say at a place of a value. */

/** Steps that hostile schemas get before it is given up. */
const maxSteps = 20_000

export class TooTangled extends Error {}

/** Counts steps over a whole walk, so that what is small in each place ends as well. */
export class Steps {
  #count = 0

  /** @throws TooTangled */
  take(): void {
    if (++this.#count > maxSteps) throw new TooTangled()
  }
}

interface Spreading {
  refs: Refs
  steps: Steps
  /** Whether a branch of `anyOf` or `oneOf` may be the one. Default: each may. */
  mayBe?(branch: unknown): boolean
}

/**
 * All schemas that may apply in the same place: branches are all taken, because any of them may be the one. `isWhole` is false where
 * one of them cannot be found.
 * @throws TooTangled
 */
export const spread = (
  schemas: readonly unknown[],
  { refs, steps, mayBe = () => true }: Spreading,
): { all: Loose[]; isWhole: boolean } => {
  const all = new Set<Loose>()
  const waiting = [...schemas]
  let isWhole = true
  for (let schema = waiting.pop(); waiting.length > 0 || schema !== undefined; schema = waiting.pop()) {
    steps.take()
    if (!isObject(schema) || all.has(schema)) continue
    all.add(schema)
    const dependent = ['dependentSchemas', 'dependencies'].map(key => own(schema, key)).filter(isObject)
    const named = ['$ref', '$dynamicRef', '$recursiveRef'].map(key => own(schema, key))
    const found = named.flatMap(ref => (ref === undefined ? [] : [refs.resolve(String(ref), schema as Loose)]))
    if (found.includes(undefined)) isWhole = false
    waiting.push(
      ...listOf(own(schema, 'allOf')),
      ...['anyOf', 'oneOf'].flatMap(key => listOf(own(schema, key)).filter(mayBe)),
      ...['if', 'then', 'else'].map(key => own(schema, key)),
      ...dependent.flatMap(one => Object.values(one)),
      ...found,
    )
  }
  return { all: [...all], isWhole }
}

export const itemSchemas = (schema: Loose, at: number): unknown[] => {
  const items = own(schema, 'items')
  // A list under `items` is how older drafts wrote tuples.
  const tuple = Array.isArray(items) ? items : []
  const rest = Array.isArray(items) ? (at < tuple.length ? undefined : own(schema, 'additionalItems')) : items
  return [
    listOf(own(schema, 'prefixItems'))[at],
    tuple[at],
    rest,
    own(schema, 'contains'),
    own(schema, 'unevaluatedItems'),
  ]
}

/** Patterns are not run, because a hostile one never ends: each is taken to match. */
export const memberSchemas = (schema: Loose, key: string): unknown[] => {
  const patterns = own(schema, 'patternProperties')
  return [
    own(own(schema, 'properties'), key),
    ...(isObject(patterns) ? Object.values(patterns) : []),
    ...(own(own(schema, 'properties'), key) === undefined ? [own(schema, 'additionalProperties')] : []),
    own(schema, 'unevaluatedProperties'),
  ]
}
