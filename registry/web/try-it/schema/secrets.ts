import { partNamed } from '../../../schema-diff/pointer.ts'
import { isObject, type Loose, listOf, own } from './steps.ts'

/** Steps that hostile schemas get before it is given up: then nothing is kept at all. */
const maxSteps = 20_000

/**
 * Arguments without the fields that are not to be kept or passed on: `writeOnly` ones and passwords.
 * `value` is undefined when all of it is secret or the schema is too tangled to tell.
 */
export const withoutSecrets = (schema: unknown, value: unknown): { value: unknown; isWhole: boolean } => {
  const walk = new Walk(schema)
  try {
    const kept = walk.kept([schema], value)
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
  private readonly root: unknown

  constructor(root: unknown) {
    this.root = root
  }

  kept(schemas: unknown[], value: unknown): unknown {
    const all = this.spread(schemas)
    if (all.some(schema => schema.writeOnly === true || schema.format === 'password')) {
      this.hasDropped = true
      return undefined
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

  /** All schemas that may apply in the same place: branches are all taken, because any of them may be the one. */
  private spread(schemas: unknown[]): Loose[] {
    const all = new Set<Loose>()
    const waiting = [...schemas]
    for (let schema = waiting.pop(); waiting.length > 0 || schema !== undefined; schema = waiting.pop()) {
      if (++this.steps > maxSteps) throw new TooTangled()
      if (!isObject(schema) || all.has(schema)) continue
      all.add(schema)
      const dependent = own(schema, 'dependentSchemas')
      waiting.push(
        ...['allOf', 'anyOf', 'oneOf'].flatMap(key => listOf(own(schema, key))),
        ...['if', 'then', 'else'].map(key => own(schema, key)),
        ...(isObject(dependent) ? Object.values(dependent) : []),
        partNamed(this.root, own(schema, '$ref')),
      )
    }
    return [...all]
  }
}

const itemSchemas = (schema: Loose, at: number): unknown[] => [
  listOf(own(schema, 'prefixItems'))[at],
  own(schema, 'items'),
  own(schema, 'contains'),
  own(schema, 'unevaluatedItems'),
]

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
