import { makeRefs, type Refs } from './refs.ts'
import { isObject, type Loose, listOf, own } from './steps.ts'

/** Steps that hostile schemas get before it is given up: then nothing is kept at all. */
const maxSteps = 20_000

/** Of a task: the schema of its arguments, and why that is not used. */
export interface Judged {
  args?: unknown
  unusable?: string | undefined
}

/** What stands where a secret was left out of a command. */
export const placeholder = '<secret>'

/**
 * Arguments without the fields that are not to be kept or passed on: `writeOnly` ones and passwords, and what cannot be judged.
 * `value` is undefined when all of it is secret, when the schema is not usable, or too tangled to tell.
 */
export const withoutSecrets = (task: Judged, value: unknown): { value: unknown; isWhole: boolean } =>
  judged(task, value, undefined)

/** The same with a word in the place of each. */
export const withPlaceholders = (task: Judged, value: unknown): { value: unknown; isWhole: boolean } => {
  if (value === undefined) return { value, isWhole: true }
  const { value: shown = placeholder, isWhole } = judged(task, value, placeholder)
  return { value: shown, isWhole }
}

const judged = ({ args, unusable }: Judged, value: unknown, instead: unknown): { value: unknown; isWhole: boolean } => {
  if (unusable !== undefined) return { value: undefined, isWhole: false }
  const walk = new Walk(args, instead)
  try {
    const kept = walk.kept([args], value)
    return { value: kept, isWhole: !walk.hasDropped }
  } catch (error) {
    if (error instanceof TooTangled) return { value: undefined, isWhole: false }
    throw error
  }
}

class TooTangled extends Error {}

class Walk {
  hasDropped = false
  private steps = 0
  private readonly refs: Refs
  private readonly instead: unknown

  constructor(root: unknown, instead: unknown) {
    this.refs = makeRefs(root)
    this.instead = instead
  }

  kept(schemas: unknown[], value: unknown): unknown {
    const all = this.spread(schemas)
    if (all === undefined || all.some(schema => schema.writeOnly === true || schema.format === 'password')) {
      this.hasDropped = true
      return this.instead
    }
    if (Array.isArray(value))
      return value.map(
        (item, at) =>
          this.kept(
            all.flatMap(s => itemSchemas(s, at)),
            item,
          ) ?? null,
      )
    if (!isObject(value)) return value
    const kept: Loose = {}
    for (const [key, inner] of Object.entries(value)) {
      const left = this.kept(
        all.flatMap(schema => memberSchemas(schema, key)),
        inner,
      )
      if (left !== undefined) kept[key] = left
    }
    return kept
  }

  /**
   * All schemas that may apply in the same place: branches are all taken, because any of them may be the one. Undefined where
   * one of them cannot be found, and may say that it is secret.
   */
  private spread(schemas: unknown[]): Loose[] | undefined {
    const all = new Set<Loose>()
    const waiting = [...schemas]
    for (let schema = waiting.pop(); waiting.length > 0 || schema !== undefined; schema = waiting.pop()) {
      if (++this.steps > maxSteps) throw new TooTangled()
      if (!isObject(schema) || all.has(schema)) continue
      all.add(schema)
      const dependent = ['dependentSchemas', 'dependencies'].map(key => own(schema, key)).filter(isObject)
      const named = ['$ref', '$dynamicRef', '$recursiveRef'].map(key => own(schema, key))
      const found = named.flatMap(ref => (ref === undefined ? [] : [this.refs.resolve(String(ref), schema)]))
      if (found.includes(undefined)) return undefined
      waiting.push(
        ...['allOf', 'anyOf', 'oneOf'].flatMap(key => listOf(own(schema, key))),
        ...['if', 'then', 'else'].map(key => own(schema, key)),
        ...dependent.flatMap(one => Object.values(one)),
        ...found,
      )
    }
    return [...all]
  }
}

const itemSchemas = (schema: Loose, at: number): unknown[] => {
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
const memberSchemas = (schema: Loose, key: string): unknown[] => {
  const patterns = own(schema, 'patternProperties')
  return [
    own(own(schema, 'properties'), key),
    ...(isObject(patterns) ? Object.values(patterns) : []),
    ...(own(own(schema, 'properties'), key) === undefined ? [own(schema, 'additionalProperties')] : []),
    own(schema, 'unevaluatedProperties'),
  ]
}
