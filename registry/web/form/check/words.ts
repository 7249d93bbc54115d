import { jsonText } from '../../json/exact.ts'
import { isObject } from '../model/json.ts'

const typeWords: Record<string, string | undefined> = {
  __proto__: null as never,
  object: 'an object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
}

const formatWords: Record<string, string | undefined> = {
  __proto__: null as never,
  date: 'a date such as 2026-01-31',
  time: 'a time with its zone, such as 13:45:00Z',
  'date-time': 'a date and time with its zone, such as 2026-01-31T13:45:00Z',
  duration: 'a duration such as P1DT2H',
  email: 'an e-mail address',
  hostname: 'a host name',
  ipv4: 'an IPv4 address such as 192.0.2.1',
  ipv6: 'an IPv6 address such as 2001:db8::1',
  uri: 'a full address such as https://example.org/',
  'uri-reference': 'an address, full or relative',
  uuid: 'a UUID such as 123e4567-e89b-42d3-a456-426614174000',
  regex: 'a regular expression',
  'json-pointer': 'a JSON Pointer such as /a/0',
}

const several = (count: unknown, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`
const short = (value: unknown, length = 120): string => {
  const text = jsonText(value) ?? ''
  return text.length > length ? `${text.slice(0, length)}...` : text
}

/** What a value must be, in plain words that follow the name of its field. `wanted` is the keyword's value. */
export const wordsOf = (keyword: string, wanted: unknown, value: unknown): string => {
  switch (keyword) {
    case 'type':
      return `must be ${[wanted]
        .flat()
        .map(type => typeWords[String(type)] ?? String(type))
        .join(' or ')}`
    case 'const':
      return `must be ${short(wanted)}`
    case 'enum':
      return `must be one of ${short(wanted, 200).replace(/^\[|\]$/g, '')}`
    case 'format':
      return `must be ${formatWords[String(wanted)] ?? `of the format ${String(wanted)}`}`
    case 'pattern':
      return `must match the pattern ${String(wanted).slice(0, 120)}`
    case 'not':
      return isObject(wanted) && Object.keys(wanted).length === 0 ? 'is not allowed' : 'has a value that is ruled out'
    case 'contains':
      return 'must contain an item of the required kind'
    case 'uniqueItems':
      return 'has the same item twice'
    default:
      return limits(keyword, wanted) ?? `breaks the rule '${keyword}'${Array.isArray(value) ? ' of the list' : ''}`
  }
}

const limits = (keyword: string, wanted: unknown): string | undefined => {
  switch (keyword) {
    case 'minimum':
      return `must be at least ${wanted}`
    case 'maximum':
      return `must be at most ${wanted}`
    case 'exclusiveMinimum':
      return `must be more than ${wanted}`
    case 'exclusiveMaximum':
      return `must be less than ${wanted}`
    case 'multipleOf':
      return wanted === 1 ? 'must be a whole number' : `must be a multiple of ${wanted}`
    case 'minLength':
      return wanted === 1 ? 'must not be empty' : `must have at least ${several(wanted, 'character')}`
    case 'maxLength':
      return `must have at most ${several(wanted, 'character')}`
    case 'minItems':
      return `must have at least ${several(wanted, 'item')}`
    case 'maxItems':
      return `must have at most ${several(wanted, 'item')}`
    case 'minProperties':
      return `must have at least ${several(wanted, 'field')}`
    case 'maxProperties':
      return `must have at most ${several(wanted, 'field')}`
    case 'minContains':
      return `must contain at least ${several(wanted, 'item')} of the required kind`
    case 'maxContains':
      return `must contain at most ${several(wanted, 'item')} of the required kind`
    default:
      return undefined
  }
}
