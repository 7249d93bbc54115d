/** Schemas and values by chance, the same ones for the same seed. */
export type Random = () => number

/** Mulberry32. */
export const randomOf = (seed: number): Random => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

type Schema = Record<string, unknown> | boolean

const names = ['a', 'b', 'c', 'a/b', '~', '', 'toString', 'é']
const texts = ['', 'a', 'ab', 'ba', 'é😀', '2020-02-29', '2021-02-29', 'a@b.c', '127.0.0.1', 'P1D', '12:00:00Z', 'x y']
const numbers = [0, 1, 2, 3, -1, 1.5, 0.1, 0.3, 1e3, 1e21, 100]
const patterns = ['^a', 'b$', '^[a-c]+$', '\\d', '\\p{L}', '^.{1}$', '(a|b)+', '\\bx', '^$', '[^a]']
const wrongPatterns = ['(', '\\-', '^https\\:', '\\Aa', '(?P<x>a)', 'a{2,1}', '[b-a]', '\\_', 'a**']
const formats = [
  'date',
  'time',
  'date-time',
  'duration',
  'email',
  'ipv4',
  'uuid',
  'uri',
  'regex',
  'int32',
  'x-own',
  'password',
]
const types = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
const references = [
  '#',
  '#/$defs/a',
  '#/$defs/b',
  '#/$defs/c',
  '#/properties/a',
  '#a',
  '#/definitions/a',
  '#/$defs/none',
  'other.json',
  '#/x-parts/a',
]
const drafts = [
  'draft-03/schema#',
  'draft-04/schema#',
  'draft-06/schema#',
  'draft-07/schema',
  'draft/2019-09/schema',
  'draft/2020-12/schema',
]

/** What only some know: extensions, other drafts, other tools. */
const strange = [
  '$async $data nullable id discriminator example examples x-order markdownDescription errorMessage instanceof typeof transform regexp range',
  'formatMinimum formatMaximum $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $anchor $id $schema $comment dependencies',
  'divisibleBy extends disallow additionalItems contentSchema contentEncoding contentMediaType elements optionalProperties values readOnly',
  'deprecated title description default xml externalDocs uniqueItemProperties dynamicDefaults patternRequired allRequired constructor made-up',
]
  .join(' ')
  .split(' ')

export class Generator {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  schema(): Record<string, unknown> {
    const schema = this.#object(3)
    if (this.#happens(0.6))
      schema.$defs = {
        a: this.#schema(2),
        b: this.#schema(1),
        c: { ...this.#object(1), ...(this.#happens(0.2) && { $anchor: 'a' }) },
      }
    if (this.#happens(0.15))
      schema.$schema = `http${this.#happens(0.5) ? 's' : ''}://json-schema.org/${this.#one(drafts)}`
    if (this.#happens(0.05)) schema['x-parts'] = { a: {} }
    return schema
  }

  value(depth = 3): unknown {
    const kind = this.#below(depth > 0 ? 9 : 5)
    if (kind < 1) return this.#one([null, true, false])
    if (kind < 3) return this.#one(numbers)
    if (kind < 5) return this.#one(texts)
    if (kind < 7) return Array.from({ length: this.#below(4) }, () => this.value(depth - 1))
    return Object.fromEntries(Array.from({ length: this.#below(4) }, () => [this.#one(names), this.value(depth - 1)]))
  }

  #schema(depth: number): Schema {
    return this.#happens(0.1) ? this.#happens(0.7) : this.#object(depth)
  }

  #object(depth: number): Record<string, unknown> {
    const schema: Record<string, unknown> = {}
    for (let count = 1 + this.#below(4); count > 0; count--) {
      const [keyword, value] = this.#keyword(depth)
      schema[keyword] = value
    }
    if (this.#happens(0.06))
      schema[this.#one(strange)] = this.#happens(0.5)
        ? this.value(1)
        : this.#one([true, 'a', {}, ['a'], '#a', 'http://a/b'])
    return schema
  }

  #keyword(depth: number): [string, unknown] {
    const made = Object.entries(this.#plain())
    if (depth > 0) made.push(...Object.entries(this.#nested(depth - 1)))
    const [keyword, make] = this.#one(made)
    return [keyword, this.#happens(0.01) ? this.#one([this.value(1), { $data: '1/a' }]) : make()]
  }

  #plain(): Record<string, () => unknown> {
    const number = () => this.#one(numbers)
    const count = () => this.#one([0, 1, 2, 3, 1.0])
    const fields = () => this.#some(names)
    return {
      type: () => (this.#happens(0.7) ? this.#one(types) : this.#atLeastOne(types)),
      enum: () => Array.from({ length: 1 + this.#below(3) }, () => this.value(1)),
      const: () => this.value(1),
      required: fields,
      dependentRequired: () => ({ [this.#one(names)]: fields() }),
      minimum: number,
      maximum: number,
      exclusiveMinimum: number,
      exclusiveMaximum: number,
      multipleOf: () => this.#one([1, 2, 0.1, 0.01, 1.5, 1e-3]),
      minLength: count,
      maxLength: count,
      minItems: count,
      maxItems: count,
      minProperties: count,
      maxProperties: count,
      uniqueItems: () => this.#happens(0.8),
      pattern: () => this.#one(this.#happens(0.97) ? patterns : wrongPatterns),
      format: () => this.#one(formats),
      $ref: () => this.#one(references.slice(0, this.#happens(0.9) ? 5 : undefined)),
    }
  }

  #nested(depth: number): Record<string, () => unknown> {
    const one = () => this.#schema(depth)
    const list = () => Array.from({ length: 1 + this.#below(3) }, one)
    const named = (keys: readonly string[]) => () => Object.fromEntries(this.#some(keys).map(name => [name, one()]))
    return {
      properties: named(names),
      patternProperties: named(patterns),
      dependentSchemas: named(names),
      definitions: named(names),
      allOf: list,
      anyOf: list,
      oneOf: list,
      prefixItems: list,
      additionalProperties: one,
      unevaluatedProperties: one,
      unevaluatedItems: one,
      propertyNames: one,
      items: one,
      contains: one,
      minContains: () => this.#below(3),
      maxContains: () => this.#below(3),
      not: one,
      if: one,
      then: one,
      else: one,
    }
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #happens(chance: number): boolean {
    return this.#random() < chance
  }

  #one<Each>(among: readonly Each[]): Each {
    return among[this.#below(among.length)]!
  }

  #some<Each>(among: readonly Each[]): Each[] {
    return among.filter(() => this.#happens(0.3))
  }

  #atLeastOne<Each>(among: readonly Each[]): Each[] {
    const some = this.#some(among)
    return some.length > 0 ? some : [this.#one(among)]
  }
}
