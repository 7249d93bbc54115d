import { absolute, type JsonSchema, maxDepth, type Place, visit, whole } from './schema-walk.ts'

/**
 * The same schema with each reference to something in it written as a pointer (`#/$defs/name`), whether it named that by an
 * anchor, by the `$id` of the whole or by the `$id` of a part; the names themselves are gone. Ajv does not find an anchor of
 * the whole, and pointers alone show that nothing leaves the schema. References that lead elsewhere stay as they are.
 */
export const withLocalReferences = (schema: JsonSchema): JsonSchema => {
  const names = new Map<string, string>()
  const resources = new Map<string, string>([[whole.address, '']])
  let isDynamic = false
  let isDeep = false
  visit(schema, whole, (part, { pointer, resource, address }, depth) => {
    isDeep ||= depth > maxDepth
    isDynamic ||= typeof part.$dynamicRef === 'string'
    if (typeof part.$id === 'string') resources.set(address, pointer)
    for (const name of [part.$anchor, part.$dynamicAnchor])
      if (typeof name === 'string') names.set(`${resource}#${name}`, pointer)
    return depth <= maxDepth
  })
  // Where dynamic references lead depends on the resources that were passed on the way.
  if (isDeep || (names.size === 0 && resources.size === 1) || (isDynamic && resources.size > 2)) return schema
  const pointerOf = (reference: string, { address }: Place): string | undefined => {
    const target = absolute(reference, address)
    const [document = '', fragment = ''] = target?.split(/#(.*)/s) ?? []
    const resource = resources.get(document)
    if (resource === undefined) return undefined
    const part = decoded(fragment)
    return part === '' || part.startsWith('/') ? `${resource}${part}` : names.get(`${resource}#${part}`)
  }
  return visit(schema, whole, (part, place) => {
    const { $id: _, $anchor: __, ...rest } = part
    if (typeof part.$ref !== 'string') return rest
    const pointer = pointerOf(part.$ref, place)
    return pointer === undefined ? rest : { ...rest, $ref: `#${pointer.split('/').map(encodeURIComponent).join('/')}` }
  }) as JsonSchema
}

const decoded = (fragment: string): string => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
