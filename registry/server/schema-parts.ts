import type { JsonSchema } from 'pshub'

/** Keywords of JSON Schema (2020-12, and what of older drafts is still written) whose values are schemas. */
const ofNames = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const ofMany = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])
const ofOne = new Set([
  'items',
  'additionalProperties',
  'additionalItems',
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
/** What names a schema, which has another name where it is put. */
const naming = new Set(['$id', '$schema', '$anchor', '$dynamicAnchor', '$recursiveAnchor', '$vocabulary'])
const referring = new Set(['$ref', '$dynamicRef'])

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** A schema within another one, where it is, and where the resource begins that its own references count from. */
interface Place {
  schema: JsonSchema
  pointer: string
  resource: string
}

type Visit = (inner: unknown, pointer: string) => unknown

/** A copy, with `visit` applied to each schema directly inside. */
const mapInner = (schema: JsonSchema, pointer: string, visit: Visit): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      const at = `${pointer}/${escaped(key)}`
      if (ofMany.has(key) && Array.isArray(value))
        return [key, value.map((inner, index) => visit(inner, `${at}/${index}`))]
      if (ofOne.has(key)) return [key, visit(value, at)]
      if (!ofNames.has(key) || !isObject(value)) return [key, value]
      const inner = Object.entries(value).map(([name, part]) => [name, visit(part, `${at}/${escaped(name)}`)])
      return [key, Object.fromEntries(inner)]
    }),
  )

const placesOf = (root: JsonSchema): Map<string, Place> => {
  const places = new Map<string, Place>()
  const walk = (schema: unknown, pointer: string, outer: string): unknown => {
    if (!isObject(schema)) return schema
    const resource = typeof schema.$id === 'string' ? pointer : outer
    places.set(pointer, { schema, pointer, resource })
    return mapInner(schema, pointer, (inner, at) => walk(inner, at, resource))
  }
  walk(root, '', '')
  return places
}

/**
 * The schema as it has to be when it is put into a document at `base`, a reference like #/components/schemas/x: its own
 * references lead to the same places there. Undefined when one of them leads nowhere. The schema must be within the bounds
 * of `whyUnusable`.
 */
export const movedSchema = (root: JsonSchema, base: string): JsonSchema | undefined => {
  const places = placesOf(root)
  const anchors = new Map<string, string>()
  for (const { schema, pointer, resource } of places.values()) {
    for (const name of [schema.$anchor, schema.$dynamicAnchor])
      if (typeof name === 'string') anchors.set(`${resource}#${name}`, pointer)
  }
  let isWhole = true
  const target = (reference: unknown, resource: string): string => {
    const fragment = decoded(String(reference).slice(1))
    const pointer =
      fragment === '' || fragment.startsWith('/') ? `${resource}${fragment}` : anchors.get(`${resource}#${fragment}`)
    if (pointer === undefined || !places.has(pointer)) isWhole = false
    return `${base}${encoded(pointer ?? '')}`
  }
  const move = (schema: unknown, pointer: string): unknown => {
    const place = places.get(pointer)
    if (!place) return schema
    const { resource } = place
    const moved = Object.entries(mapInner(place.schema, pointer, move))
      .filter(([key]) => !naming.has(key))
      .map(([key, value]) => (referring.has(key) ? ['$ref', target(value, resource)] : [key, value]))
    return Object.fromEntries(moved)
  }
  const moved = move(root, '') as JsonSchema
  return isWhole ? moved : undefined
}

const decoded = (fragment: string): string => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/** As it is written in a URI's fragment. */
const encoded = (pointer: string): string => pointer.split('/').map(encodeURIComponent).join('/').replaceAll('%24', '$')
