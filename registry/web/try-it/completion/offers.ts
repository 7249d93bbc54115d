import { itemSchemas, memberSchemas, Steps, spread, TooTangled } from '../../../schema/applying.ts'
import type { Refs } from '../../../schema/refs.ts'
import { isObject, type Loose, listOf, own } from '../../../schema/steps.ts'
import { typesOf } from '../../form/model/flatten.ts'
import { jsonText } from '../../json/exact.ts'
import type { Cursor } from './cursor.ts'

/** Something to write at the cursor. */
export interface Offer {
  /** As it is shown. */
  label: string
  /** What it is: a type, `default`, `example`. */
  note: string
  /** What is written. */
  text: string
  /** How far back the cursor stands afterwards, in characters. */
  back: number
  /** Whether something is to be written next, which may be offered at once. */
  goesOn: boolean
}

export const mostOffers = 50
const maxLabelLength = 60
const maxNoteLength = 80
const maxTextLength = 10_000

/** What a schema lets be written at the cursor: keys that are missing, allowed values, defaults and examples. Best first. */
export const offersAt = (schema: unknown, refs: Refs, cursor: Cursor): Offer[] => {
  try {
    const all = schemasAt(schema, refs, cursor)
    const offers = cursor.wants === 'key' ? keysOf(all, cursor) : valuesOf(all)
    return matching(offers, cursor).slice(0, mostOffers)
  } catch (error) {
    if (error instanceof TooTangled) return []
    throw error
  }
}

/** All that may have a say there; branches whose fixed members say otherwise have none. */
const schemasAt = (root: unknown, refs: Refs, { path, siblings }: Cursor): Loose[] => {
  const steps = new Steps()
  const at = (schemas: readonly unknown[], depth: number) => {
    const around = siblings[depth]
    const mayBe = (branch: unknown) => around === undefined || !isContradicted(branch, around, refs)
    return spread(schemas, { refs, steps, mayBe }).all
  }
  let all = at([root], 0)
  for (const [depth, step] of path.entries())
    all = at(
      all.flatMap(schema => (typeof step === 'number' ? itemSchemas(schema, step) : memberSchemas(schema, step))),
      depth + 1,
    )
  return all
}

/** Whether a member that the branch fixes is there with another value. */
const isContradicted = (branch: unknown, around: ReadonlyMap<string, unknown>, refs: Refs): boolean => {
  const ref = own(branch, '$ref')
  const target = typeof ref === 'string' && isObject(branch) ? refs.resolve(ref, branch) : branch
  const properties = own(target, 'properties')
  if (!isObject(properties)) return false
  return [...around].some(([key, value]) => {
    const member = own(properties, key)
    const fixed = own(member, 'const') === undefined ? own(member, 'enum') : [own(member, 'const')]
    return Array.isArray(fixed) && value !== undefined && !fixed.includes(value)
  })
}

const keysOf = (all: readonly Loose[], { keys, hasColon }: Cursor): Offer[] => {
  const required = new Set(all.flatMap(schema => listOf(own(schema, 'required'))))
  const members = new Map<string, unknown[]>()
  for (const schema of all) {
    const properties = own(schema, 'properties')
    if (!isObject(properties)) continue
    for (const [key, member] of Object.entries(properties))
      if (member !== false && !keys.has(key)) members.set(key, [...(members.get(key) ?? []), member])
  }
  const rank = ([key, [member]]: [string, unknown[]]) =>
    own(member, 'deprecated') === true ? 2 : required.has(key) ? 0 : 1
  return [...members]
    .sort((a, b) => rank(a) - rank(b))
    .map(([key, parts]) => {
      const said = parts.map(part => own(part, 'description')).find(text => typeof text === 'string')
      const types = [...new Set(parts.flatMap(part => typesOf(own(part, 'type'))))].join(' or ')
      const isOld = parts.some(part => own(part, 'deprecated') === true)
      const words = [types, required.has(key) ? 'required' : '', isOld ? 'deprecated' : '', firstLine(said)]
      const note = words.filter(word => word !== '').join(' · ')
      return offer(key, note, hasColon ? JSON.stringify(key) : `${JSON.stringify(key)}: `, 0, !hasColon)
    })
}

const firstLine = (text: unknown): string =>
  typeof text === 'string' ? (text.trim().split('\n', 1)[0] ?? '').slice(0, maxNoteLength) : ''

const valuesOf = (all: readonly Loose[]): Offer[] => {
  const offers = new Map<string, Offer>()
  const add = (value: unknown, note: string) => {
    const text = value === undefined ? undefined : jsonText(value, 2)
    if (text === undefined || text.length > maxTextLength || offers.has(text)) return
    offers.set(text, offer(jsonText(value), note, text, 0, false))
  }
  for (const schema of all) {
    if (own(schema, 'const') !== undefined) add(own(schema, 'const'), 'the only one')
    for (const value of listOf(own(schema, 'enum'))) add(value, '')
  }
  const fixed = offers.size
  for (const schema of all) {
    add(own(schema, 'default'), 'default')
    for (const value of [...listOf(own(schema, 'examples')), own(schema, 'example')]) add(value, 'example')
  }
  if (fixed > 0) return [...offers.values()]
  const types = new Set(all.flatMap(schema => typesOf(own(schema, 'type'))))
  if (types.has('boolean')) for (const value of [true, false]) add(value, '')
  if (types.has('null')) add(null, '')
  const starts: [string, string, string, number][] = [
    ['object', '{ }', '{}', 1],
    ['array', '[ ]', '[]', 1],
    ['string', '" "', '""', 1],
  ]
  for (const [type, label, text, back] of starts)
    if (types.has(type))
      offers.set(text, offer(label, type === 'string' ? 'text' : type, text, back, type !== 'string'))
  return [...offers.values()]
}

const offer = (label: string, note: string, text: string, back: number, goesOn: boolean): Offer => ({
  label: label.length > maxLabelLength ? `${label.slice(0, maxLabelLength)}…` : label,
  note,
  text,
  back,
  goesOn,
})

/** Those that begin with what is written, then those that have it in them; what is there in full is not offered again. */
const matching = (offers: readonly Offer[], { typed, isQuoted }: Cursor): Offer[] => {
  const asked = typed.toLowerCase()
  const wanted = offers.filter(({ text }) => !isQuoted || text.startsWith('"'))
  const plain = ({ label, text }: Offer) => (text.startsWith('"') ? label.replace(/^"/, '') : label).toLowerCase()
  if (asked === '') return wanted
  const begins = wanted.filter(one => plain(one).startsWith(asked))
  const holds = wanted.filter(one => !plain(one).startsWith(asked) && plain(one).includes(asked))
  return [...begins, ...holds].filter(({ text }) => text !== (isQuoted ? JSON.stringify(typed) : typed))
}
