import type { Refs } from '../../../schema/refs.ts'
import { jsonText } from '../../json/exact.ts'
import { isOfType } from './fits.ts'
import { asSchema, type Flat, flatten, likelyTypes, type Schema, typesOf } from './flatten.ts'
import { has, isObject, type JsonObject, own, ownArray, ownNumber, ownText } from './json.ts'

export type TextKind = 'line' | 'lines' | 'secret' | 'file'

/** How a field is drawn. `nullable`: null is allowed beside it. */
export type View = { readonly flat: Flat; readonly nullable: boolean } & (
  | { readonly kind: 'never' | 'any' | 'null' }
  | { readonly kind: 'fixed'; readonly fixed: unknown }
  | { readonly kind: 'options'; readonly options: readonly Option[] }
  | { readonly kind: 'text'; readonly text: TextKind; readonly format: string | undefined }
  | { readonly kind: 'number'; readonly integer: boolean }
  | { readonly kind: 'object' | 'array' }
  | { readonly kind: 'choice'; readonly branches: readonly Branch[] }
)

export interface Option {
  readonly value: unknown
  readonly label: string
}

/** One of several schemas to choose from; what is said beside the choice holds in it too. */
export interface Branch {
  readonly schema: Schema
  readonly label: string
  /** Its place in the schema's own list. */
  readonly index: number
}

/** A schema that leads back to itself is not followed further than this. */
const maxHops = 8

export const viewOf = (schema: unknown, refs: Refs, hops = 0): View => {
  const flat = flatten(schema, refs)
  if (hops > maxHops) return { kind: 'any', flat, nullable: false }
  const { keywords } = flat
  if (!flat.possible) return { kind: 'never', flat, nullable: false }
  if (has(keywords, 'const')) return { kind: 'fixed', fixed: own(keywords, 'const'), flat, nullable: false }
  const allowed = ownArray(keywords, 'enum')
  if (allowed) return { kind: 'options', options: labelled(allowed), flat, nullable: false }
  return choiceOf(flat, refs, hops) ?? byType(flat)
}

const byType = (flat: Flat): View => {
  const types = likelyTypes(flat)
  const rest = types.filter(type => type !== 'null')
  const nullable = types.length > rest.length
  if (rest.length === 0) {
    // No type is left of those that all parts allow; what is no name of a type at all says nothing.
    const isRuledOut = typesOf(own(flat.keywords, 'type')).length > 0 || Array.isArray(own(flat.keywords, 'type'))
    return { kind: types.length ? 'null' : isRuledOut ? 'never' : 'any', flat, nullable: false }
  }
  if (rest.length > 1) {
    const branches = rest.map((type, index) => ({
      schema: { ...flat.keywords, type },
      label: typeNames[type] ?? type,
      index,
    }))
    return { kind: 'choice', branches, flat, nullable }
  }
  return ofType(rest[0]!, flat, nullable)
}

const ofType = (type: string, flat: Flat, nullable: boolean): View => {
  switch (type) {
    case 'boolean':
      return { kind: 'options', options: labelled([true, false]), flat, nullable }
    case 'string':
      return { kind: 'text', text: textKind(flat.keywords), format: ownText(flat.keywords, 'format'), flat, nullable }
    case 'number':
    case 'integer':
      return { kind: 'number', integer: type === 'integer', flat, nullable }
    case 'object':
    case 'array':
      return { kind: type, flat, nullable }
    default:
      return { kind: 'never', flat, nullable }
  }
}

/** What may be longer may have several lines. */
const longestLine = 120

const textKind = (keywords: JsonObject): TextKind => {
  if (ownText(keywords, 'contentEncoding') === 'base64') return 'file'
  if (ownText(keywords, 'format') === 'password' || own(keywords, 'writeOnly') === true) return 'secret'
  if (has(keywords, 'contentMediaType')) return 'lines'
  const isOneLine = has(keywords, 'format') || has(keywords, 'pattern')
  const longest = ownNumber(keywords, 'maxLength') ?? (isOneLine ? 0 : Number.POSITIVE_INFINITY)
  return longest > longestLine ? 'lines' : 'line'
}

/** Whether a text of several lines starts with room for some; others start as one line and grow. */
export const startsTall = ({ flat }: View): boolean =>
  has(flat.keywords, 'contentMediaType') || (ownNumber(flat.keywords, 'maxLength') ?? 0) > 500

/** oneOf or anyOf as a choice; undefined where they offer none: they only restrict, or one branch is left. */
const choiceOf = (flat: Flat, refs: Refs, hops: number): View | undefined => {
  const keyword = has(flat.keywords, 'oneOf') ? 'oneOf' : 'anyOf'
  const alternatives = ownArray(flat.keywords, keyword)
  if (!alternatives?.length) return undefined
  const { [keyword]: _, ...base } = flat.keywords
  const flats = alternatives.map(one => flatten(one, refs))
  if (!flats.some(one => one.possible && isShape(one))) return undefined
  const nulls = flats.filter(isNull).length
  const rest = alternatives.map((_, i) => i).filter(i => !isNull(flats[i]!) && flats[i]!.possible)
  const nullable = nulls > 0
  const fixed = rest.map(i => fixedOf(flats[i]!))
  if (rest.length > 1 && fixed.every(one => one !== undefined))
    return {
      kind: 'options',
      options: labelled(
        fixed.map(one => one!.value),
        rest.map(i => titleOf(flats[i]!)),
      ),
      flat,
      nullable,
    }
  const branch = (i: number): Schema => withBase(base, alternatives[i], flat)
  if (rest.length === 1) {
    const inner = viewOf(branch(rest[0]!), refs, hops + 1)
    return { ...inner, nullable: inner.nullable || nullable }
  }
  if (rest.length === 0) return { kind: 'null', flat, nullable: false }
  const labels = labelsOf(rest.map(i => flats[i]!))
  return {
    kind: 'choice',
    branches: rest.map((index, at) => ({ schema: branch(index), label: labels[at]!, index })),
    flat,
    nullable,
  }
}

/** What only concerns the field as a whole is not said again inside the branch. */
const outer = new Set([
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'discriminator',
  '$schema',
  '$comment',
])

const withBase = (base: JsonObject, branch: unknown, flat: Flat): Schema => {
  const shared = Object.fromEntries(Object.entries(base).filter(([keyword]) => !outer.has(keyword)))
  // A type beside a branch's own is for the checks: the branch's is the narrower one.
  if (Object.keys(shared).length === 0 && flat.conditions.length === 0) return asSchema(branch)
  return { allOf: [branch, shared, ...flat.conditions] }
}

const shapeless = new Set(['required', 'not', 'title', 'description', '$comment', 'minProperties', 'maxProperties'])

/** False for a branch that only restricts what is described beside it, such as a list of required fields. */
const isShape = (flat: Flat): boolean => Object.keys(flat.keywords).some(keyword => !shapeless.has(keyword))

const isNull = (flat: Flat): boolean => {
  if (has(flat.keywords, 'const')) return own(flat.keywords, 'const') === null
  return String(own(flat.keywords, 'type')) === 'null'
}

const fixedOf = (flat: Flat): { value: unknown } | undefined => {
  if (has(flat.keywords, 'const')) return { value: own(flat.keywords, 'const') }
  const allowed = ownArray(flat.keywords, 'enum')
  return allowed?.length === 1 ? { value: allowed[0] } : undefined
}

const titleOf = (flat: Flat): string | undefined => ownText(flat.keywords, 'title')

export const typeNames: Record<string, string | undefined> = {
  object: 'object',
  array: 'list',
  string: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'true or false',
  null: 'null',
}

/** Branches are told apart by title, else by a field that is fixed in each, else by definition, else by type. */
const labelsOf = (flats: readonly Flat[]): string[] => {
  const labels = flats.map(flat => titleOf(flat) ?? fixedField(flat) ?? flat.refName ?? shapeOf(flat))
  const counts = new Map<string, number>()
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1)
  return labels.map((label, i) => (counts.get(label)! > 1 ? `${label} (${i + 1})` : label))
}

const fixedField = (flat: Flat): string | undefined => {
  for (const property of Object.values((own(flat.keywords, 'properties') as JsonObject | undefined) ?? {})) {
    const value = own(property, 'const')
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}

const shapeOf = (flat: Flat): string => {
  const fixed = fixedOf(flat)
  if (fixed) return labelled([fixed.value])[0]!.label
  const [type, ...more] = likelyTypes(flat)
  if (type === undefined || more.length) return type === undefined ? 'anything' : 'several types'
  const format = ownText(flat.keywords, 'format')
  if (type === 'string' && format !== undefined) return format
  const required = ownArray(flat.keywords, 'required') ?? []
  if (type === 'object' && required.length) return `with ${required.slice(0, 3).join(', ')}`
  return typeNames[type] ?? type
}

/** Texts as they are, everything else as JSON; all as JSON where two would look the same. */
const labelled = (values: readonly unknown[], titles: readonly (string | undefined)[] = []): Option[] => {
  const json = values.map(value => jsonText(value) ?? '')
  const plain = values.map((value, i) => (typeof value === 'string' && value !== '' ? value : json[i]!))
  const labels = new Set(plain).size === plain.length ? plain : json
  return values.map((value, i) => ({ value, label: titles[i] ?? labels[i]! }))
}

/** Whether the field that a view draws can show this value; if not, its JSON is shown. */
export const shows = (view: View, value: unknown): boolean => {
  if (value === undefined || (value === null && view.nullable)) return true
  switch (view.kind) {
    case 'text':
      return typeof value === 'string'
    case 'number':
      return isOfType(value, 'number')
    case 'object':
      return isObject(value)
    case 'array':
      return Array.isArray(value)
    default:
      return true
  }
}
