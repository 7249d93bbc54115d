import { join } from 'node:path'
import { expect, it } from 'vitest'
import { errorsOfSchema } from '../../src/task/schema-judge.ts'

const built = await import(join(import.meta.dirname, '../../dist/task/schema-judge.js'))

const schemas: [what: string, schema: object][] = [
  ['an empty one', {}],
  ['of an object', { type: 'object', properties: { x: { type: 'integer', minimum: 1 } }, required: ['x'] }],
  [
    'with all kinds of parts',
    { $defs: { a: { enum: [1, null] } }, anyOf: [{ $ref: '#/$defs/a' }, { items: false }], if: true },
  ],
  ['an unknown type', { type: 'objec' }],
  ['properties that are none', { properties: 5 }],
  ['wrong far inside', { properties: { a: { items: { properties: { b: { minLength: -1 } } } } } }],
  ['several wrong at once', { required: ['a', 'a'], minimum: 'one', allOf: [] }],
]

it.each(schemas)('the rules that were compiled into the package find the same in %s', (_, schema) => {
  const plain = (errors: unknown[]) => JSON.parse(JSON.stringify(errors))
  expect(plain(built.errorsOfSchema(schema))).toEqual(plain(errorsOfSchema(schema)))
})
