import { type JsonSchema, visit, whole } from '../schema-walk.ts'
import { arktype } from './arktype.ts'
import type { Library, Patterns, Side } from './library.ts'
import { hasGroups, meansTheSame, note } from './patterns.ts'
import { valibot } from './valibot.ts'
import { zod } from './zod.ts'

const libraries: Record<string, Library | undefined> = { zod, valibot, arktype }

/**
 * JSON Schemas as libraries write them, made wide enough to be published: callers check with them, and must not refuse what the library's
 * validator takes. Libraries leave the flags of regular expressions out, know formats that RFCs do not, and say nothing of texts that are
 * trimmed before they are checked. The validator itself has the last word, in the worker.
 */
export const publishedOf = (
  vendor: unknown,
  schema: object,
  side: Side,
  ask: (libraryOptions: object | undefined) => unknown,
): unknown => {
  const library = libraries[String(vendor)]
  const patterns: Patterns = new Map()
  const written =
    library?.written?.(schema, side) ?? JSON.parse(JSON.stringify(ask(library?.options?.(side, patterns))))
  for (const regex of library?.regexes?.(schema) ?? []) note(patterns, regex)
  return widened(written, library, patterns)
}

const widened = (schema: unknown, library: Library | undefined, patterns: Patterns): unknown => {
  const mayTell = (pattern: string) =>
    library !== undefined && (patterns.get(pattern) ?? meansTheSame({ source: pattern, flags: '' }))
  const negated = new Set<unknown>()
  return visit(schema, whole, part => {
    if (negated.has(part)) return false
    negated.add(part.not).add(part.if)
    return widerPart(part, library, mayTell)
  })
}

const widerPart = (
  part: JsonSchema,
  library: Library | undefined,
  mayTell: (pattern: string) => boolean,
): JsonSchema => {
  const { format, pattern, minLength, patternProperties, anyOf } = part
  const isOpen = isObject(patternProperties) && !Object.keys(patternProperties).every(mayTell)
  const toldFormat = formatOf(format, library)
  // Beside a format a long pattern says little more, and callers in Python and Ruby would not use the schema for it.
  const isTold = typeof pattern === 'string' && mayTell(pattern) && !(toldFormat !== undefined && hasGroups(pattern))
  const wider: Record<string, [string, unknown] | undefined> = {
    format: toldFormat === undefined ? undefined : ['format', toldFormat],
    pattern: isTold ? ['pattern', pattern] : undefined,
    minLength: ['minLength', leastLength(minLength, library)],
    // No draft has empty lists of these. arktype says by one that nothing may be there.
    enum: isEmpty(part.enum) ? ['not', {}] : ['enum', part.enum],
    prefixItems: isEmpty(part.prefixItems) ? undefined : ['prefixItems', part.prefixItems],
    // Of branches that became wider more than one may fit.
    oneOf: anyOf === undefined ? ['anyOf', part.oneOf] : undefined,
    ...(isOpen
      ? { patternProperties: undefined, additionalProperties: undefined, unevaluatedProperties: undefined }
      : {}),
  }
  const entries = Object.entries(part).map(entry => (Object.hasOwn(wider, entry[0]) ? wider[entry[0]] : entry))
  return Object.fromEntries(entries.filter(entry => entry !== undefined))
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

const leastLength = (length: unknown, library: Library | undefined): unknown =>
  typeof length === 'number' && library?.countsUnits !== false ? Math.ceil(length / 2) : length

/** What is said in the place of a format that is narrower than the library's: the same for all of Unicode, which nobody checks. */
const unchecked: Record<string, string | undefined> = { email: 'idn-email', hostname: 'idn-hostname', uri: 'iri' }
const checked = new Set([
  ...['date', 'time', 'date-time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uri-reference'],
  ...['uri-template', 'uuid', 'json-pointer', 'relative-json-pointer', 'regex'],
])

const formatOf = (format: unknown, library: Library | undefined): unknown =>
  typeof format !== 'string' || !checked.has(format) || library?.formats.includes(format) ? format : unchecked[format]
