import vm from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import { compileForeign, compileOwn, foreignBounds, UnusableSchema } from '../../src/task/schema.ts'

const foreign = (schema: unknown) => compileForeign(JSON.stringify(schema))
const check = (schema: unknown, value: unknown) => foreign(schema)(value, JSON.stringify(value).length)

describe('a schema of the registry', () => {
  it('points at each offending field', () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string', minLength: 1 }, tags: { type: 'array', items: { enum: ['a', 'b'] } } },
      required: ['city'],
      additionalProperties: false,
    }
    expect(check(schema, { city: 'Oslo', tags: ['a'] })).toEqual([])
    expect(check(schema, {})).toEqual([{ pointer: '/city', message: 'is required' }])
    expect(check(schema, { city: 'x', 'a/b~c': 1 })).toEqual([{ pointer: '/a~1b~0c', message: 'is not a known field' }])
    expect(check(schema, { city: 'x', tags: ['a', 'z'] })).toEqual([
      { pointer: '/tags/1', message: 'must be one of "a","b"' },
    ])
    expect(check(schema, { city: 7 })[0]).toMatchObject({ pointer: '/city' })
  })

  it.each([
    [{ minLength: 1 }, '', 'must have at least 1 character'],
    [{ maxLength: 2 }, 'abc', 'must have at most 2 characters'],
    [{ minItems: 2 }, [], 'must have at least 2 items'],
    [{ maxItems: 1 }, [1, 2], 'must have at most 1 item'],
    [{ minProperties: 1 }, {}, 'must have at least 1 field'],
    [{ contains: { const: 1 } }, [2], 'must contain a matching item'],
    [{ contains: { const: 1 }, maxContains: 2 }, [1, 1, 1], 'must contain 1 to 2 matching items'],
    [{ uniqueItems: true }, [1, 1], 'has the same item twice'],
    [{ not: { type: 'string' } }, 'a', 'is not allowed'],
  ])('says of %j in words what is wrong', (schema, value, message) => {
    expect(check(schema, value).at(-1)).toEqual({ pointer: '', message })
  })

  it('is guarded where it could take long, and not for long arguments alone', () => {
    // Without its bound on time, which a busy machine may exceed with any schema.
    const guard = vi.spyOn(vm.Script.prototype, 'runInContext').mockImplementation(() => [])
    const guards = (schema: unknown, value: unknown) => {
      guard.mockClear()
      check(schema, value)
      return guard.mock.calls.length
    }
    const long = { fill: 'a'.repeat(1_000_000) }
    const small = { type: 'object', properties: { fill: { type: 'string' } }, additionalProperties: false }
    expect(guards(small, long)).toBe(0)
    const choices = Array.from({ length: 3000 }, (_, n) => `choice ${n}`)
    expect(guards({ properties: { fill: { enum: choices } } }, { fill: 'x' })).toBe(0)
    expect(guards({ properties: { fill: { enum: choices } } }, long)).toBe(1)
    expect(guards({ properties: { fill: { pattern: '^a*$' } } }, { fill: 'a'.repeat(3000) })).toBe(1)
    expect(guards({ properties: { fill: { pattern: '^(a|b)*$' } } }, { fill: 'a' })).toBe(1)
    guard.mockRestore()
  })

  it('knows formats and 2020-12 keywords', () => {
    expect(check({ type: 'string', format: 'date' }, '2026-11-21')).toEqual([])
    expect(check({ type: 'string', format: 'date' }, 'soon')).toHaveLength(1)
    expect(check({ prefixItems: [{ type: 'number' }], items: false }, [1, 2])).toHaveLength(1)
    expect(check({ $defs: { n: { type: 'number' } }, $ref: '#/$defs/n' }, 'x')).toHaveLength(1)
  })

  const deep = (levels: number): unknown => (levels === 0 ? {} : { properties: { a: deep(levels - 1) } })
  const unusable: [string, unknown][] = [
    ['too large', { description: 'x'.repeat(foreignBounds.bytes) }],
    ['too deep', deep(20)],
    ['too many nodes', { anyOf: Array.from({ length: 2500 }, () => ({})) }],
    ['a remote reference', { $ref: 'https://example.com/schema.json' }],
    ['a reference to a file', { properties: { a: { $ref: 'other.json' } } }],
    ['a reference into nothing', { $ref: '#/$defs/none' }],
    ['not a schema', { type: 'nope' }],
    ['a pattern that does not compile', { type: 'string', pattern: '(' }],
  ]
  it.each(unusable)('that is %s is not used', (_, schema) => {
    expect(() => foreign(schema)).toThrow(UnusableSchema)
  })

  it('cannot read other parts of the data as limits ($data is off)', () => {
    expect(() => foreign({ properties: { a: { maximum: { $data: '1/b' } } } })).toThrow(UnusableSchema)
  })

  const bombs: [string, unknown, unknown][] = [
    ['a pattern that backtracks', { type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`],
    ['a pattern of many options', { type: 'string', pattern: `^${'a?'.repeat(40)}$` }, `${'a'.repeat(45)}!`],
    ['doubling references', doubling(32), 1],
  ]
  it.each(bombs)('with %s is given up, and stalls nothing for long', (_, schema, value) => {
    expect(() => check(schema, value)).toThrow(UnusableSchema)
  })

  it('is not given up for time in which nothing was computed', () => {
    const timeout = Object.assign(new Error('timed out'), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' })
    const guard = vi.spyOn(vm.Script.prototype, 'runInContext')
    for (let stall = 0; stall < 3; stall++)
      guard.mockImplementationOnce(() => {
        throw timeout
      })
    expect(check({ type: 'string', pattern: '^(ab|cd)+$' }, 'abce')).toHaveLength(1)
    expect(guard).toHaveBeenCalledTimes(4)
    guard.mockRestore()
  })

  it('with endless recursion in place is not used', () => {
    expect(() => check({ $ref: '#' }, 1)).toThrow(UnusableSchema)
  })

  it('with a pattern that is harmless is checked directly', () => {
    const schema = { type: 'string', pattern: '^[a-z]+$' }
    expect(check(schema, 'abc')).toEqual([])
    expect(check(schema, 'ABC')).toHaveLength(1)
    expect(check({ type: 'string', pattern: '^(ab|cd)+$' }, 'abcd')).toEqual([])
  })

  it('with names like those of Object works', () => {
    expect(check({ properties: { constructor: { type: 'string' } } }, JSON.parse('{"constructor":1}'))).toHaveLength(1)
    expect(() => compileForeign('{"properties":{"__proto__":{"type":"string"}}}')).toThrow(UnusableSchema)
  })
})

/** Each level refers to the next twice, so that checking takes two to the power of the levels. */
function doubling(levels: number): unknown {
  const $defs: Record<string, unknown> = { [`d${levels}`]: { type: 'number' } }
  for (let n = 0; n < levels; n++)
    $defs[`d${n}`] = { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }
  return { $defs, $ref: '#/$defs/d0' }
}

describe('a schema of our own', () => {
  it('has no BigInt, which would end its declaration with an error of JavaScript', () => {
    expect(() => compileOwn({ type: 'integer', maximum: 5n }, 'x')).toThrow(
      /x is not .*: maximum is a BigInt; write a number/,
    )
  })

  it('lists every problem, not only the first', () => {
    const validate = compileOwn({ type: 'object', required: ['a', 'b'] }, 'x')
    expect(validate({}, 2).map(({ pointer }) => pointer)).toEqual(['/a', '/b'])
  })
})
