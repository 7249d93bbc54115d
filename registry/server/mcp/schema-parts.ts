import type { JsonSchema } from 'pshub'

/** Keywords whose values are schemas by name, lists of schemas, and one schema. */
const byName = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const inList = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const alone = [
  ...['items', 'additionalProperties', 'propertyNames', 'contains', 'not', 'if', 'then', 'else'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
]

/** A copy in which `change` was applied to each schema, the inner ones first. True and false are schemas without parts. */
export const rewritten = (schema: unknown, change: (part: JsonSchema) => JsonSchema): unknown => {
  if (!isObject(schema)) return schema
  const inner = (value: unknown) => rewritten(value, change)
  const parts = Object.entries(schema).map(([keyword, value]) => {
    if (alone.includes(keyword)) return [keyword, inner(value)]
    if (inList.includes(keyword) && Array.isArray(value)) return [keyword, value.map(inner)]
    if (!byName.includes(keyword) || !isObject(value)) return [keyword, value]
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]))]
  })
  return change(Object.fromEntries(parts))
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
