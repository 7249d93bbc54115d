import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv-provider.js'
import { describe, expect, it } from 'vitest'
import { inputOf, outputOf } from '../../registry/server/mcp/tool-schema.ts'
import { compileOwn, type JsonSchema } from '../../src/task/schema.ts'
import { refusedByProviders } from '../support/provider-rules.ts'

const text = { type: 'string' }
const fields = { type: 'object', properties: { a: text } }
const named = (name: string) => ({ type: 'object', properties: { [name]: text }, required: [name] })

const plain: JsonSchema[] = [
  fields,
  { ...fields, $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'https://x.example/a' },
  { ...fields, $defs: { b: text }, properties: { a: { $ref: '#/$defs/b' } }, additionalProperties: false },
  { type: ['object', 'null'], properties: { a: { properties: { größe: text }, anyOf: [text] } } },
  { type: 'object', minProperties: 1, propertyNames: text },
  { properties: { list: { type: ['array', 'null'] }, pair: { prefixItems: [text, text], type: 'array' } } },
  {},
]
const wrapped: JsonSchema[] = [
  ...['oneOf', 'anyOf', 'allOf'].map(keyword => ({ ...fields, [keyword]: [{ required: ['a'] }] })),
  { anyOf: [fields, { type: 'object' }] },
  { ...fields, not: { required: ['b'] } },
  { ...fields, if: { required: ['b'] }, then: { required: ['a'] } },
  { type: 'object', enum: [{ a: 'x' }] },
  { type: 'object', const: { a: 'x' } },
  { type: 'object', $ref: '#/$defs/fields', $defs: { fields } },
  { $ref: '#/$defs/fields', $defs: { fields } },
  { ...fields, dependentSchemas: { a: { required: ['b'] } } },
  { ...fields, dependentRequired: { a: ['b'] } },
  ...['StartTime<', '$top', '@microsoft.x', 'größe', 'first name', 'x'.repeat(70), '', '$schema'].map(named),
  { type: 'number' },
  { type: 'array' },
]
/** As a foreign worker may have published it. */
const invalid: JsonSchema[] = [
  { type: 'object', properties: { a: { type: 'string', required: true } } },
  { type: 'object', properties: { a: { type: 'array', items: [text] } } },
  { type: 'object', properties: { a: { type: 'any' } } },
  { type: 'object', properties: { a: 5 }, required: 'a' },
]

describe('the schema of what a tool takes', () => {
  it.each([...plain, ...wrapped, ...invalid].map(schema => [JSON.stringify(schema), schema] as const))(
    'is taken by providers of models: %s',
    (_, schema) => {
      expect(refusedByProviders({ name: 'tool', inputSchema: inputOf(schema).schema })).toEqual([])
    },
  )

  it('is that of the task, or has it as its one field where providers do not take it at the top', () => {
    expect(plain.map(schema => inputOf(schema).isWrapped)).toEqual(plain.map(() => false))
    expect(wrapped.map(schema => inputOf(schema).isWrapped)).toEqual(wrapped.map(() => true))
    expect(inputOf(fields).schema).toEqual(fields)
    expect(inputOf(named('größe')).schema).toEqual({
      type: 'object',
      properties: { args: named('größe') },
      required: ['args'],
    })
  })
})

/** Schemas of results, with values that they take. */
const results: [JsonSchema, unknown][] = [
  [{ properties: { pt: { prefixItems: [{ type: 'number' }, text], items: false } } }, { pt: [1, 'a'] }],
  [{ properties: { pt: { prefixItems: [{ type: 'number' }], items: text } } }, { pt: [1, 'a'] }],
  [{ patternProperties: { '^\\p{L}$': text }, additionalProperties: false }, { ß: 'a' }],
  [{ properties: { list: { contains: text, minContains: 0 } } }, { list: [] }],
  [{ properties: { n: { multipleOf: 0.01 } } }, { n: 0.07 }],
  [{ properties: { to: { format: 'email' } } }, { to: '"a b"@x.example' }],
  [{ properties: { n: { formatMinimum: '2020-01-01', format: 'date' } } }, { n: '2019-01-01' }],
  [{ oneOf: [{ prefixItems: [text] }, { required: ['a'], unevaluatedProperties: false }] }, { b: 1 }],
  [{ not: { dependentRequired: { a: ['b'] } } }, { a: 1 }],
  [{ if: { minContains: 2, required: ['a'] }, then: { required: ['b'] } }, {}],
  [{ properties: { self: { $ref: '#' } }, $defs: { x: text } }, { self: {} }],
]

describe('the schema of what a tool gives', () => {
  const compiles = () => true

  it.each(results.map(([schema, value]) => [JSON.stringify(schema), schema, value] as const))(
    'lets pass what the task may give, also for the SDK: %s',
    (_, schema, value) => {
      const whole = { type: 'object', ...schema }
      expect(compileOwn(whole, 'result')(value, 0)).toEqual([])
      const published = outputOf(whole, compiles)!
      expect(new AjvJsonSchemaValidator().getValidator(published)(value).errorMessage).toBeUndefined()
    },
  )

  it('is the same as that of the task where all read it alike', () => {
    const common = { ...fields, required: ['a'], oneOf: [{ required: ['a'] }], additionalProperties: false }
    expect(outputOf(common, compiles)).toEqual(common)
    expect(outputOf({ anyOf: [fields] }, compiles)).toBeUndefined()
  })

  it('has nothing by which a validator becomes asynchronous', () => {
    expect(outputOf({ type: 'object', properties: { a: { $async: true } } }, compiles)).toBeUndefined()
  })
})
