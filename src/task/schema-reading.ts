import { escapePointer } from '../wire/json/json-value.ts'
import { formats } from './formats.ts'
import { encoded, referencesOf } from './local-references.ts'
import { checked, hidesBeside, wrongKeyword } from './schema-keywords.ts'
import { wrongPattern } from './schema-patterns.ts'
import { type JsonSchema, ofMany, ofNames, ofOne, type Place, placeOf, whole } from './schema-walk.ts'

/** A schema is rejected: what is wrong with it, behind a pointer to that. */
class SchemaProblem extends Error {
  constructor(pointer: string, words: string) {
    super(`${pointer === '' ? 'it' : pointer} ${words}`)
  }
}

/** A schema as validators are given it: keywords that all languages check and nothing else, and references as pointers into it. */
export interface ReadSchema {
  readonly schema: JsonSchema
  /** Of each schema in it its pointer, and of those with a reference the schema that it leads to. */
  readonly pointers: ReadonlyMap<unknown, string>
  readonly targets: ReadonlyMap<unknown, unknown>
}

/** Reads a schema, which must not be nested so deep that it cannot be gone through. Throws SchemaProblem. */
export const readSchema = (schema: JsonSchema): ReadSchema => new Reading(schema).read()

/** Schemas under these keywords look at the same value. */
const inPlace = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'])
/** They may stand beside a reference that hides what is beside it. */
const beside = new Set(['$ref', '$defs', 'definitions'])

type Part = Record<string, unknown>

class Reading {
  readonly #schema: JsonSchema
  readonly #pointerOf: (reference: string, from: Place) => string | undefined
  readonly #places = new Map<string, unknown>()
  readonly #pointers = new Map<unknown, string>()
  readonly #targets = new Map<unknown, unknown>()
  readonly #references: { from: Place; part: Part }[] = []
  /** Of a schema's pointer, the pointers of those that look at the same value. */
  readonly #same = new Map<string, string[]>()

  constructor(schema: JsonSchema) {
    this.#schema = schema
    this.#pointerOf = referencesOf(schema).pointerOf
  }

  read(): ReadSchema {
    const schema = this.#schemaAt(this.#schema, whole, false) as Part
    for (const { from, part } of this.#references) this.#follow(from, part)
    for (const { from } of this.#references)
      if (this.#meetsItself(from.pointer)) throw new SchemaProblem(`${from.pointer}/$ref`, 'refers to itself endlessly')
    return { schema, pointers: this.#pointers, targets: this.#targets }
  }

  /** @param hides whether its draft passes over what is beside a reference */
  #schemaAt(schema: unknown, outer: Place, hides: boolean): unknown {
    this.#places.set(outer.pointer, schema)
    if (typeof schema === 'boolean') return schema
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
      throw new SchemaProblem(outer.pointer, 'must be a schema: an object, true or false')
    const { $schema } = schema as JsonSchema
    const isHiding = typeof $schema === 'string' ? hidesBeside.test($schema) : hides
    const place = placeOf(schema as JsonSchema, outer)
    const entries = Object.entries(schema)
    for (const [keyword, value] of entries) {
      const wrong = wrongKeyword(keyword, value)
      if (wrong !== undefined) throw new SchemaProblem(pointerTo(place, keyword), wrong)
    }
    const kept = entries.filter(([keyword, value]) => checked.has(keyword) && (keyword !== 'format' || isFormat(value)))
    const part: Part = Object.fromEntries(
      kept.map(([keyword, value]) => [keyword, this.#under(keyword, value, place, isHiding)]),
    )
    this.#places.set(outer.pointer, part)
    this.#pointers.set(part, outer.pointer)
    if (typeof part.$ref !== 'string') return part
    const hidden = isHiding && Object.keys(part).find(keyword => !beside.has(keyword))
    if (hidden)
      throw new SchemaProblem(
        pointerTo(place, '$ref'),
        `hides '${hidden}' beside it in the draft that '$schema' names; put the '$ref' under 'allOf', or leave '$schema' out`,
      )
    this.#references.push({ from: place, part })
    return part
  }

  #under(keyword: string, value: unknown, place: Place, hides: boolean): unknown {
    const inside = (inner: unknown, ...steps: (string | number)[]) => {
      const pointer = pointerTo(place, keyword, ...steps)
      if (inPlace.has(keyword)) this.#link(place.pointer, pointer)
      return this.#schemaAt(inner, { ...place, pointer }, hides)
    }
    if (ofOne.has(keyword)) return inside(value)
    if (ofMany.has(keyword)) return (value as unknown[]).map((inner, index) => inside(inner, index))
    if (keyword === 'pattern') this.#checkPattern(value as string, pointerTo(place, keyword))
    if (!ofNames.has(keyword)) return value
    const named = Object.entries(value as object).map(([name, inner]) => {
      if (keyword === 'patternProperties') this.#checkPattern(name, pointerTo(place, keyword, name))
      return [name, inside(inner, name)]
    })
    return Object.fromEntries(named)
  }

  #checkPattern(pattern: string, pointer: string): void {
    const wrong = wrongPattern(pattern)
    if (wrong !== undefined) throw new SchemaProblem(pointer, wrong)
  }

  #follow(from: Place, part: Part): void {
    const pointer = this.#pointerOf(part.$ref as string, from)
    if (pointer === undefined || !this.#places.has(pointer))
      throw new SchemaProblem(
        pointerTo(from, '$ref'),
        "refers to no schema within this one; put the schema under '$defs'",
      )
    this.#link(from.pointer, pointer)
    part.$ref = `#${encoded(pointer)}`
    this.#targets.set(part, this.#places.get(pointer))
  }

  #link(from: string, to: string): void {
    const links = this.#same.get(from)
    if (links) links.push(to)
    else this.#same.set(from, [to])
  }

  #meetsItself(start: string): boolean {
    const seen = new Set<string>()
    const open = [...(this.#same.get(start) ?? [])]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === start) return true
      if (seen.has(next)) continue
      seen.add(next)
      open.push(...(this.#same.get(next) ?? []))
    }
    return false
  }
}

const isFormat = (name: unknown): boolean => typeof name === 'string' && Object.hasOwn(formats, name)

const pointerTo = ({ pointer }: Place, ...steps: (string | number)[]): string =>
  [pointer, ...steps.map(step => escapePointer(String(step)))].join('/')
