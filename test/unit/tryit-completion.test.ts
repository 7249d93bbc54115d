import { describe, expect, it } from 'vitest'
import { makeRefs } from '../../registry/schema/refs.ts'
import { cursorIn } from '../../registry/web/try-it/completion/cursor.ts'
import { mostOffers, offersAt } from '../../registry/web/try-it/completion/offers.ts'

/** A text with a | where the cursor is. */
const cursor = (marked: string) => cursorIn(marked.replace('|', ''), marked.indexOf('|'))

describe('where the cursor is in JSON that is being written', () => {
  it.each([
    ['|', 'value', [], ''],
    ['{|', 'key', [], ''],
    ['{ "wi|', 'key', [], 'wi'],
    ['{ "wi|"', 'key', [], 'wi'],
    ['{ wi|', 'key', [], 'wi'],
    ['{"a": |', 'value', ['a'], ''],
    ['{"a": tr|}', 'value', ['a'], 'tr'],
    ['{"a": "x|', 'value', ['a'], 'x'],
    ['{"a": "x|\n, "b": 1}', 'value', ['a'], 'x'],
    ['{"a": [1, {"b": |', 'value', ['a', 1, 'b'], ''],
    ['{"a": [1, {|}], "c": 2}', 'key', ['a', 1], ''],
    ['[[], |', 'value', [1], ''],
    ['{"a": 1, |}', 'key', [], ''],
    ['{|"a": 1}', 'key', [], ''],
    ['{"a\\"b": {|', 'key', ['a"b'], ''],
    ['{"a": |true}', 'value', ['a'], ''],
  ])('%s', (marked, wants, path, typed) => {
    expect(cursor(marked)).toMatchObject({ wants, path, typed })
  })

  it.each(['{"a"|', '{"a": 1 |', '{"a": "x"|', '{} |', '[1 |', '{"a" |: 1}'])('offers nothing at %s', marked => {
    expect(cursor(marked)).toBeUndefined()
  })

  it('knows the keys before and behind it, but not the one that is written', () => {
    expect([...cursor('{"a": 1, "b|": 2, "c": {"d": 1}, "e": 5}')!.keys]).toEqual(['a', 'c', 'e'])
    expect([...cursor('{"x": {"a": 1}, |, "y": 3')!.keys]).toEqual(['x', 'y'])
  })

  it('replaces what is written, and no more where a quote is missing', () => {
    const replaced = (marked: string) => {
      const { from, to } = cursor(marked)!
      return marked.replace('|', '').slice(from, to)
    }
    expect(replaced('{"a": "on|e", "b": 1}')).toBe('"one"')
    expect(replaced('{"a": "on|\n, "b": 1}')).toBe('"on')
    expect(replaced('{"a": tru|e}')).toBe('true')
    expect(replaced('{|"a": 1}')).toBe('')
  })

  it('ends soon, whatever the text is', () => {
    for (const text of [
      '['.repeat(100_000),
      '{"a":'.repeat(50_000),
      '"'.repeat(99_999),
      '\\'.repeat(100_000),
      '"\\'.repeat(50_000),
    ])
      for (const at of [0, text.length / 2, text.length]) expect(() => cursorIn(text, Math.floor(at))).not.toThrow()
  })
})

const schema = {
  type: 'object',
  properties: {
    note: { type: 'string', description: 'Anything.\nMore.' },
    width: { type: 'integer', default: 80, examples: [120, 80] },
    mode: { enum: ['fit', 'cut', 'fill'] },
    old: { deprecated: true },
    never: false,
    ok: { type: ['boolean', 'null'] },
    to: { $ref: '#/$defs/place' },
    steps: { type: 'array', items: { oneOf: [{ $ref: '#/$defs/turn' }, { $ref: '#/$defs/move' }] } },
  },
  required: ['width'],
  $defs: {
    place: { type: 'object', properties: { city: { const: 'Oslo' } } },
    turn: { properties: { kind: { const: 'turn' }, degrees: { type: 'number' } } },
    move: { properties: { kind: { const: 'move' }, metres: { type: 'number' } } },
  },
}
const offered = (marked: string, by: unknown = schema) => offersAt(by, makeRefs(by), cursor(marked)!)
const texts = (marked: string, by?: unknown) => offered(marked, by).map(({ text }) => text)

describe('what is offered there', () => {
  it('are keys that are missing, required ones first, deprecated ones last', () => {
    expect(texts('{"mode": "fit", |')).toEqual(['"width": ', '"note": ', '"ok": ', '"to": ', '"steps": ', '"old": '])
    expect(
      offered('{|')
        .slice(0, 2)
        .map(({ note }) => note),
    ).toEqual(['integer · required', 'string · Anything.'])
    expect(texts('{"wi|": 1}')).toEqual(['"width"'])
  })

  it('are those that begin with what is written, then those that have it in them', () => {
    expect(texts('{"o|')).toEqual(['"ok": ', '"old": ', '"note": ', '"mode": ', '"to": '])
    expect(texts('{"mode": "fi|')).toEqual(['"fit"', '"fill"'])
    expect(texts('{"mode": "fit|"')).toEqual([])
  })

  it('are values: allowed ones, defaults, examples, true and false, and where an object begins', () => {
    expect(texts('{"mode": |')).toEqual(['"fit"', '"cut"', '"fill"'])
    expect(offered('{"width": |').map(({ text, note }) => `${text} ${note}`)).toEqual(['80 default', '120 example'])
    expect(texts('{"ok": |')).toEqual(['true', 'false', 'null'])
    expect(texts('{"to": |')).toEqual(['{}'])
    expect(texts('{"note": |')).toEqual(['""'])
  })

  it('follow references, and the branch that a fixed member names', () => {
    expect(texts('{"to": {"city": |')).toEqual(['"Oslo"'])
    expect(texts('{"steps": [{"kind": |').sort()).toEqual(['"move"', '"turn"'])
    expect(texts('{"steps": [{"kind": "turn", |').filter(text => !text.startsWith('"kind'))).toEqual(['"degrees": '])
    expect(texts('{"steps": [{ |, "kind": "move"}]')).toEqual(['"metres": '])
  })

  it('are bounded, and none where the schema is too tangled or says nothing', () => {
    const many = { properties: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`k${at}`, {}])) }
    expect(texts('{|', many)).toHaveLength(mostOffers)
    const tangled = { anyOf: Array.from({ length: 30_000 }, () => ({ properties: { a: {} } })) }
    expect(texts('{|', tangled)).toEqual([])
    const round: { allOf: unknown[]; properties: object } = { allOf: [{ $ref: '#' }], properties: { a: {} } }
    expect(texts('{|', round)).toEqual(['"a": '])
    for (const nothing of [true, {}, null, 'x', { properties: 3, enum: 7, required: 'a' }])
      expect(texts('{|', nothing)).toEqual([])
  })
})
