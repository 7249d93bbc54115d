import { describe, expect, it } from 'vitest'
import { compareSchemas } from '../../src/schema-diff/index.ts'
import { type Worst, worst } from '../support/schema-verdict.ts'

const object = (properties: object, more: object = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
})
const a = (schema: unknown, more: object = {}) => object({ a: schema }, more)
const text = { type: 'string' }
const whole = { type: 'integer' }

type Pair = [name: string, before: unknown, after: unknown, args: Worst, result: Worst]

const pairs: Pair[] = [
  ['nothing', a(text), a(text), 'none', 'none'],
  ['the order of keywords', { type: 'string', minLength: 1 }, { minLength: 1, type: 'string' }, 'none', 'none'],
  ['a schema where there was none', undefined, text, 'breaks', 'fits'],
  ['no schema any more', text, undefined, 'fits', 'breaks'],
  ['true and an empty schema', true, {}, 'none', 'none'],
  ['nothing let through any more', {}, false, 'breaks', 'fits'],
  ['a new optional field, closed', a(text), object({ a: text, b: text }), 'fits', 'unclear'],
  ['a new required field, closed', a(text), object({ a: text, b: text }, { required: ['b'] }), 'breaks', 'unclear'],
  ['a new optional field, open', { properties: {} }, { properties: { b: text } }, 'unclear', 'fits'],
  ['a new field that takes anything, open', { properties: {} }, { properties: { b: true } }, 'fits', 'fits'],
  ['a field removed, closed', object({ a: text, b: text }), a(text), 'breaks', 'unclear'],
  ['a field removed, open', { properties: { b: text } }, { properties: {} }, 'unclear', 'unclear'],
  ['a field required', a(text), a(text, { required: ['a'] }), 'breaks', 'fits'],
  ['a type widened', a(text), a({ type: ['string', 'null'] }), 'fits', 'breaks'],
  ['integer to number', a(whole), a({ type: 'number' }), 'fits', 'breaks'],
  ['another type', a(text), a(whole), 'breaks', 'breaks'],
  ['nullable', a(text), a({ type: 'string', nullable: true }), 'fits', 'breaks'],
  ['an enum value removed', a({ enum: ['x', 'y'] }), a({ enum: ['x'] }), 'breaks', 'fits'],
  ['an enum in another order', a({ enum: ['x', 'y'] }), a({ enum: ['y', 'x'] }), 'none', 'none'],
  ['const to an enum with it', a({ const: 'x' }), a({ enum: ['x', 'y'] }), 'fits', 'breaks'],
  ['an enum given up for its type', a({ enum: ['x'] }), a(text), 'fits', 'breaks'],
  [
    'an enum whose type lets none of it through',
    a({ enum: ['x'] }),
    a({ enum: ['x'], type: 'integer' }),
    'breaks',
    'fits',
  ],
  ['a minimum raised', a({ ...whole, minimum: 1 }), a({ ...whole, minimum: 2 }), 'breaks', 'fits'],
  ['a maximum added', a(whole), a({ ...whole, maximum: 9 }), 'breaks', 'fits'],
  ['a bound written in another way', a({ ...whole, exclusiveMinimum: 0 }), a({ ...whole, minimum: 1 }), 'none', 'none'],
  [
    'a bound that is left out now',
    a({ type: 'number', minimum: 0 }),
    a({ type: 'number', exclusiveMinimum: 0 }),
    'breaks',
    'fits',
  ],
  ['a limit of another type', a({ ...text }), a({ ...text, minimum: 7 }), 'none', 'none'],
  ['multiples of 4, now of 2', a({ ...whole, multipleOf: 4 }), a({ ...whole, multipleOf: 2 }), 'fits', 'breaks'],
  ['multiples of 4, now of 6', a({ ...whole, multipleOf: 4 }), a({ ...whole, multipleOf: 6 }), 'unclear', 'unclear'],
  ['a shorter text', a({ ...text, maxLength: 9 }), a({ ...text, maxLength: 8 }), 'breaks', 'fits'],
  ['minLength 0', a(text), a({ ...text, minLength: 0 }), 'none', 'none'],
  ['a pattern added', a(text), a({ ...text, pattern: '^x' }), 'breaks', 'fits'],
  ['another pattern', a({ ...text, pattern: '^x' }), a({ ...text, pattern: '^y' }), 'unclear', 'unclear'],
  ['a format removed', a({ ...text, format: 'date' }), a(text), 'fits', 'breaks'],
  ['a format that refuses nothing', a(text), a({ ...text, format: 'password' }), 'fits', 'fits'],
  [
    'additionalProperties closed',
    { type: 'object' },
    { type: 'object', additionalProperties: false },
    'breaks',
    'fits',
  ],
  ['additionalProperties opened', a(text), a(text, { additionalProperties: true }), 'fits', 'breaks'],
  [
    'values of a map narrowed',
    { additionalProperties: { type: 'number' } },
    { additionalProperties: whole },
    'breaks',
    'fits',
  ],
  ['fewer fields at most', { maxProperties: 3 }, { maxProperties: 2 }, 'breaks', 'fits'],
  ['names of fields limited', {}, { propertyNames: { maxLength: 3 } }, 'breaks', 'fits'],
  ['fields that need others', {}, { dependentRequired: { title: ['a'] } }, 'unclear', 'unclear'],
  [
    'another pattern of names',
    { patternProperties: { '^x': text } },
    { patternProperties: { '^x': whole } },
    'unclear',
    'unclear',
  ],
  ['items narrowed', { items: { type: 'number' } }, { items: whole }, 'breaks', 'fits'],
  [
    'one more place of a tuple',
    { prefixItems: [text], items: false },
    { prefixItems: [text, text], items: false },
    'fits',
    'breaks',
  ],
  ['a place of a tuple narrowed', { prefixItems: [{}] }, { prefixItems: [text] }, 'breaks', 'fits'],
  ['items that must differ', { type: 'array' }, { type: 'array', uniqueItems: true }, 'breaks', 'fits'],
  ['contains', { contains: text }, { contains: whole }, 'unclear', 'unclear'],
  ['deep within', a(a(a(whole))), a(a(a({ ...whole, minimum: 1 }))), 'breaks', 'fits'],
  ['a definition behind a reference', ref(text), ref(whole), 'breaks', 'breaks'],
  ['the same behind another name', ref(text), { $defs: { y: text }, $ref: '#/$defs/y' }, 'none', 'none'],
  ['a reference written out', ref(a(text)), a(text), 'none', 'none'],
  [
    'a reference that leads out',
    { $ref: 'https://example.com/x' },
    { $ref: 'https://example.com/y' },
    'unclear',
    'unclear',
  ],
  ['a reference to itself', { $ref: '#' }, { $ref: '#/' }, 'unclear', 'unclear'],
  ['a recursive schema', tree(whole), tree({ type: 'number' }), 'fits', 'breaks'],
  ['anyOf with one more branch', { anyOf: [text] }, { anyOf: [text, whole] }, 'fits', 'breaks'],
  ['anyOf in another order', { anyOf: [text, whole] }, { anyOf: [whole, text] }, 'none', 'none'],
  ['anyOf with the same reference to something else', anyOf(text), anyOf(whole), 'unclear', 'unclear'],
  [
    'allOf with one more branch',
    { allOf: [{ minimum: 1 }] },
    { allOf: [{ minimum: 1 }, { maximum: 5 }] },
    'breaks',
    'fits',
  ],
  ['oneOf with one more branch', { oneOf: [text] }, { oneOf: [text, whole] }, 'unclear', 'unclear'],
  ['not added', {}, { not: text }, 'breaks', 'fits'],
  ['conditions', conditional(3), conditional(4), 'unclear', 'unclear'],
  ['unevaluatedProperties beside a change', unevaluated(text), unevaluated({}), 'unclear', 'breaks'],
  ['a description', a({ ...text, description: 'x' }), a({ ...text, description: 'y' }), 'fits', 'fits'],
  ['a default', a({ ...whole, default: 1 }), a({ ...whole, default: 2 }), 'unclear', 'unclear'],
  ['a field named like a keyword', object({ title: text }), object({ title: whole }), 'breaks', 'breaks'],
  ['a field named constructor', object({}), object({ constructor: text }), 'fits', 'unclear'],
]

function conditional(maxLength: number) {
  return { if: text, then: { maxLength } }
}

function ref(schema: unknown) {
  return { $defs: { x: schema }, $ref: '#/$defs/x' }
}

function anyOf(schema: unknown) {
  return { $defs: { x: schema }, anyOf: [{ $ref: '#/$defs/x' }, { type: 'null' }] }
}

function tree(value: unknown) {
  return object({ value, children: { type: 'array', items: { $ref: '#' } } })
}

function unevaluated(schema: unknown) {
  return { type: 'object', properties: { a: schema }, unevaluatedProperties: false }
}

describe('two schemas of a task', () => {
  it.each(pairs)('%s', (_, before, after, args, result) => {
    expect(worst(before, after, 'args'), 'as arguments').toBe(args)
    expect(worst(before, after, 'result'), 'as a result').toBe(result)
  })

  it('are told apart place by place', () => {
    const before = object({ 'x/y': object({ n: whole }), list: { type: 'array', items: text } })
    const after = object({ 'x/y': object({ n: text }), list: { type: 'array', items: { ...text, minLength: 2 } } })
    expect(compareSchemas(before, after, 'args')).toEqual([
      { pointer: '/x~1y/n', kind: 'breaks', text: 'Type was integer, is string.' },
      { pointer: '/x~1y/n', kind: 'fits', text: 'Type was integer, is string.' },
      { pointer: '/list/*', kind: 'breaks', text: 'The least length is now 2.' },
    ])
  })

  const deep = (levels: number): object => (levels === 0 ? text : { items: deep(levels - 1) })
  const wide = (count: number, type: string) =>
    object(Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, { type }])))
  const doubling = (levels: number, end: object) => ({
    $defs: Object.fromEntries([
      ['d0', end],
      ...Array.from({ length: levels }, (_, n) => [
        `d${n + 1}`,
        { allOf: [{ $ref: `#/$defs/d${n}` }, { $ref: `#/$defs/d${n}`, title: String(n) }] },
      ]),
    ]),
    $ref: `#/$defs/d${levels}`,
  })
  const hostile: [string, unknown, unknown][] = [
    ['nested without end', deep(5_000), deep(5_001)],
    ['with more fields than anybody reads', wide(9_000, 'string'), wide(9_000, 'integer')],
    ['that double at each reference', doubling(40, text), doubling(40, whole)],
    [
      'with a circle of references',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
      text,
    ],
    [
      'of the wrong shapes',
      { type: 7, required: 'x', properties: [], enum: {}, items: 3, anyOf: 'no' },
      { type: {}, $ref: 9 },
    ],
  ]
  it.each(hostile)('%s end, and are not said to fit', (_, before, after) => {
    const changes = compareSchemas(before as never, after as never, 'args')
    expect(changes.length).toBeLessThanOrEqual(201)
    expect(changes.some(({ kind }) => kind !== 'fits')).toBe(true)
  })
})
