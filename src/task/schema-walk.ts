import { escapePointer } from '../wire/json/json-value.ts'

/** A JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Keywords whose values are schemas by name, lists of schemas, and one schema. What else a schema holds is data. */
export const ofNames = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
export const ofMany = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
export const ofOne = new Set([
  'items',
  'additionalItems',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
])

/** What a reference counts from while nothing has an address: no host can have this name (RFC 2606). */
const nowhere = 'http://schema.invalid/'
/** What is nested deeper is left as it is: who bounds schemas refuses it, and nobody's stack overflows here. */
export const maxDepth = 100

/** A part of a schema, and where the resource begins that its references count from. */
export interface Place {
  readonly pointer: string
  readonly resource: string
  readonly address: string
}

export const whole: Place = { pointer: '', resource: '', address: nowhere }

type Visitor = (part: JsonSchema, place: Place, depth: number) => JsonSchema | boolean

/** A copy, with what a visitor makes of each schema in it; one for which it says false is not gone into. */
export const visit = (schema: unknown, outer: Place, visitor: Visitor, depth = 0): unknown => {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema
  const place = placeOf(schema as JsonSchema, outer)
  const made = visitor(schema as JsonSchema, place, depth)
  if (made === false) return schema
  const inside = (value: unknown, step: string) =>
    visit(value, { ...place, pointer: `${place.pointer}/${step}` }, visitor, depth + 1)
  const entries = Object.entries(made === true ? schema : made).map(([keyword, value]) => {
    const at = escapePointer(keyword)
    if (ofMany.has(keyword) && Array.isArray(value)) return [keyword, value.map((one, i) => inside(one, `${at}/${i}`))]
    if (ofOne.has(keyword)) return [keyword, inside(value, at)]
    if (!ofNames.has(keyword) || typeof value !== 'object' || value === null) return [keyword, value]
    const parts = Object.entries(value).map(([name, one]) => [name, inside(one, `${at}/${escapePointer(name)}`)])
    return [keyword, Object.fromEntries(parts)]
  })
  return Object.fromEntries(entries)
}

export const placeOf = ({ $id }: JsonSchema, outer: Place): Place => {
  const address = typeof $id === 'string' ? absolute($id, outer.address)?.replace(/#.*$/s, '') : undefined
  return address === undefined ? outer : { pointer: outer.pointer, resource: outer.pointer, address }
}

export const absolute = (reference: string, address: string): string | undefined => {
  try {
    return new URL(reference, address).href
  } catch {
    return undefined
  }
}
