import { itemSchemas, memberSchemas, Steps, spread, TooTangled } from './applying.ts'
import { makeRefs, type Refs } from './refs.ts'
import { isObject, type Loose } from './steps.ts'

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

class Walk {
  hasDropped = false
  readonly steps = new Steps()
  readonly refs: Refs
  private readonly instead: unknown

  constructor(root: unknown, instead: unknown) {
    this.refs = makeRefs(root)
    this.instead = instead
  }

  kept(schemas: unknown[], value: unknown): unknown {
    const { all, isWhole } = spread(schemas, this)
    // What cannot be found may say that it is secret.
    if (!isWhole || all.some(schema => schema.writeOnly === true || schema.format === 'password')) {
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
    // A number that is kept as its text is no object of JSON.
    if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value
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
}
