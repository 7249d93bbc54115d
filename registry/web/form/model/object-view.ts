import type { Refs } from '../../../schema/refs.ts'
import { fits } from './fits.ts'
import { type Flat, flatten } from './flatten.ts'
import { has, isObject, type JsonObject, own, ownArray, ownObject } from './json.ts'

export interface Field {
  readonly name: string
  readonly schema: unknown
  readonly required: boolean
}

export interface ObjectView {
  /** The declared fields in their order, and those that conditions add for the value as it is. */
  readonly fields: readonly Field[]
  /** Keys of the value that no field declares. */
  readonly extra: readonly string[]
  /** Whether further keys may be added. */
  readonly open: boolean
  /** Further keys are what this object is for: a map. */
  readonly isMap: boolean
  /** Schema of the value under a further key. */
  entrySchema(key: string): unknown
}

export const objectViewOf = (flat: Flat, value: unknown, refs: Refs): ObjectView => {
  const whole = withConditions(flat, value, refs)
  const { keywords } = whole
  const properties = ownObject(keywords, 'properties') ?? {}
  const required = new Set((ownArray(keywords, 'required') ?? []).map(String))
  for (const [name, names] of Object.entries(ownObject(keywords, 'dependentRequired') ?? {}))
    if (has(value, name) && Array.isArray(names)) for (const needed of names) required.add(String(needed))
  const patterns = Object.entries(ownObject(keywords, 'patternProperties') ?? {})
  const further = schemaOfOthers(keywords)
  const entrySchema = (key: string): unknown => {
    const found = patterns.filter(([pattern]) => refs.matches(pattern, key) ?? true).map(([, schema]) => schema)
    if (found.length === 0) return further ?? true
    return found.length === 1 ? found[0] : { allOf: found }
  }
  const names = Object.keys(properties)
  const fields = names.map(name => ({ name, schema: properties[name], required: required.has(name) }))
  for (const name of required)
    if (!has(properties, name)) fields.push({ name, schema: entrySchema(name), required: true })
  const declared = new Set(fields.map(field => field.name))
  const extra = isObject(value) ? Object.keys(value).filter(key => !declared.has(key)) : []
  return {
    // One that is asked for and never allowed is drawn, to say so.
    fields: fields.filter(field => field.schema !== false || field.required || has(value, field.name)),
    extra,
    open: further !== false || patterns.length > 0,
    isMap: patterns.length > 0 || (further !== undefined && further !== false) || names.length === 0,
    entrySchema,
  }
}

const schemaOfOthers = (keywords: JsonObject): unknown =>
  has(keywords, 'additionalProperties') ? own(keywords, 'additionalProperties') : own(keywords, 'unevaluatedProperties')

const maxRounds = 4

/** The schema with what applies to this value: `then` or `else`, and dependent schemas. */
const withConditions = (flat: Flat, value: unknown, refs: Refs): Flat => {
  let now = flat
  const done = new Set<unknown>()
  // What a condition adds may hold a condition of its own.
  for (let round = 0; round < maxRounds; round++) {
    const parts: unknown[] = []
    for (const condition of now.conditions) {
      if (done.has(condition)) continue
      done.add(condition)
      const { ok } = fits(own(condition, 'if'), value ?? {}, refs)
      // Where it cannot be told, the fields of both are offered and the checks decide.
      if (ok !== false && has(condition, 'then')) parts.push(softened(own(condition, 'then'), ok))
      if (ok !== true && has(condition, 'else')) parts.push(softened(own(condition, 'else'), ok))
    }
    for (const [name, schema] of Object.entries(ownObject(now.keywords, 'dependentSchemas') ?? {}))
      if (has(value, name) && !done.has(schema)) {
        done.add(schema)
        parts.push(schema)
      }
    if (parts.length === 0) return now
    const merged = flatten({ allOf: [now.keywords, ...parts] }, refs)
    now = { ...merged, refName: flat.refName }
  }
  return now
}

const softened = (part: unknown, ok: boolean | undefined): unknown => {
  if (ok !== undefined || !isObject(part)) return part
  const { required: _, ...rest } = part
  return rest
}
