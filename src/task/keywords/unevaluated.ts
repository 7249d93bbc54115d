import type { Ajv2020, ErrorObject, FuncKeywordDefinition } from 'ajv/dist/2020.js'
import { escapePointer } from '../../wire/json/json-value.ts'
import { encoded } from '../local-references.ts'
import type { ReadSchema } from '../schema-reading.ts'

type Part = Record<string, unknown>
type Check = ReturnType<NonNullable<FuncKeywordDefinition['compile']>>

/** What the whole schema is called, so that its parts can be asked for by their pointers. */
const wholeName = 'whole'

/**
 * `unevaluatedProperties` and `unevaluatedItems`, in the place of ajv's own: these lose what a `$ref` or `allOf` looked at beside `if`, `oneOf`
 * or `anyOf`, and count what an `if` looked at that does not hold. ajv's option `unevaluated` stays on: without it each choice is nested in the
 * one before, and thousands of them are too deep for the stack.
 */
export const addUnevaluated = (ajv: Ajv2020, read: ReadSchema): void => {
  ajv.removeKeyword('unevaluatedProperties').removeKeyword('unevaluatedItems')
  const parts = [...read.pointers.keys()] as Part[]
  if (!parts.some(part => 'unevaluatedProperties' in part || 'unevaluatedItems' in part)) return
  ajv.addSchema(read.schema, wholeName)
  const looks = new Looks(ajv, read)
  ajv.addKeyword(keywordOf(looks, 'object'))
  ajv.addKeyword(keywordOf(looks, 'array'))
}

const keywordOf = (looks: Looks, type: 'object' | 'array'): FuncKeywordDefinition => ({
  keyword: type === 'object' ? 'unevaluatedProperties' : 'unevaluatedItems',
  type,
  schemaType: ['boolean', 'object'],
  errors: true,
  compile: (schema, parent) => {
    const message = type === 'object' ? 'is not a known field' : 'is not a known item'
    const check: Check = (value, context) => {
      const seen = looks.seenBy(parent as Part, value)
      const left = Object.keys(value).filter(name => !seen(name))
      check.errors = left.flatMap((name): Partial<ErrorObject>[] => {
        const instancePath = `${context?.instancePath}/${escapePointer(name)}`
        if (schema === false) return [{ keyword: 'unevaluated', instancePath, message }]
        const inner = looks.errorsOf(schema, value[name])
        return inner.map(error => ({ ...error, instancePath: `${instancePath}${error.instancePath}` }))
      })
      return check.errors.length === 0
    }
    return check
  },
})

/** Which fields or items of a value the parts of a schema look at. */
class Looks {
  readonly #ajv: Ajv2020
  readonly #read: ReadSchema

  constructor(ajv: Ajv2020, read: ReadSchema) {
    this.#ajv = ajv
    this.#read = read
  }

  /** @param part the schema whose own `unevaluatedProperties` or `unevaluatedItems` asks */
  seenBy(part: Part, value: object): (name: string) => boolean {
    const seen = new Set<string>()
    const all = this.#look(part, value, seen, true)
    return name => all || seen.has(name)
  }

  errorsOf(part: unknown, value: unknown): ErrorObject[] {
    if (part === true) return []
    if (part === false) return [{ keyword: 'false schema', instancePath: '', schemaPath: '', params: {} }]
    // Only now: while the whole is compiled, its parts cannot be.
    const validate = this.#ajv.getSchema(`${wholeName}#${encoded(this.#read.pointers.get(part)!)}`)!
    return validate(value) ? [] : [...validate.errors!]
  }

  /** Notes the names that a part looks at; true: all of them. */
  #look(part: unknown, value: object, seen: Set<string>, isAsking = false): boolean {
    if (typeof part === 'boolean') return false
    const has = (keyword: string) => Object.hasOwn(part as Part, keyword)
    if (Array.isArray(value) ? this.#lookAtItems(part as Part, value, seen) : lookAtFields(part as Part, value, seen))
      return true
    if (!isAsking && has(Array.isArray(value) ? 'unevaluatedItems' : 'unevaluatedProperties')) return true
    return this.#beside(part as Part, value).filter(inner => this.#look(inner, value, seen)).length > 0
  }

  #lookAtItems(part: Part, value: unknown[], seen: Set<string>): boolean {
    if ('items' in part) return true
    const first = (part.prefixItems as unknown[] | undefined)?.length ?? 0
    for (let index = 0; index < value.length; index++)
      if (index < first || ('contains' in part && this.#fits(part.contains, value[index]))) seen.add(String(index))
    return false
  }

  /** The schemas that look at the same value and count: of a choice those that fit. */
  #beside(part: Part, value: object): unknown[] {
    const listed = (keyword: string) => (part[keyword] as unknown[] | undefined) ?? []
    const dependent = Array.isArray(value) ? {} : ((part.dependentSchemas as Part | undefined) ?? {})
    const holds = 'if' in part && this.#fits(part.if, value)
    return [
      ...('$ref' in part ? [this.#read.targets.get(part)] : []),
      ...listed('allOf'),
      ...[...listed('anyOf'), ...listed('oneOf')].filter(inner => this.#fits(inner, value)),
      ...Object.keys(dependent)
        .filter(name => Object.hasOwn(value, name))
        .map(name => dependent[name]),
      ...(holds ? [part.if, part.then ?? true] : 'if' in part ? [part.else ?? true] : []),
    ]
  }

  #fits(part: unknown, value: unknown): boolean {
    return this.errorsOf(part, value).length === 0
  }
}

const lookAtFields = (part: Part, value: object, seen: Set<string>): boolean => {
  if ('additionalProperties' in part) return true
  const patterns = Object.keys(part.patternProperties ?? {}).map(pattern => new RegExp(pattern, 'u'))
  for (const name of Object.keys(value))
    if (Object.hasOwn(part.properties ?? {}, name) || patterns.some(pattern => pattern.test(name))) seen.add(name)
  return false
}
