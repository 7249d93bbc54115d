import { partNamed } from '../schema-diff/pointer.ts'
import { withLocalReferences } from '../task/local-references.ts'
import { type JsonSchema, whyUnusable } from '../task/schema.ts'

/** What values a schema lets through, as far as a type of a programming language can say it. */
export type Shape =
  | { is: 'unknown' | 'never' | 'boolean' | 'number' | 'string' }
  | { is: 'integer' }
  | { is: 'literal'; value: string | number | boolean | null }
  | { is: 'any of' | 'all of'; of: Shape[] }
  | { is: 'list'; of: Shape }
  | { is: 'tuple'; of: Shape[]; rest: Shape | undefined }
  | { is: 'object'; fields: Field[]; others: Shape | undefined }
  /** Into `parts`, by pointer. */
  | { is: 'part'; pointer: string }

export interface Field {
  name: string
  shape: Shape
  isRequired: boolean
  about: string
}

/** A schema's shape, and those of the parts that its references name. */
export interface Shapes {
  whole: Shape
  parts: ReadonlyMap<string, Shape>
  about: string
  /** Why nothing is said of it. */
  unusable: string | undefined
}

const unknown: Shape = { is: 'unknown' }
/** What is nested deeper is anything. */
const maxDepth = 30

type Schema = Record<string, unknown> | boolean

/** Reads a schema, which may be anything: what it does not tell is `unknown`. Without one, anything goes. */
export const shapesOf = (schema: unknown): Shapes => {
  const nothing = { whole: unknown, parts: new Map(), about: '' }
  if (schema === undefined || schema === true) return { ...nothing, unusable: undefined }
  const unusable = whyUnusable(schema)
  if (unusable !== undefined) return { ...nothing, unusable }
  const root = withLocalReferences(schema as JsonSchema) as Record<string, unknown>
  const reader = new Reader(root)
  const whole = reader.shape(root, 0)
  const { parts } = reader
  return { whole: parts.get('') ?? whole, parts, about: textOf(root.description), unusable: undefined }
}

class Reader {
  readonly parts = new Map<string, Shape>()
  readonly #root: Record<string, unknown>

  constructor(root: Record<string, unknown>) {
    this.#root = root
  }

  shape(schema: unknown, depth: number): Shape {
    if (schema === false) return { is: 'never' }
    if (!isObject(schema) || depth > maxDepth) return unknown
    const own = this.#own(schema, depth)
    const joined = [
      own,
      ...('$ref' in schema ? [this.#reference(schema.$ref)] : []),
      ...listOf(schema.allOf).map(each => this.shape(each, depth + 1)),
      ...[schema.anyOf, schema.oneOf].filter(Array.isArray).map(each => this.#anyOf(each, depth)),
    ]
    return allOf(joined)
  }

  #anyOf(schemas: unknown[], depth: number): Shape {
    return anyOf(schemas.map(each => this.shape(each, depth + 1)))
  }

  #reference(reference: unknown): Shape {
    const found = partNamed(this.#root, reference)
    if (found === undefined || typeof reference !== 'string') return unknown
    const pointer = reference.slice(1)
    if (!this.parts.has(pointer)) {
      // It may refer to itself.
      this.parts.set(pointer, unknown)
      this.parts.set(pointer, this.shape(found, 1))
    }
    return { is: 'part', pointer }
  }

  /** What it says by itself, without what it is joined with. */
  #own(schema: Record<string, unknown>, depth: number): Shape {
    if ('const' in schema) return literal(schema.const)
    if (Array.isArray(schema.enum)) return anyOf(schema.enum.map(literal))
    const implied = isObject(schema.properties) ? 'object' : undefined
    const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? implied]
    return anyOf(types.map(type => this.#ofType(type, schema, depth)))
  }

  #ofType(type: unknown, schema: Record<string, unknown>, depth: number): Shape {
    if (type === 'null') return { is: 'literal', value: null }
    if (type === 'boolean' || type === 'number' || type === 'string' || type === 'integer') return { is: type }
    if (type === 'array') return this.#list(schema, depth)
    return type === 'object' ? this.#object(schema, depth) : unknown
  }

  #list({ prefixItems, items }: Record<string, unknown>, depth: number): Shape {
    const rest = items === undefined ? undefined : this.shape(items, depth + 1)
    if (!Array.isArray(prefixItems) || prefixItems.length === 0) return { is: 'list', of: rest ?? unknown }
    const of = prefixItems.map(each => this.shape(each, depth + 1))
    return { is: 'tuple', of, rest: rest?.is === 'never' ? undefined : rest }
  }

  #object(schema: Record<string, unknown>, depth: number): Shape {
    const { properties, patternProperties, additionalProperties } = schema
    const required = new Set(listOf(schema.required))
    const fields = Object.entries(isObject(properties) ? properties : {}).map(([name, each]): Field => {
      const about = isObject(each) ? textOf(each.description) : ''
      return { name, shape: this.shape(each, depth + 1), isRequired: required.has(name), about }
    })
    const patterns = isObject(patternProperties) ? Object.values(patternProperties) : []
    const others = [...patterns, ...(additionalProperties === undefined ? [] : [additionalProperties])]
    // Without a word of others they are let through, and yet a name that is not listed is mostly a mistake.
    if (others.length === 0) return { is: 'object', fields, others: fields.length === 0 ? unknown : undefined }
    const shapes = others.filter((each): each is Schema => each !== false).map(each => this.shape(each, depth + 1))
    if (shapes.length === 0) return { is: 'object', fields, others: fields.length === 0 ? { is: 'never' } : undefined }
    return { is: 'object', fields, others: anyOf(shapes) }
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Lists and objects are not told value by value. */
const literal = (value: unknown): Shape =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value)
    ? { is: 'literal', value: value as string }
    : unknown

/** One of these; where one is anything, all are. */
const anyOf = (shapes: Shape[]): Shape => {
  if (shapes.some(({ is }) => is === 'unknown')) return unknown
  const of = distinct(
    shapes.flatMap(each => (each.is === 'any of' ? each.of : [each])).filter(({ is }) => is !== 'never'),
  )
  if (of.length === 0) return { is: 'never' }
  return of.length === 1 ? of[0]! : { is: 'any of', of }
}

/** All of these at once; what is anything adds nothing. */
const allOf = (shapes: Shape[]): Shape => {
  const of = distinct(shapes.filter(({ is }) => is !== 'unknown'))
  if (of.length === 0) return unknown
  return of.length === 1 ? of[0]! : { is: 'all of', of }
}

const distinct = (shapes: Shape[]): Shape[] => {
  const texts = shapes.map(each => JSON.stringify(each))
  return shapes.filter((_, at) => texts.indexOf(texts[at]!) === at)
}
