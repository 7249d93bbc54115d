import type { Refs } from '../../../schema/refs.ts'
import { equal, has, isNumber, isObject, type JsonObject, own, ownArray, ownObject, ownText } from './json.ts'

export type Schema = JsonObject | boolean

/** A part of the schema with its `$ref` followed and its `allOf` merged: what one field of the form is drawn from. */
export interface Flat {
  /** False: nothing is allowed here. */
  readonly possible: boolean
  readonly keywords: JsonObject
  /** Conditions that add fields: `if` with `then` and `else`, from here and from what was merged. */
  readonly conditions: readonly JsonObject[]
  /** Last part of the `$ref` that was followed: a name where there is no title. */
  readonly refName: string | undefined
}

/** More parts than these are not merged into one; what is left is only checked. */
const maxParts = 64

export const asSchema = (value: unknown): Schema => (isObject(value) || typeof value === 'boolean' ? value : true)

export const flatten = (schema: unknown, refs: Refs): Flat => {
  const conditions: JsonObject[] = []
  const seen = new Set<unknown>()
  let keywords: JsonObject = {}
  let possible = true
  let refName: string | undefined
  const add = (part: unknown): void => {
    if (part === false) possible = false
    if (!isObject(part) || seen.has(part) || seen.size >= maxParts) return
    seen.add(part)
    if (has(part, 'if')) conditions.push(part)
    keywords = merge(keywords, part)
    const ref = ownText(part, '$ref') ?? ownText(part, '$dynamicRef')
    if (ref !== undefined) {
      refName ??= /([^/#]+)$/.exec(ref)?.[1]
      add(refs.resolve(ref, part))
    }
    for (const inner of ownArray(part, 'allOf') ?? []) add(inner)
  }
  add(schema)
  return { possible, keywords, conditions, refName }
}

const dropped = new Set([
  '$ref',
  '$dynamicRef',
  'allOf',
  'if',
  'then',
  'else',
  '$defs',
  'definitions',
  '$id',
  '$anchor',
])

/** Both at once. Where two say something about the same, the stricter counts; of names and texts the first. */
const merge = (a: JsonObject, b: JsonObject): JsonObject => {
  const entries = new Map(Object.entries(a))
  for (const [keyword, value] of Object.entries(b)) {
    if (dropped.has(keyword)) continue
    const mine = entries.get(keyword)
    const other = otherChoice[keyword]
    if (mine !== undefined && other !== undefined) {
      // Two choices at one place: the second is made inside the first, whichever keyword it came with.
      if (!entries.has(other) && !has(b, other)) entries.set(other, value)
      continue
    }
    entries.set(keyword, mine === undefined ? value : (mergers[keyword]?.(mine, value) ?? mine))
  }
  return Object.fromEntries(entries)
}

const otherChoice: Record<string, string | undefined> = { __proto__: null as never, oneOf: 'anyOf', anyOf: 'oneOf' }

type Merger = (a: unknown, b: unknown) => unknown

const both = (a: unknown, b: unknown): unknown => (equal(a, b) ? a : { allOf: [a, b] })

const perKey: Merger = (a, b) => {
  if (!isObject(a) || !isObject(b)) return a
  const entries = new Map(Object.entries(a))
  for (const [key, value] of Object.entries(b))
    entries.set(key, entries.has(key) ? both(entries.get(key), value) : value)
  return Object.fromEntries(entries)
}

const larger: Merger = (a, b) => (isNumber(a) && isNumber(b) && b > a ? b : a)
const smaller: Merger = (a, b) => (isNumber(a) && isNumber(b) && b < a ? b : a)
const either: Merger = (a, b) => a === true || b === true

const union: Merger = (a, b) =>
  Array.isArray(a) && Array.isArray(b) ? [...a, ...b.filter(item => !a.includes(item))] : a

const common: Merger = (a, b) =>
  Array.isArray(a) && Array.isArray(b) ? a.filter(item => b.some(other => equal(item, other))) : a

const types: Merger = (a, b) => {
  const others = typesOf(b)
  const left = typesOf(a).flatMap(type => {
    if (others.includes(type)) return [type]
    if (type === 'number' && others.includes('integer')) return ['integer']
    return type === 'integer' && others.includes('number') ? ['integer'] : []
  })
  return left
}

const tuples: Merger = (a, b) => {
  if (!Array.isArray(a) || !Array.isArray(b)) return a
  const [longer, shorter] = a.length >= b.length ? [a, b] : [b, a]
  return longer.map((item, i) => (i < shorter.length ? both(item, shorter[i]) : item))
}

const mergers: Record<string, Merger | undefined> = Object.assign(Object.create(null), {
  type: types,
  enum: common,
  required: union,
  properties: perKey,
  patternProperties: perKey,
  dependentSchemas: perKey,
  dependentRequired: (a: unknown, b: unknown) => (isObject(a) && isObject(b) ? { ...a, ...b } : a),
  items: both,
  additionalProperties: both,
  propertyNames: both,
  prefixItems: tuples,
  minimum: larger,
  exclusiveMinimum: larger,
  minLength: larger,
  minItems: larger,
  minProperties: larger,
  maximum: smaller,
  exclusiveMaximum: smaller,
  maxLength: smaller,
  maxItems: smaller,
  maxProperties: smaller,
  uniqueItems: either,
  deprecated: either,
  readOnly: either,
  writeOnly: either,
})

export const typesOf = (type: unknown): string[] =>
  Array.isArray(type) ? type.filter(item => typeof item === 'string') : typeof type === 'string' ? [type] : []

const typeKeywords: [string, string[]][] = [
  ['object', ['properties', 'patternProperties', 'additionalProperties', 'required', 'propertyNames', 'minProperties']],
  ['object', ['maxProperties', 'dependentRequired', 'dependentSchemas', 'unevaluatedProperties']],
  ['array', ['items', 'prefixItems', 'contains', 'minItems', 'maxItems', 'uniqueItems']],
  ['string', ['minLength', 'maxLength', 'pattern', 'format', 'contentEncoding', 'contentMediaType']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

/** The types a value may have; where none is named, the ones that the other keywords speak of. Empty: any. */
export const likelyTypes = (flat: Flat): string[] => {
  const type = own(flat.keywords, 'type')
  if (typeof type === 'string' || Array.isArray(type)) return [...new Set(typesOf(type))]
  const spoken = typeKeywords.filter(([, keywords]) => keywords.some(keyword => has(flat.keywords, keyword)))
  const found = [...new Set(spoken.map(([type]) => type))]
  if (found.length === 0 && flat.conditions.some(one => ownObject(ownObject(one, 'then'), 'properties')))
    return ['object']
  return found.length === 1 ? found : []
}
