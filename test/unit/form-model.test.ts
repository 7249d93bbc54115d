import { describe, expect, it } from 'vitest'
import { type Matches, makeRefs } from '../../registry/schema/refs.ts'
import { makeCheck } from '../../registry/web/form/check/check.ts'
import { movedTo } from '../../registry/web/form/model/branches.ts'
import { bestBranch, fits } from '../../registry/web/form/model/fits.ts'
import { flatten } from '../../registry/web/form/model/flatten.ts'
import { hintOf } from '../../registry/web/form/model/hints.ts'
import { givenOf, initialOf } from '../../registry/web/form/model/initial.ts'
import { parsePointer, setIn, toPointer } from '../../registry/web/form/model/json.ts'
import { parseNumber } from '../../registry/web/form/model/number-text.ts'
import { objectViewOf } from '../../registry/web/form/model/object-view.ts'
import { viewOf } from '../../registry/web/form/model/view.ts'
import { readExact } from '../../registry/web/json/exact.ts'

const view = (schema: unknown) => viewOf(schema, makeRefs(schema))
const fieldsOf = (schema: unknown, value: unknown) => {
  const refs = makeRefs(schema)
  return objectViewOf(flatten(schema, refs), value, refs).fields.map(one => (one.required ? `${one.name}*` : one.name))
}

describe('references', () => {
  it('are found by pointer, anchor and id', () => {
    const schema = {
      $defs: {
        'a/b': { const: 1 },
        two: { $anchor: 'second', const: 2 },
        three: { $id: 'https://example.org/three', $defs: { inner: { const: 3 } }, $ref: '#/$defs/inner' },
      },
    }
    const refs = makeRefs(schema)
    expect(refs.resolve('#/$defs/a~1b', schema)).toEqual({ const: 1 })
    expect(refs.resolve('#second', schema)).toBe(schema.$defs.two)
    expect(refs.resolve('https://example.org/three#/$defs/inner', schema)).toEqual({ const: 3 })
    expect(refs.resolve('#/$defs/inner', schema.$defs.three), 'relative to the nearest id').toEqual({ const: 3 })
    expect(refs.resolve('#', schema)).toBe(schema)
  })

  it('to other hosts, to nothing, or to what every object has lead nowhere', () => {
    const refs = makeRefs({})
    for (const ref of ['https://evil.example/x', '#/$defs/none', '#/constructor', '#none', 'http://['])
      expect(refs.resolve(ref, {}), ref).toBeUndefined()
  })

  it('that lead to themselves end', () => {
    expect(view({ $ref: '#' }).kind).toBe('any')
    expect(view({ allOf: [{ $ref: '#' }, { $ref: '#' }] }).kind).toBe('any')
    expect(() => view({ anyOf: [{ $ref: '#' }, { type: 'null' }] })).not.toThrow()
  })
})

describe('parts that hold at once', () => {
  it('are merged to the stricter', () => {
    const { keywords } = flatten(
      {
        title: 'mine',
        allOf: [
          { title: 'theirs', type: ['number', 'string'], minimum: 1, required: ['a'] },
          { type: 'integer', minimum: 3, maximum: 9, required: ['b'] },
        ],
      },
      makeRefs({}),
    )
    expect(keywords).toEqual({ title: 'mine', type: ['integer'], minimum: 3, maximum: 9, required: ['a', 'b'] })
  })

  it('that contradict each other allow nothing', () => {
    expect(view({ type: 'string', allOf: [{ type: 'integer' }] }).kind).toBe('never')
    expect(view({ allOf: [false] }).kind).toBe('never')
  })

  it('with a choice each are two choices, one in the other', () => {
    const schema = {
      allOf: [
        { oneOf: [{ required: ['x'], properties: { x: {} } }, { type: 'array' }] },
        {
          oneOf: [
            { title: 'p', type: 'object' },
            { title: 'q', type: 'array' },
          ],
        },
      ],
    }
    const outer = view(schema)
    expect(outer.kind).toBe('choice')
    const inner = outer.kind === 'choice' ? viewOf(outer.branches[0]!.schema, makeRefs(schema)) : undefined
    expect(inner?.kind === 'choice' && inner.branches.map(one => one.label)).toEqual(['p', 'q'])
  })
})

describe('what is drawn', () => {
  it.each([
    [{ type: ['string', 'null'] }, 'text', true],
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, 'number', true],
    [{ enum: [1, null] }, 'options', false],
    [{ oneOf: [{ const: 'a' }, { const: 'b' }] }, 'options', false],
    [{ type: ['string', 'number'] }, 'choice', false],
    [{ properties: { a: true } }, 'object', false],
    [{ items: true }, 'array', false],
    [{ const: null }, 'fixed', false],
    [{ type: 'null' }, 'null', false],
    [true, 'any', false],
    [{}, 'any', false],
    [false, 'never', false],
    [{ type: 'teapot' }, 'never', false],
    [{ type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] }, 'object', false],
  ])('%j', (schema, kind, nullable) => {
    expect(view(schema)).toMatchObject({ kind, nullable })
  })

  it('two values that look the same are told apart', () => {
    const drawn = view({ enum: ['1', 1, 'x'] })
    expect(drawn.kind === 'options' && drawn.options.map(one => one.label)).toEqual(['"1"', '1', '"x"'])
  })
})

describe('fields of an object', () => {
  const address = {
    type: 'object',
    properties: { country: { type: 'string' } },
    if: { properties: { country: { const: 'US' } }, required: ['country'] },
    then: { properties: { zip: { type: 'string' } }, required: ['zip'] },
    else: { properties: { postcode: { type: 'string' } } },
    dependentRequired: { postcode: ['city'] },
  }

  it('that are required and not allowed are drawn, to say so', () => {
    expect(fieldsOf({ required: ['b'], properties: { a: {} }, additionalProperties: false }, {})).toEqual(['a', 'b*'])
    expect(fieldsOf({ required: ['a'], properties: { a: false, b: false } }, {})).toEqual(['a*'])
  })

  it('follow the conditions', () => {
    expect(fieldsOf(address, { country: 'US' })).toEqual(['country', 'zip*'])
    expect(fieldsOf(address, { country: 'NL' })).toEqual(['country', 'postcode'])
    expect(fieldsOf(address, { postcode: '1' })).toEqual(['country', 'postcode', 'city*'])
  })

  it('of both sides are offered where a condition may not be run', () => {
    const schema = { ...address, if: { properties: { country: { pattern: '^(U+)+S$' } } } }
    expect(fieldsOf(schema, { country: 'U' })).toEqual(['country', 'zip', 'postcode'])
  })

  it('may have the names that every object has', () => {
    const schema = { properties: { constructor: { type: 'string' } }, required: ['toString'] }
    expect(fieldsOf(schema, {})).toEqual(['constructor', 'toString*'])
  })
})

describe('a pattern of somebody else', () => {
  const schema = { patternProperties: { '^(a|a)+$': { type: 'string' } }, additionalProperties: { type: 'number' } }
  const entry = (matches?: Matches) => {
    const refs = makeRefs(schema, matches)
    return objectViewOf(flatten(schema, refs), {}, refs).entrySchema('a')
  }

  it('is asked about and never run here; while the answer is to come it may match', () => {
    const asked: unknown[] = []
    const answer = (known: boolean | undefined) =>
      entry((...question) => {
        asked.push(question)
        return known
      })
    expect(answer(true)).toEqual({ type: 'string' })
    expect(answer(false)).toEqual({ type: 'number' })
    expect(answer(undefined)).toEqual({ type: 'string' })
    expect(entry()).toEqual({ type: 'string' })
    expect(asked[0]).toEqual(['^(a|a)+$', 'a'])
    expect(fits({ pattern: '^b' }, 'a', makeRefs({})).ok).toBeUndefined()
    expect(
      fits(
        { pattern: '^b' },
        'a',
        makeRefs({}, () => false),
      ).ok,
    ).toBe(false)
  })
})

describe('the branch of a value', () => {
  const refs = makeRefs({})
  it('is the one that fits, or the one whose fixed values agree', () => {
    const circle = { properties: { kind: { const: 'circle' }, r: { type: 'number' } }, required: ['kind', 'r'] }
    const box = { properties: { kind: { const: 'box' }, w: { type: 'number' } }, required: ['kind', 'w'] }
    expect(bestBranch([circle, box], { kind: 'box', w: 1 }, refs)).toBe(1)
    expect(bestBranch([circle, box], { kind: 'box', w: 'not yet' }, refs)).toBe(1)
    expect(bestBranch([{ type: 'string' }, { type: 'array', items: { type: 'string' } }], [1], refs)).toBe(1)
  })

  it('is the one with the fields, and with the default, that the value has', () => {
    const lorem = (text: string) => ({ properties: { lorem: { type: 'string', default: text } } })
    expect(bestBranch([lorem('first'), lorem('second')], { lorem: 'second' }, refs)).toBe(1)
    expect(bestBranch([{ properties: { bar: {} } }, { properties: { baz: {} } }], { baz: 1 }, refs)).toBe(1)
    expect(bestBranch([{ maxLength: 1, minLength: 1 }, { type: 'string' }], '😀', refs), 'characters').toBe(1)
  })

  it('begins anew where nobody has typed, with the values that only it has', () => {
    const moved = (value: unknown, from: object, to: object) =>
      movedTo(value, { schema: from as never, label: '', index: 0 }, { schema: to as never, label: '', index: 1 }, refs)
    const lorem = (text: string) => ({ required: ['lorem'], properties: { lorem: { type: 'string', default: text } } })
    expect(moved({ lorem: 'first' }, lorem('first'), lorem('second'))).toEqual({ lorem: 'second' })
    expect(moved({ lorem: 'mine' }, lorem('first'), lorem('second'))).toEqual({ lorem: 'mine' })
    const tagged = (tag: object, name: string) => ({ type: 'object', properties: { tag, [name]: {} } })
    const [bar, baz] = [tagged({ const: 'bar' }, 'bar'), tagged({ oneOf: [{ const: 'baz' }] }, 'baz')]
    expect(moved({ tag: 'bar', bar: 1 }, bar, baz)).toEqual({ tag: 'baz' })
    expect(initialOf({ oneOf: [bar, baz] }, refs)).toEqual({ tag: 'bar' })
  })

  it('is left undecided after a bounded number of steps', () => {
    const loop = { anyOf: [{ $ref: '#' }, { $ref: '#' }] }
    expect(fits(loop, 1, makeRefs(loop)).ok).toBeUndefined()
  })
})

describe('what a field starts with', () => {
  const initial = (schema: unknown) => initialOf(schema, makeRefs(schema))
  it('is its default, its only value, or its required parts', () => {
    const schema = {
      type: 'object',
      required: ['kind', 'size', 'at', 'name', 'list'],
      properties: {
        kind: { const: 'x' },
        size: { type: 'integer', default: 5 },
        page: { type: 'integer', default: 1 },
        at: { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] },
        name: { type: 'string' },
        list: { type: 'array', items: { default: 0 }, minItems: 2 },
      },
    }
    expect(initial(schema)).toEqual({ kind: 'x', size: 5, at: {}, list: [0, 0] })
  })

  it('is no default that does not fit, but the only value that there is', () => {
    const schema = {
      type: 'object',
      required: ['a', 'b', 'c'],
      properties: { a: { type: 'string', default: 1 }, b: { enum: ['x'] }, c: { oneOf: [{ const: 2 }] } },
    }
    expect(initial(schema)).toEqual({ b: 'x', c: 2 })
    expect(initial({ type: 'object', default: { prop: 1 }, properties: { prop: { type: 'string' } } })).toEqual({})
  })

  it('ends where a schema asks for endless parts', () => {
    const schema = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] }
    expect(JSON.stringify(initial(schema)).length).toBeLessThan(10_000)
    expect(initial({ type: 'array', minItems: 1e9, items: { const: 1 } })).toHaveLength(20)
  })

  it('is an empty text when a text is given', () => {
    expect(initial({ type: 'string' })).toBeUndefined()
    expect(givenOf({ type: 'string' }, makeRefs({}))).toBe('')
  })
})

describe('limits', () => {
  it('are told as they were written', () => {
    const schema = readExact('{"type":"integer","maximum":9223372036854775807}')
    expect(hintOf(view(schema))).toBe('whole number, ≤ 9223372036854775807')
    expect(hintOf(view({ type: 'integer', minimum: 1, allOf: [{ minimum: 2n ** 63n }] }))).toMatch(
      '≥ 9223372036854775808',
    )
    const check = makeCheck(schema as never)
    expect(check(9223372036854775807n, [])).toEqual({ problems: [] })
    expect(check(2n ** 70n, []).problems[0]?.message).toBe('must be at most 9223372036854775807')
  })
})

describe('typed texts', () => {
  it.each([
    ['12', 12],
    [' 1.50 ', 1.5],
    ['-0', 0],
    ['1e3', 1000],
    ['+7', 7],
    ['9007199254740991', 9007199254740991],
    ['1e21', 1e21],
    ['9007199254740993', 9007199254740993n],
    ['4611686018427387904', 4611686018427387904n],
    ['-9223372036854775808.0', -9223372036854775808n],
    ['123456789012345678e2', 12345678901234567800n],
  ])('%s is a number', (text, value) => {
    expect(parseNumber(text)).toEqual({ value })
  })
  it.each(['', 'x', '1e', '0x10', '1,5', 'Infinity', 'NaN', '1e999', '1e-400', '0.12345678901234567890'])(
    '%s is refused',
    text => {
      expect(parseNumber(text).problem).toBeTruthy()
    },
  )
})

describe('parts of a value', () => {
  it('are named by pointers both ways', () => {
    const path = ['a/b', '~', '', '0']
    expect(toPointer(path)).toBe('/a~1b/~0//0')
    expect(parsePointer('/a~1b/~0//0')).toEqual(path)
  })
  it('are replaced without touching the rest, and keep their order', () => {
    const before = { a: 1, b: { c: 2 }, d: [1, 2] }
    expect(JSON.stringify(setIn(before, ['b', 'c'], 3))).toBe('{"a":1,"b":{"c":3},"d":[1,2]}')
    expect(JSON.stringify(setIn(before, ['a'], undefined))).toBe('{"b":{"c":2},"d":[1,2]}')
    expect(setIn(undefined, ['x', 0, 'y'], 1)).toEqual({ x: [{ y: 1 }] })
    expect(before).toEqual({ a: 1, b: { c: 2 }, d: [1, 2] })
  })
  it('named __proto__ are fields like others', () => {
    const set = setIn({}, ['__proto__', 'polluted'], true) as object
    expect(Object.keys(set)).toEqual(['__proto__'])
    expect('polluted' in {}).toBe(false)
  })
})
