import fc from 'fast-check'
import { expect, it } from 'vitest'
import { makeRefs, type Refs } from '../../registry/schema/refs.ts'
import { makeCheck } from '../../registry/web/form/check/check.ts'
import { arrayViewOf } from '../../registry/web/form/model/array-view.ts'
import { anything, branchOf, movedTo } from '../../registry/web/form/model/branches.ts'
import { initialOf } from '../../registry/web/form/model/initial.ts'
import { equal, getIn, isObject, own, type Path, parsePointer, setIn } from '../../registry/web/form/model/json.ts'
import { parseNumber } from '../../registry/web/form/model/number-text.ts'
import { objectViewOf } from '../../registry/web/form/model/object-view.ts'
import { type Branch, shows, viewOf } from '../../registry/web/form/model/view.ts'
import { jsonText, readExact } from '../../registry/web/json/exact.ts'
import { parseJson, textOf } from '../../registry/web/json/parse.ts'
import { runs } from '../support/runs.ts'

/** A schema, and a value that fits it. */
interface Case {
  schema: unknown
  value: unknown
}

const name = fc.constantFrom('a', 'b', 'kind', 'constructor', '', 'a/b', '~', '0', 'toString', 'ä😀')
const text = fc.constantFrom('', 'x', '😀', 'two\nlines', '2026-01-31', '12', 'null', ' ')
const whole = fc.constantFrom<number | bigint>(
  0,
  7,
  -1,
  2 ** 53,
  9007199254740993n,
  -9223372036854775808n,
  4611686018427387904n,
)
const number = fc.oneof(whole, fc.constantFrom(0.1, 1.5e-7, 1e21, -2.5))
const literal = fc.oneof(text, number, fc.boolean(), fc.constant(null), fc.constant([1]), fc.constant({ a: 'x' }))

const notes = fc.record(
  { title: fc.constant('Title'), description: fc.constant('About it.'), default: literal, examples: fc.constant([1]) },
  { requiredKeys: [] },
)

const { node } = fc.letrec<{
  node: Case
  leaf: Case
  object: Case
  list: Case
  union: Case
  tagged: Case
  shared: Case
}>(tie => ({
  leaf: fc.oneof(
    fc
      .tuple(text, notes)
      .map(([value, more]) => ({ value, schema: { type: 'string', maxLength: [...value].length, ...more } })),
    fc.tuple(whole, notes).map(([value, more]) => ({ value, schema: { type: 'integer', minimum: value, ...more } })),
    fc
      .tuple(number, notes)
      .map(([value, more]) => ({ value, schema: { type: ['number', 'null'], maximum: value, ...more } })),
    fc.boolean().map(value => ({ value, schema: { type: 'boolean' } })),
    literal.map(value => ({ value, schema: { const: value } })),
    fc.tuple(literal, text, number).map(([value, ...more]) => ({ value, schema: { enum: unlike([value, ...more]) } })),
    literal.map(value => ({ value, schema: {} })),
    fc.constantFrom('string', 'object').map(type => ({ value: null, schema: { type: [type, 'null'] } })),
  ),
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(name, tie('node'), fc.boolean()), { maxLength: 4, selector: ([key]) => key }),
      fc.option(tie('leaf'), { nil: undefined }),
      notes,
    )
    .map(([fields, rest, more]) => ({
      schema: {
        type: 'object',
        properties: Object.fromEntries(fields.map(([key, { schema }]) => [key, schema])),
        required: fields.filter(([, , isGiven]) => isGiven).map(([key]) => key),
        additionalProperties: rest?.schema ?? false,
        ...more,
      },
      value: Object.fromEntries([
        ...fields.filter(([, , isGiven]) => isGiven).map(([key, { value }]) => [key, value]),
        ...(rest ? [['further', rest.value]] : []),
      ]),
    })),
  list: fc
    .tuple(fc.array(tie('node'), { maxLength: 3 }), tie('node'), fc.boolean())
    .map(([places, { schema, value }, isOpen]) => ({
      schema: {
        type: 'array',
        ...(places.length > 0 && { prefixItems: places.map(place => place.schema) }),
        items: isOpen ? schema : false,
        minItems: places.length,
      },
      value: [...places.map(place => place.value), ...(isOpen ? [value, value] : [])],
    })),
  union: fc.tuple(fc.array(tie('node'), { minLength: 1, maxLength: 3 }), fc.nat()).map(([branches, at]) => ({
    schema: { anyOf: branches.map(({ schema }) => schema) },
    value: branches[at % branches.length]!.value,
  })),
  tagged: fc
    .tuple(fc.array(tie('leaf'), { minLength: 2, maxLength: 3 }), fc.nat(), fc.boolean())
    .map(([leaves, at, isRequired]) => ({
      schema: {
        type: 'object',
        oneOf: leaves.map(({ schema }, i) => ({
          properties: { tag: i === 1 ? { enum: [`t${i}`] } : { const: `t${i}` }, field: schema },
          required: isRequired ? ['tag'] : [],
        })),
      },
      value: { field: leaves[at % leaves.length]!.value, tag: `t${at % leaves.length}` },
    })),
  shared: tie('node').map(({ schema, value }) => ({ schema: { allOf: [schema, { description: 'More.' }] }, value })),
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('leaf'),
    tie('object'),
    tie('list'),
    tie('union'),
    tie('tagged'),
    tie('shared'),
  ),
}))

const unlike = (values: unknown[]): unknown[] =>
  values.filter((value, at) => values.findIndex(one => equal(one, value)) === at)

/** The value as the controls of the form have it, each part by the control that draws it. */
const drawn = (schema: unknown, value: unknown, path: Path, refs: Refs, seen: Seen): unknown => {
  const view = viewOf(schema, refs)
  if (value === null && view.nullable) return null
  if (!shows(view, value) || view.kind === 'never') return asJson(value)
  if (view.kind === 'fixed') return equal(view.fixed, value) ? view.fixed : asJson(value)
  if (view.kind === 'options')
    return (view.options.find(option => equal(option.value, value)) ?? { value: asJson(value) }).value
  if (view.kind === 'number') return parseNumber(String(value)).value
  if (view.kind === 'array') {
    const { itemSchema } = arrayViewOf(view.flat)
    return (value as unknown[]).map((item, i) => drawn(itemSchema(i), item, [...path, i], refs, seen))
  }
  if (view.kind === 'object') {
    const { fields, extra, entrySchema } = objectViewOf(view.flat, value, refs)
    const parts = [...fields, ...extra.map(key => ({ name: key, schema: entrySchema(key) }))]
    const given = parts.filter(part => Object.hasOwn(value as object, part.name))
    return Object.fromEntries(
      given.map(part => [
        part.name,
        drawn(part.schema, (value as Record<string, unknown>)[part.name], [...path, part.name], refs, seen),
      ]),
    )
  }
  if (view.kind !== 'choice' && view.kind !== 'any') return value
  const branches = view.kind === 'choice' ? view.branches : anything
  const at = branchOf(branches, value, refs)
  seen.choices.push({ branches, at, value })
  return drawn(branches[at]!.schema, value, path, refs, seen)
}

interface Seen {
  choices: { branches: readonly Branch[]; at: number; value: unknown }[]
}

const asJson = (value: unknown): unknown => {
  const parsed = parseJson(textOf(value))
  return parsed.ok ? parsed.value : parsed
}

const problemsOf = (schema: unknown, value: unknown) => makeCheck(structuredClone(schema) as never)(value, [])

it('shows what fits a schema without changing it, and sends what it shows', () => {
  fc.assert(
    fc.property(node, ({ schema: written, value: meant }) => {
      // As both come from the service, and from a text that somebody wrote.
      const schema = readExact(jsonText(written))
      const value = asJson(meant)
      expect(problemsOf(schema, value)).toEqual({ problems: [] })
      const refs = makeRefs(schema)
      const seen: Seen = { choices: [] }
      const shown = drawn(schema, value, [], refs, seen)
      expect(shown).toEqual(meant)
      expect(readExact(jsonText(shown))).toEqual(meant)
      for (const [key, part] of isObject(value) ? Object.entries(value) : [])
        expect(jsonText(setIn(value, [key], part))).toBe(jsonText(value))
      for (const { branches, at, value } of seen.choices) expectRightBranch(branches, at, value, refs)
      // What it begins with may lack something, and holds nothing that is wrong by itself.
      const initial = initialOf(schema, refs)
      const { problems } = initial === undefined ? { problems: [] } : problemsOf(schema, initial)
      const isLeaf = (pointer: string) => typeof (getIn(initial, parsePointer(pointer)) ?? {}) !== 'object'
      expect(problems.filter(({ pointer, message }) => isLeaf(pointer) && message.startsWith('must be'))).toEqual([])
    }),
    { numRuns: runs(150, 5_000), seed: 7 },
  )
})

const expectRightBranch = (branches: readonly Branch[], at: number, value: unknown, refs: Refs): void => {
  const doFit = branches.map(({ schema }) => problemsOf(schema, value).problems.length === 0)
  if (doFit.includes(true)) expect(doFit[at], `${jsonText(value)} in ${jsonText(branches)}`).toBe(true)
  for (const [next, branch] of branches.entries()) {
    const moved = movedTo(value, branches[at], branch, refs)
    const isTagged = branches.every(one => own(own(viewOf(one.schema, refs).flat.keywords, 'properties'), 'tag'))
    if (isTagged) expect(branchOf(branches, moved, refs), jsonText(moved)).toBe(next)
  }
}
