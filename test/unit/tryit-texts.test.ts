import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changesBetween } from '../../registry/web/json/changes.ts'
import { parseJson, textOf } from '../../registry/web/json/parse.ts'
import { placeOfPointer } from '../../registry/web/json/place.ts'
import { readJson } from '../../registry/web/json/text.ts'
import { standing } from '../../registry/web/try-it/arguments/verdict.ts'
import { anyJson, hasProto } from '../support/any-json.ts'

/** Whole numbers beyond 2^53 are refused, even where they are spelled as JavaScript spells them. */
const wouldChange = (value: unknown) => /\d{16}/.test(JSON.stringify(value))

describe('arguments as text', () => {
  it('are what JSON.parse makes of them', () => {
    fc.assert(
      fc.property(
        anyJson.filter(value => !hasProto(value) && !wouldChange(value)),
        fc.constantFrom(undefined, 2),
        (value, indent) => {
          expect(parseJson(JSON.stringify(value, undefined, indent))).toEqual({ ok: true, value })
        },
      ),
      { numRuns: 300 },
    )
  })

  it('are refused when JSON.parse refuses them', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\ue1.-+0 \ntrnl') }), text => {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        if (!isJson) expect(parseJson(text).ok).toBe(false)
      }),
      { numRuns: 1000 },
    )
  })

  const refused: [string, string, number, number, RegExp][] = [
    ['nothing', '', 1, 1, /This is empty/],
    ['a comma at the end', '{"a": 1,\n  }', 2, 3, /comma/],
    ['a key without quotes', '{\n  a: 1\n}', 2, 3, /key in double quotes/],
    ['single quotes', "{'a': 1}", 1, 2, /key in double quotes/],
    ['no colon', '{"a" 1}', 1, 6, /Expected :/],
    ['a line break within a text', '["a\nb"]', 1, 4, /line break/],
    ['a text without end', '["a', 1, 2, /no end/],
    ['an unknown escape', '["\\x"]', 1, 3, /escape/],
    ['two values', '{} {}', 1, 4, /end of the value/],
    ['a leading zero', '[01]', 1, 3, /Expected , or \]/],
    ['a fraction that would be changed', '{"id":\n 0.12345678901234567890}', 2, 2, /changed to 0.12345678901234568/],
    ['one that is too small', '[1e-400]', 1, 2, /changed to 0/],
    ['a number without end', '[1e999]', 1, 2, /larger than a number can be/],
    ['a key twice', '{"a":1,"a":2}', 1, 12, /appears twice/],
    ['a key that pollutes', '{"\\u005f_proto__":1}', 1, 19, /__proto__/],
    ['nesting without end', '['.repeat(5000), 1, 202, /Nested deeper/],
  ]
  it.each(refused)('are refused for %s, at its place', (_, text, line, column, message) => {
    const parsed = parseJson(text)
    expect(parsed).toMatchObject({ ok: false, line, column })
    expect(!parsed.ok && parsed.message).toMatch(message)
  })

  it('keep what is exact, and take a byte order mark', () => {
    expect(parseJson('\ufeff[9007199254740991, 0.1, 1e3, 12345678901234567890]')).toEqual({
      ok: true,
      value: [9007199254740991, 0.1, 1000, 12345678901234567890n],
    })
    expect(textOf(undefined)).toBe('')
  })

  it('are found by pointer', () => {
    const text = '{"a/b": [1, {"c": true}]}'
    expect(text.slice(placeOfPointer(text, '/a~1b/1/c'))).toBe('true}]}')
    expect(text.slice(placeOfPointer(text, '/a~1b/1/missing'))).toBe('{"c": true}]}')
    expect(placeOfPointer('{', '/a')).toBe(0)
  })
})

describe('two results', () => {
  const changes = (before: string, after: string) => {
    const { changes, isComplete } = changesBetween(readJson(before), readJson(after))
    return { at: changes.map(({ pointer }) => pointer), isComplete }
  }
  it('differ place by place, by the text of their numbers', () => {
    expect(changes('{"a":1,"b":[1,2],"c":"x"}', '{"b":[1,3,4],"a":1,"d":null}').at).toEqual([
      '/b/1',
      '/b/2',
      '/c',
      '/d',
    ])
    expect(changes('[12345678901234567890]', '[12345678901234567891]').at).toEqual(['/0'])
    expect(changes('{"a":{}}', '{"a":[]}').at).toEqual(['/a'])
    expect(changes('[1,{"a":null}]', '[1,{"a":null}]').at).toEqual([])
  })

  it('are compared within bounds', () => {
    const list = (item: number) => JSON.stringify(Array.from({ length: 1000 }, () => item))
    const { at, isComplete } = changes(list(1), list(2))
    expect(at.length).toBe(200)
    expect(isComplete).toBe(false)
  })
})

describe('what a worker refused', () => {
  it('stands for values that were not touched since', () => {
    const problems = ['/a', '/list/0/x', '/new', ''].map(pointer => ({ pointer, message: 'no' }))
    const verdict = { args: { a: 1, list: [{ x: 2 }] }, problems }
    const left = (now: unknown) => standing(verdict, now).map(({ pointer }) => pointer)
    expect(left({ a: 1, list: [{ x: 2 }] })).toEqual(['/a', '/list/0/x', '/new', ''])
    expect(left({ a: 2, list: [{ x: 2 }] })).toEqual(['/list/0/x', '/new'])
    expect(left({ a: 1, list: [{ x: 2 }], new: 0 })).toEqual(['/a', '/list/0/x'])
    expect(left(undefined)).toEqual(['/new'])
  })
})
