import { dereference, type Schema, validate } from '@cfworker/json-schema'
import { describe, expect, it } from 'vitest'
import { gapsOf, problemsOf } from '../../registry/web/form/check/problems.ts'
import { makeSchemaAt } from '../../registry/web/form/check/schema-at.ts'

const problems = (schema: unknown, value: unknown, chosen: [string, number][] = []): string[] => {
  const copy = structuredClone(schema) as Schema
  const lookup = dereference(copy)
  const { errors } = validate(value, copy, '2020-12', lookup, false)
  return problemsOf(errors, value, makeSchemaAt(copy, lookup), new Map(chosen)).map(
    one => `${one.pointer}: ${one.message}`,
  )
}
const object = (properties: object, rest: object = {}) => ({ type: 'object', properties, ...rest })

describe('problems', () => {
  it.each([
    [
      'a missing field is named itself',
      object({}, { required: ['a/b', 'c'] }),
      {},
      ['/a~1b: is required', '/c: is required'],
    ],
    ['so is a surplus one', object({}, { additionalProperties: false }), { x: 1 }, ['/x: is not a known field']],
    [
      'a field asked for by another',
      object({}, { dependentRequired: { a: ['b'] } }),
      { a: 1 },
      ['/b: is required beside a'],
    ],
    [
      'only what failed inside is told',
      { $ref: '#/$defs/x', $defs: { x: object({ a: { allOf: [{ minimum: 3 }] } }) } },
      { a: 1 },
      ['/a: must be at least 3'],
    ],
    ['one item too many', { prefixItems: [true], items: false }, [1, 2], ['/1: is one item too many']],
    [
      'keys with signs of addresses',
      object({ 'a%b #c': { type: 'string' } }),
      { 'a%b #c': 1 },
      ['/a%b #c: must be a text'],
    ],
    [
      'what applies after a condition',
      object({}, { if: { required: ['a'] }, then: { required: ['b'] } }),
      { a: 1 },
      ['/b: is required'],
    ],
  ])('%s', (_, schema, value, expected) => {
    expect(problems(schema, value)).toEqual(expected)
  })

  const shapes = {
    anyOf: [
      object({ kind: { const: 'circle' }, r: { type: 'number' } }, { required: ['kind', 'r'] }),
      object({ kind: { const: 'box' }, w: { type: 'number' } }, { required: ['kind', 'w'] }),
    ],
  }

  it('of a choice are those of the branch whose constant agrees', () => {
    expect(problems(shapes, { kind: 'box' })).toEqual(['/w: is required'])
  })

  it('of a choice are those of the branch that somebody chose', () => {
    expect(problems(shapes, {}, [['', 0]])).toEqual(['/kind: is required', '/r: is required'])
    expect(problems(shapes, {}, [['', 1]])).toEqual(['/kind: is required', '/w: is required'])
  })

  it('are not more than a hundred', () => {
    expect(
      problems(
        { items: { type: 'string' } },
        Array.from({ length: 500 }, () => 1),
      ),
    ).toHaveLength(100)
  })

  it('name what is still to come', () => {
    expect(gapsOf({ a: [1, undefined], b: { c: undefined } }).map(one => one.pointer)).toEqual(['/a/1', '/b/c'])
  })
})
