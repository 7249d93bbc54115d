import { absolute, type JsonSchema, maxDepth, type Place, visit, whole } from './schema-walk.ts'

/** What the references of a schema lead to, and what it says on the way. */
interface References {
  /** Where in the schema a reference leads, as a pointer; undefined: out of it, or to no anchor. */
  pointerOf(reference: string, from: Place): string | undefined
  /** Pointers of all schemas in it. */
  readonly places: ReadonlySet<string>
  /** Whether nothing in it has a name. */
  readonly isNameless: boolean
}

export const referencesOf = (schema: JsonSchema): References => {
  const names = new Map<string, string>()
  const resources = new Map<string, string>([[whole.address, '']])
  const places = new Set<string>()
  visit(schema, whole, (part, { pointer, resource, address }, depth) => {
    places.add(pointer)
    if (typeof part.$id === 'string') resources.set(address, pointer)
    for (const name of [part.$anchor, part.$dynamicAnchor])
      if (typeof name === 'string') names.set(`${resource}#${name}`, pointer)
    return depth <= maxDepth
  })
  return {
    places,
    isNameless: names.size === 0 && resources.size === 1,
    pointerOf(reference, { address }) {
      const [document = '', fragment = ''] = absolute(reference, address)?.split(/#(.*)/s) ?? []
      const resource = resources.get(document)
      if (resource === undefined) return undefined
      const part = decoded(fragment)
      return part === '' || part.startsWith('/') ? `${resource}${part}` : names.get(`${resource}#${part}`)
    },
  }
}

/**
 * The same schema with each reference to something in it written as a pointer (`#/$defs/name`), whether it named that by an
 * anchor, by the `$id` of the whole or by the `$id` of a part; the names themselves are gone. Ajv does not find an anchor of
 * the whole, and pointers alone show that nothing leaves the schema. References that lead elsewhere stay as they are.
 */
export const withLocalReferences = (schema: JsonSchema): JsonSchema => {
  const { isNameless, pointerOf } = referencesOf(schema)
  if (isNameless) return schema
  return visit(schema, whole, (part, place) => {
    const { $id: _, $anchor: __, ...rest } = part
    const pointer = typeof part.$ref === 'string' ? pointerOf(part.$ref, place) : undefined
    return pointer === undefined ? rest : { ...rest, $ref: `#${encoded(pointer)}` }
  }) as JsonSchema
}

/** What names a schema, which has another name where it is put. */
const naming = new Set(['$id', '$schema', '$anchor', '$dynamicAnchor', '$recursiveAnchor', '$vocabulary'])

/**
 * The schema as it has to be when it is put into a document at `base`, a reference like #/components/schemas/x: its own
 * references lead to the same places there. Undefined when one of them leads nowhere. The schema must be within the bounds
 * of `whyUnusable`.
 */
export const movedSchema = (schema: JsonSchema, base: string): JsonSchema | undefined => {
  const { places, pointerOf } = referencesOf(schema)
  let isWhole = true
  const moved = visit(schema, whole, (part, place) => {
    const entries = Object.entries(part).filter(([keyword]) => !naming.has(keyword))
    const known = entries.map(([keyword, value]) => {
      if (keyword !== '$ref') return [keyword, value]
      const pointer = pointerOf(String(value), place)
      if (pointer === undefined || !places.has(pointer)) isWhole = false
      return ['$ref', `${base}${encoded(pointer ?? '').replaceAll('%24', '$')}`]
    })
    return Object.fromEntries(known)
  }) as JsonSchema
  return isWhole ? moved : undefined
}

/** As it is written in the fragment of an address. */
export const encoded = (pointer: string): string => pointer.split('/').map(encodeURIComponent).join('/')

/** Not that of schema-diff: the build would put it into a file with modules of Node, and pshub/schema-diff runs in browsers. */
const decoded = (fragment: string): string => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
