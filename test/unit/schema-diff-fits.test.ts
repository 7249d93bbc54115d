import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../support/runs.ts'
import { worst } from '../support/schema-verdict.ts'

const text = { type: 'string' }
const whole = { type: 'integer' }

const leaf = fc.oneof(
  fc.constantFrom<object | boolean>(
    true,
    {},
    text,
    whole,
    { type: 'number' },
    { type: 'null' },
    { type: ['string', 'null'] },
  ),
  fc.record({ enum: fc.uniqueArray(fc.constantFrom('', 'a', 'bb', 1, 2.5, null), { minLength: 1 }) }),
  fc.record({ const: fc.constantFrom('', 'a', 1, null) }),
  fc.record(
    {
      type: fc.constantFrom('integer', 'number'),
      minimum: fc.nat(3),
      exclusiveMaximum: fc.integer({ min: 2, max: 5 }),
    },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constant('integer'), multipleOf: fc.integer({ min: 1, max: 4 }) }),
  fc.record(
    {
      type: fc.constant('string'),
      minLength: fc.nat(2),
      maxLength: fc.integer({ min: 1, max: 3 }),
      pattern: fc.constantFrom('a', '^b'),
    },
    { requiredKeys: [] },
  ),
)
const { schema: anySchema } = fc.letrec<{ schema: object | boolean; object: object; array: object; joined: object }>(
  tie => ({
    object: fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'title'), tie('schema'), {
          maxKeys: 3,
          noNullPrototype: true,
        }),
        required: fc.uniqueArray(fc.constantFrom('a', 'b')),
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        patternProperties: fc.dictionary(fc.constantFrom('^a', 't'), tie('schema'), {
          maxKeys: 1,
          noNullPrototype: true,
        }),
        dependentRequired: fc.constantFrom({ a: ['b'] }, { title: ['a'] }),
        maxProperties: fc.nat(3),
        unevaluatedProperties: fc.constant(false),
      },
      { requiredKeys: [] },
    ),
    array: fc.record(
      {
        type: fc.constant('array'),
        items: tie('schema'),
        prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
        minItems: fc.nat(2),
        uniqueItems: fc.boolean(),
        contains: tie('schema'),
      },
      { requiredKeys: [] },
    ),
    joined: fc.oneof(
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ not: tie('schema') }),
      fc.constantFrom({ $ref: '#/$defs/x' }, { $ref: '#/$defs/y' }, { $ref: '#/$defs/x', minLength: 1 }),
    ),
    schema: fc.oneof({ maxDepth: 3, depthSize: 'small' }, leaf, tie('object'), tie('array'), tie('joined')),
  }),
)

/** A schema with definitions for its references. */
const anyDocument = fc
  .record({
    schema: fc.oneof(leaf, anySchema),
    x: leaf,
    y: fc.oneof(leaf, fc.constant({ items: { $ref: '#/$defs/x' } })),
  })
  .map(({ schema, x, y }) => ({ ...(typeof schema === 'object' ? schema : { allOf: [schema] }), $defs: { x, y } }))

interface Place {
  holder: Record<string, unknown>
  key: string
}

/** All members of a schema that may be changed without a reference leading nowhere. */
const placesIn = (value: unknown): Place[] => {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap(key => [
    ...(key === '$defs' || key === '$ref' || (key === 'x' && 'y' in holder) || key === 'y' ? [] : [{ holder, key }]),
    ...placesIn(holder[key]),
  ])
}

/** A schema with one small thing about it changed. */
const tweaked = (schema: object, { at, by }: { at: number; by: number }): object => {
  const copy = structuredClone(schema)
  const places = placesIn(copy)
  if (places.length === 0) return copy
  const { holder, key } = places[at % places.length]!
  const value = holder[key]
  if (typeof value === 'number' && by < 6) holder[key] = value + (by % 2 === 0 ? 1 : -1)
  else if (typeof value === 'boolean') holder[key] = !value
  else if (Array.isArray(value) && value.length > 1 && by < 3) value.pop()
  else if (Array.isArray(value) && by < 6)
    value.push(...value.slice(0, 1), ...(typeof value[0] === 'string' ? ['title'] : [{}]))
  else if (Array.isArray(holder)) holder[Number(key)] = by < 5 ? {} : value
  else if (key === 'type' && value === 'integer') holder[key] = 'number'
  else if (key === 'type' && value === 'number' && by < 5) holder[key] = 'integer'
  else delete holder[key]
  return copy
}

/** Two documents that differ in little, because two random ones hardly ever fit. */
const anyPair = fc
  .tuple(
    anyDocument,
    fc.array(fc.record({ at: fc.nat(200), by: fc.nat(9) }), { minLength: 1, maxLength: 2 }),
    fc.boolean(),
  )
  .map(([before, tweaks, isTurned]): [object, object] => {
    const after = tweaks.reduce(tweaked, before as object)
    return isTurned ? [after, before] : [before, after]
  })

const scalars = ['', 'a', 'b', 'bb', 'ccc', 0, 1, 2, 2.5, 3, 4, -1, null, true]
/** Every scalar that the schemas tell apart, alone, in lists and in fields. */
const values: unknown[] = [
  ...scalars,
  [],
  {},
  ...scalars.flatMap(one => [
    [one],
    [one, one],
    [1, one],
    { a: one },
    { b: one, title: 1 },
    { a: 'a', b: one, other: one },
  ]),
  ...scalars.flatMap(one => [[[one]], [{ a: one }], { a: [one] }, { a: { a: one } }]),
]

/** With allErrors, as the library has it: without, this validator lets an empty list through `contains` beside `prefixItems`. */
const judge = new Ajv2020({
  allErrors: true,
  strict: false,
  logger: false,
  validateSchema: false,
  addUsedSchema: false,
})
const compiled = (schema: object) => {
  try {
    return judge.compile(schema)
  } finally {
    judge.removeSchema(schema)
  }
}

describe('what is said to fit', () => {
  it.each(['args', 'result'] as const)(
    'fits, as %s, by the judgement of a validator',
    direction => {
      let fitting = 0
      fc.assert(
        fc.property(anyPair, ([before, after]) => {
          fc.pre(judge.validateSchema(before) === true && judge.validateSchema(after) === true)
          const verdict = worst(before, after, direction)
          if (verdict !== 'fits' && verdict !== 'none') return
          fitting++
          const [narrow, wide] = [compiled(before), compiled(after)]
          for (const value of values) {
            const [old, now] = [narrow(value), wide(value)]
            if (direction === 'args' || verdict === 'none') expect(!old || now, JSON.stringify(value)).toBe(true)
            if (direction === 'result' || verdict === 'none') expect(!now || old, JSON.stringify(value)).toBe(true)
          }
        }),
        { numRuns: runs(60, 1000), endOnFailure: true },
      )
      expect(fitting).toBeGreaterThan(0)
    },
    60_000,
  )
})
