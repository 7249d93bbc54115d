import { formats } from './formats.ts'
import { ofMany, ofNames, ofOne } from './schema-walk.ts'

/**
 * What may stand under each keyword (PROTOCOL.md, section 9.3). The clients of other languages have the same table, with the same words:
 * a schema is rejected by all of them or by none, and no validator is ever given a keyword that it alone knows.
 */

/** What is wrong with a keyword's value, and what to write instead; undefined: nothing. */
type Rule = (value: unknown) => string | undefined

const must =
  (test: (value: unknown) => boolean, words: string): Rule =>
  value =>
    test(value) ? undefined : `must be ${words}`

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const areNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length

const isAddress = (value: unknown) => isText(value) && (formats['uri-reference'] as RegExp).test(value)

const text = must(isText, 'a string')
const boolean = must(value => typeof value === 'boolean', 'true or false')
const number = must(isNumber, 'a number')
const count = must(value => isNumber(value) && Number.isInteger(value) && value >= 0, 'a whole number of at least 0')

const typeNames = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
const isType = (value: unknown): boolean => isText(value) && typeNames.includes(value)

const type: Rule = value => {
  if (isType(value) || (areNames(value) && value.length > 0 && value.every(isType))) return undefined
  const advice =
    value === 'any'
      ? "; leave 'type' out to allow any value"
      : Array.isArray(value) && value.some(isObject)
        ? "; use 'anyOf' for a choice of schemas"
        : ''
  return `must be one of ${typeNames.join(', ')}, or a list of different ones${advice}`
}

const required: Rule = value => {
  if (areNames(value)) return undefined
  const advice = typeof value === 'boolean' ? "; name the field under the 'required' of the object that has it" : ''
  return `must be a list of different names${advice}`
}

/** A bound was true or false in draft 4. */
const exclusive =
  (plain: string): Rule =>
  value =>
    isNumber(value) ? undefined : `must be a number; instead of true, pass the number of '${plain}'`

const drafts = /^https?:\/\/json-schema\.org\/(draft-0[467]\/schema|draft\/(2019-09|2020-12)\/schema)#?$/
/** Drafts in which a reference hides what stands beside it. */
export const hidesBeside = /^https?:\/\/json-schema\.org\/draft-0[467]\//

/** They hold schemas that say nothing of a value. */
const ofNotes = new Set(['additionalItems', 'contentSchema'])

const schemas: [string, Rule][] = [
  ...[...ofOne].filter(name => !ofNotes.has(name)).map((name): [string, Rule] => [name, () => undefined]),
  ...[...ofMany].map((name): [string, Rule] => [
    name,
    must(value => Array.isArray(value) && value.length > 0, 'a list of at least one schema'),
  ]),
  ...[...ofNames].map((name): [string, Rule] => [name, must(isObject, 'an object of schemas')]),
]

const checks: [string, Rule][] = [
  ['type', type],
  ['enum', must(value => Array.isArray(value) && value.length > 0, 'a list of at least one value')],
  ['const', () => undefined],
  ['required', required],
  [
    'dependentRequired',
    must(value => isObject(value) && Object.values(value).every(areNames), 'an object of lists of different names'),
  ],
  ['minimum', number],
  ['maximum', number],
  ['exclusiveMinimum', exclusive('minimum')],
  ['exclusiveMaximum', exclusive('maximum')],
  ['multipleOf', must(value => isNumber(value) && value > 0, 'a number above 0')],
  ['uniqueItems', boolean],
  ['pattern', text],
  ['format', text],
  ['$ref', text],
  ...['Length', 'Items', 'Properties', 'Contains'].flatMap((name): [string, Rule][] => [
    [`min${name}`, count],
    [`max${name}`, count],
  ]),
]

/** Keywords that are handed to a validator; all others are notes. */
export const checked: ReadonlySet<string> = new Set([...schemas, ...checks].map(([name]) => name))

const notes: [string, Rule][] = [
  ...['title', 'description', '$comment', 'contentEncoding', 'contentMediaType', '$anchor', '$dynamicAnchor'].map(
    (name): [string, Rule] => [name, text],
  ),
  ...['deprecated', 'readOnly', 'writeOnly'].map((name): [string, Rule] => [name, boolean]),
  ['examples', must(Array.isArray, 'a list')],
  [
    '$id',
    value =>
      isText(value) && value.startsWith('#')
        ? "must not begin with #; use '$anchor', without the #"
        : must(isAddress, 'a URI reference (RFC 3986)')(value),
  ],
  [
    '$schema',
    must(
      value => isText(value) && drafts.test(value),
      'the address of draft 4, 6, 7, 2019-09 or 2020-12; leave it out, or write https://json-schema.org/draft/2020-12/schema',
    ),
  ],
]

const never =
  (words: string): Rule =>
  () =>
    words

/** What some validator understands, or an older draft did: it would hold in one language, and say nothing in another. */
const refused: [string, Rule][] = [
  ['$async', never('is an extension of ajv; leave it out, and run slow checks in the handler')],
  ['$dynamicRef', never("is not supported; use '$ref'")],
  ['$recursiveRef', never("is not supported; use '$ref'")],
  ['dependencies', never("is of an older draft; use 'dependentRequired' or 'dependentSchemas'")],
  [
    'items',
    value =>
      Array.isArray(value)
        ? "must be one schema; use 'prefixItems' for a list, and 'items' for what follows"
        : undefined,
  ],
  ['divisibleBy', never("is of an older draft; use 'multipleOf'")],
  ['extends', never("is of an older draft; use 'allOf'")],
  ['disallow', never("is of an older draft; use 'not'")],
  ['nullable', value => (value === true ? "is of OpenAPI 3.0; add \"null\" to 'type', or to 'anyOf'" : undefined)],
]

const rules = new Map<string, Rule>([...schemas, ...checks, ...notes, ...refused])

/** What is wrong with this keyword of a schema; undefined: nothing, or nobody knows the keyword. */
export const wrongKeyword = (keyword: string, value: unknown): string | undefined => {
  const words = rules.get(keyword)?.(value)
  const isReference = words !== undefined && isObject(value) && '$data' in value
  return isReference ? `${words}; '$data' is an extension of ajv` : words
}
