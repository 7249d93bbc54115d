import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPlainJson, jsonValueOf, PayloadProblem } from '../../src/wire/json/json-value.ts'
import { encodeFitting, encodePayload } from '../../src/wire/payload.ts'
import { anyJson, hasProto } from '../support/any-json.ts'

class Empty {
  #secret = 1
  get secret() {
    return this.#secret
  }
}
class Point {
  x = 1
  y = 2
}

/** What is no JSON, and what the message calls it. */
const refused: [value: unknown, what: string][] = [
  [new Set(['a']), 'a Set'],
  [new Map([['k', 1]]), 'a Map'],
  [new WeakMap(), 'a WeakMap'],
  [new Error('x'), 'an Error'],
  [Object.assign(new TypeError('x'), { code: 'E' }), 'an Error'],
  [/x/, 'a RegExp'],
  [Promise.resolve(1), 'a Promise'],
  [new Headers(), 'a Headers'],
  [new URLSearchParams('a=1'), 'a URLSearchParams'],
  [new Blob(['x']), 'a Blob'],
  [new ArrayBuffer(2), 'an ArrayBuffer'],
  [new DataView(new ArrayBuffer(2)), 'a DataView'],
  [new Uint8Array(3), 'a Uint8Array'],
  [Buffer.from('x'), 'a Buffer'],
  [
    (function* () {
      yield 1
    })(),
    'a Generator',
  ],
  [[1].values(), 'an Array Iterator'],
  [new Empty(), 'an Empty without fields'],
  [new Date(Number.NaN), 'an invalid Date'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  [Number.NEGATIVE_INFINITY, '-Infinity'],
  [() => 1, 'a function'],
  [Symbol('s'), 'a symbol'],
]

describe('a value that JSON does not have', () => {
  it.each(refused)('is refused with its place: %o', (value, what) => {
    for (const [whole, pointer] of [
      [value, ''],
      [{ 'a/b': [0, value] }, '/a~1b/1'],
      [{ at: new Date(0), deep: { toJSON: () => ({ value }) } }, '/deep/value'],
    ] as const) {
      const problems = encodeFitting(whole, 1000, undefined)
      expect(problems).toEqual([{ pointer, message: expect.stringContaining(`not JSON: ${what}`) }])
    }
  })

  it('is undefined too, but as a field, which is absent then', () => {
    expect(encodePayload({ a: undefined, b: 1 })).toBe('{"b":1}')
    expect(() => encodePayload([undefined])).toThrow(PayloadProblem)
    expect(() => encodePayload(undefined)).toThrow(PayloadProblem)
  })
})

describe('a value that JSON has', () => {
  it('is written as JSON.stringify does, on both ways', () => {
    const special = fc.constantFrom(new Date(5), new Point(), new URL('http://a/b'), Object.create(null), 1e21, -0)
    const value = fc.oneof(anyJson, fc.array(fc.oneof(anyJson, special)), fc.dictionary(fc.string(), special))
    fc.assert(
      fc.property(
        value.filter(each => !hasProto(each)),
        each => {
          const written = JSON.parse(JSON.stringify(each))
          expect(JSON.parse(encodePayload(each))).toEqual(written)
          expect(JSON.parse(JSON.stringify(jsonValueOf(each)))).toEqual(written)
        },
      ),
    )
  })

  it('keeps all digits of an integer', () => {
    expect(encodePayload({ n: 2 ** 62, big: 1253261109769874438n })).toBe(
      '{"n":4611686018427387904,"big":1253261109769874438}',
    )
  })

  it('is of another realm, or has what it is made of once', () => {
    let made = 0
    const once = { toJSON: () => ({ made: ++made }) }
    expect(encodePayload({ once })).toBe('{"once":{"made":1}}')
    expect(isPlainJson({ a: [1, 'x', null, true, { at: new Date(1) }] })).toBe(true)
  })
})
