import type { Refs } from '../../../schema/refs.ts'
import { typesOf } from './flatten.ts'
import {
  equal,
  has,
  isNumber,
  isObject,
  type JsonObject,
  own,
  ownArray,
  ownLimit,
  ownNumber,
  ownObject,
  ownText,
  typeOf,
} from './json.ts'

/**
 * Whether a value fits a schema, as far as the form must know it between two key strokes: to choose a branch and to show what
 * a condition adds. `undefined`: not decided, because nobody has said yet whether a pattern matches, or because it takes too many steps. The
 * real check runs in a worker. `hits` counts types, fields, fixed values and defaults that agree: a branch with more of them is meant.
 */
export interface Fit {
  ok: boolean | undefined
  hits: number
}

const maxSteps = 5_000
const maxDepth = 100
/** A fixed value tells a branch from the others, more than a type does that several may have. */
const tellingHits = 10

export const fits = (schema: unknown, value: unknown, refs: Refs): Fit => {
  const run = new Run(refs)
  return { ok: run.test(schema, value), hits: run.hits }
}

/** One run, with what it has counted so far. */
class Run {
  readonly #refs: Refs
  #steps = 0
  #depth = 0
  hits = 0

  constructor(refs: Refs) {
    this.#refs = refs
  }

  test(schema: unknown, value: unknown): boolean | undefined {
    if (typeof schema === 'boolean') return schema
    if (!isObject(schema)) return true
    if (++this.#steps > maxSteps || this.#depth >= maxDepth) return undefined
    this.#depth++
    const result = all([
      ...this.#ofAny(schema, value),
      ...this.#ofType(schema, value),
      ...this.#combined(schema, value),
    ])
    this.#depth--
    return result
  }

  #count(schemas: readonly unknown[], value: unknown): { sure: number; maybe: number } {
    const before = this.hits
    let best = 0
    let sure = 0
    let maybe = 0
    for (const one of schemas) {
      this.hits = 0
      const result = this.test(one, value)
      if (result) sure++
      if (result === undefined) maybe++
      if (result !== false) best = Math.max(best, this.hits)
    }
    this.hits = before + best
    return { sure, maybe }
  }

  *#ofAny(schema: JsonObject, value: unknown): Generator<boolean | undefined> {
    const types = typesOf(own(schema, 'type'))
    if (types.length) yield this.#hit(types.some(type => isOfType(value, type)))
    if (has(schema, 'const')) yield this.#hit(equal(own(schema, 'const'), value), tellingHits)
    // Branches with the same fields are told apart by what they begin with.
    if (has(schema, 'default') && equal(own(schema, 'default'), value)) this.hits++
    const allowed = ownArray(schema, 'enum')
    if (allowed)
      yield this.#hit(
        allowed.some(one => equal(one, value)),
        tellingHits,
      )
  }

  #hit(agrees: boolean, hits = 1): boolean {
    if (agrees) this.hits += hits
    return agrees
  }

  *#ofType(schema: JsonObject, value: unknown): Generator<boolean | undefined> {
    if (isObject(value)) yield* this.#ofObject(schema, value)
    else if (Array.isArray(value)) yield* this.#ofArray(schema, value)
    else if (isNumber(value)) yield inRange(schema, value)
    else if (typeof value === 'string') {
      const length = [...value].length
      yield length >= (ownNumber(schema, 'minLength') ?? 0)
      yield length <= (ownNumber(schema, 'maxLength') ?? Number.POSITIVE_INFINITY)
      const pattern = ownText(schema, 'pattern')
      if (pattern !== undefined) yield this.#refs.matches(pattern, value)
    }
  }

  *#ofObject(schema: JsonObject, value: JsonObject): Generator<boolean | undefined> {
    for (const name of ownArray(schema, 'required') ?? []) yield has(value, String(name))
    const properties = ownObject(schema, 'properties')
    const patterns = Object.keys(ownObject(schema, 'patternProperties') ?? {})
    const rest = own(schema, 'additionalProperties')
    for (const [name, inner] of Object.entries(value)) {
      if (has(properties, name)) {
        this.hits++
        yield this.test(own(properties, name), inner)
      } else if (patterns.length === 0 && rest !== undefined) yield this.test(rest, inner)
    }
  }

  *#ofArray(schema: JsonObject, value: readonly unknown[]): Generator<boolean | undefined> {
    yield value.length >= (ownNumber(schema, 'minItems') ?? 0)
    yield value.length <= (ownNumber(schema, 'maxItems') ?? Number.POSITIVE_INFINITY)
    const prefix = ownArray(schema, 'prefixItems') ?? []
    const items = own(schema, 'items')
    for (const [i, item] of value.entries()) yield this.test(i < prefix.length ? prefix[i] : items, item)
  }

  *#combined(schema: JsonObject, value: unknown): Generator<boolean | undefined> {
    const ref = ownText(schema, '$ref')
    if (ref !== undefined) yield this.test(this.#refs.resolve(ref, schema), value)
    for (const inner of ownArray(schema, 'allOf') ?? []) yield this.test(inner, value)
    const any = ownArray(schema, 'anyOf')
    if (any) {
      const { sure, maybe } = this.#count(any, value)
      yield sure > 0 ? true : maybe > 0 ? undefined : false
    }
    const one = ownArray(schema, 'oneOf')
    if (one) {
      const { sure, maybe } = this.#count(one, value)
      yield sure > 1 ? false : maybe > 0 ? undefined : sure === 1
    }
    if (has(schema, 'not')) {
      const before = this.hits
      const result = this.test(own(schema, 'not'), value)
      this.hits = before
      yield result === undefined ? undefined : !result
    }
  }
}

const all = (results: Iterable<boolean | undefined>): boolean | undefined => {
  let unsure = false
  for (const result of results) {
    if (result === false) return false
    unsure ||= result === undefined
  }
  return unsure ? undefined : true
}

export const isOfType = (value: unknown, type: string): boolean => {
  if (type === 'integer') return typeof value === 'bigint' || Number.isInteger(value)
  return typeOf(value) === type
}

const inRange = (schema: JsonObject, value: number | bigint): boolean =>
  value >= (ownLimit(schema, 'minimum') ?? Number.NEGATIVE_INFINITY) &&
  value <= (ownLimit(schema, 'maximum') ?? Number.POSITIVE_INFINITY) &&
  value > (ownLimit(schema, 'exclusiveMinimum') ?? Number.NEGATIVE_INFINITY) &&
  value < (ownLimit(schema, 'exclusiveMaximum') ?? Number.POSITIVE_INFINITY)

/** The branch that suits a value best: one that fits, then one that may, then the one whose fixed values agree most. */
export const bestBranch = (branches: readonly unknown[], value: unknown, refs: Refs): number => {
  let best = 0
  let bestScore = -1
  for (const [i, branch] of branches.entries()) {
    const { ok, hits } = fits(branch, value, refs)
    const score = (ok === true ? 2_000 : ok === undefined ? 1_000 : 0) + Math.min(hits, 999)
    if (score > bestScore) {
      best = i
      bestScore = score
    }
  }
  return best
}
