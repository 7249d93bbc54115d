import { type JsonSchema, visit, whole } from './schema-walk.ts'

/**
 * JSON Schemas as libraries write them, made wide enough to be published: callers check with them, and must not refuse what the library's
 * validator takes. Libraries leave the flags of regular expressions out, know formats that RFCs do not, and say nothing of texts that are
 * trimmed before they are checked. The validator itself has the last word, in the worker.
 */

type Side = 'input' | 'output'

/** Whether a pattern may be published, by its text: false wins, when two regular expressions have the same text. */
type Patterns = Map<string, boolean>

interface Library {
  /** What it is asked beside the JSON Schema, in the words of that library. */
  readonly options?: (side: Side, patterns: Patterns) => object
  /** Regular expressions of a schema, of a library that does not show them while it writes. */
  readonly regexes?: (schema: object) => Iterable<RegExp>
  /** Formats of PROTOCOL.md, section 9.3, which let pass all that this library does under that name. */
  readonly formats: readonly string[]
  /** Its lengths of texts count UTF-16 units and not code points, of which there may be half as many. */
  readonly countsUnits: boolean
}

/** The JSON Schema of a library's schema, as callers are told it. `ask` has the library write it. */
export const publishedOf = (
  vendor: unknown,
  schema: object,
  side: Side,
  ask: (libraryOptions: object | undefined) => unknown,
): unknown => {
  const library = libraries[String(vendor)]
  const patterns: Patterns = new Map()
  const written = JSON.parse(JSON.stringify(ask(library?.options?.(side, patterns))))
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
    // Nothing may be there, in the words of arktype: no draft has an empty choice.
    enum: Array.isArray(part.enum) && part.enum.length === 0 ? ['not', {}] : ['enum', part.enum],
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

/** Whether a pattern may take long, as far as that is to be seen at a glance. */
const hasGroups = (pattern: string): boolean => /[(|]/.test(pattern)

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

const note = (patterns: Patterns, regex: RegExp, isTold = meansTheSame(regex)): void => {
  patterns.set(regex.source, isTold && patterns.get(regex.source) !== false)
}

/** Whether it matches the same texts as its source does under the flag u, as patterns of JSON Schemas are read. */
const meansTheSame = ({ source, flags }: Pick<RegExp, 'source' | 'flags'>): boolean => {
  if (/[imsvy]/.test(flags)) return false
  try {
    new RegExp(source, 'u')
  } catch {
    return false
  }
  return flags.includes('u') || !countsUnits(source)
}

/** Whether one without the flag u could take half of a character for one, or reads an escape in another way. */
const countsUnits = (source: string): boolean => {
  if (/[\ud800-\udfff]|\\u(?:\{|[dD][89a-fA-F])|\\[pPk]/.test(source)) return true
  const atoms = [...source.matchAll(/\[(?:\\.|[^\]\\])*\]|\\.|./gs)]
  const wide = atoms.filter(([atom]) => atom === '.' || /^\\[DSW]$|^\[(?:\^|.*\\[DSW])/s.test(atom))
  if (wide.length === 0) return false
  const [{ 0: atom, index }] = wide as [RegExpExecArray]
  // A run of any characters is the same run, in whatever they are counted, unless it may begin anew inside of one.
  return wide.length > 1 || !/[*+]/.test(source.charAt(index + atom.length)) || /\)[*+?{]/.test(source)
}

const annotations = new Set(['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'])

/** Leaves of a JSON Schema, in its place, what checks nothing, and the keywords that are named. */
const leave = (json: Record<string, unknown>, keywords: readonly string[] = []): void => {
  for (const keyword of Object.keys(json))
    if (!annotations.has(keyword) && !keywords.includes(keyword)) delete json[keyword]
}

interface ZodSchema {
  readonly _zod: { readonly def: ZodDef; readonly bag?: { patterns?: Iterable<RegExp> } }
}

interface ZodDef {
  readonly type?: string
  readonly check?: string
  readonly format?: string
  readonly pattern?: unknown
  readonly coerce?: boolean
  readonly checks?: readonly ZodSchema[]
  readonly in?: ZodSchema
  readonly innerType?: ZodSchema
  readonly options?: readonly ZodSchema[]
  readonly left?: ZodSchema
  readonly right?: ZodSchema
  readonly shape?: Record<string, ZodSchema>
  readonly items?: readonly ZodSchema[]
  readonly valueType?: ZodSchema
}

/** Checks of zod whose pattern is the user's; those of formats are zod's own. */
const usersChecks = new Set(['regex', 'lowercase', 'uppercase', 'includes', 'starts_with', 'ends_with'])

/** Whether it takes values of any type, to make another one of them before anything is checked. */
const takesAny = ({ type, coerce, in: first }: ZodDef): boolean =>
  coerce === true ||
  type === 'catch' ||
  type === 'success' ||
  type === 'transform' ||
  first?._zod.def.type === 'transform'

/** Whether it takes what is not there. */
const takesNothing = ({ _zod: { def } }: ZodSchema): boolean => {
  const { type, in: first, innerType, options, left, right } = def
  if (takesAny(def) || type === 'any' || type === 'unknown' || type === 'undefined' || type === 'void') return true
  if (options) return options.some(takesNothing)
  if (left && right) return takesNothing(left) && takesNothing(right)
  const inner = first ?? (type === 'nonoptional' ? undefined : innerType)
  return inner !== undefined && takesNothing(inner)
}

const zodOverride =
  (side: Side, patterns: Patterns) =>
  ({ zodSchema, jsonSchema }: { zodSchema: ZodSchema; jsonSchema: Record<string, unknown> }): void => {
    const { def, bag } = zodSchema._zod
    const checks = [def, ...(def.checks ?? []).map(check => check._zod.def)]
    for (const { format, pattern } of checks)
      if (pattern instanceof RegExp) {
        const isOwn = format !== undefined && !usersChecks.has(format)
        note(patterns, pattern, meansTheSame(pattern) && !(isOwn && hasGroups(pattern.source)))
      }
    for (const pattern of bag?.patterns ?? []) if (!patterns.has(pattern.source)) note(patterns, pattern)
    if (side === 'input' && takesAny(def)) leave(jsonSchema)
    // Behind something that changes the value, a check is not one of what travels.
    else if (checks.some(({ check }) => check === 'overwrite')) leave(jsonSchema, ['type', 'properties', 'items'])
    if (side === 'input') leaveOut(def, jsonSchema)
  }

/** Fields and items that may be left out. */
const leaveOut = ({ shape, items, valueType }: ZodDef, json: Record<string, unknown>): void => {
  const { required, minItems } = json
  if (Array.isArray(required))
    json.required = required.filter(name => {
      const value = shape?.[name] ?? valueType
      return value === undefined || !takesNothing(value)
    })
  if (items && minItems === items.length) {
    const last = items.findLastIndex(item => !takesNothing(item))
    json.minItems = last + 1
  }
}

interface ValibotPart {
  readonly kind: string
  readonly type: string
  readonly requirement?: unknown
  readonly fallback?: unknown
  readonly entries?: Record<string, ValibotPart>
  readonly items?: readonly ValibotPart[]
}

/** Actions of valibot that make another value of the same type. */
const valibotChanges = new Set([
  ...['trim', 'trim_start', 'trim_end', 'to_lower_case', 'to_upper_case', 'normalize', 'to_min_value', 'to_max_value'],
])

/** Where the JSON Schema of a value is kept, as it was when the value was changed: checks behind that are not of what travels. */
const asTravelled: unique symbol = Symbol('pshub.asTravelled')

interface ValibotJson extends Record<string, unknown> {
  [asTravelled]?: Record<string, unknown>
}

const valibotOptions = (_: Side, patterns: Patterns) => ({
  overrideAction: ({
    valibotAction: { kind, type, requirement },
    jsonSchema,
    errors,
  }: {
    valibotAction: ValibotPart
    jsonSchema: ValibotJson
    errors?: unknown
  }): object | undefined => {
    if (requirement instanceof RegExp) note(patterns, requirement)
    const before = jsonSchema[asTravelled]
    if (before) return { ...before, [asTravelled]: before }
    if (valibotChanges.has(type)) return { ...jsonSchema, [asTravelled]: { ...jsonSchema } }
    // What it cannot say is left to its validator; what makes a value of another type is not passed over.
    if (!errors || kind === 'transformation') return undefined
    const { minLength: _min, maxLength: _max, ...wider } = jsonSchema
    return jsonSchema.type === 'string' ? jsonSchema : wider
  },
  overrideSchema: ({
    valibotSchema: { fallback, entries, items },
    jsonSchema,
    errors,
  }: {
    valibotSchema: ValibotPart
    jsonSchema: Record<string, unknown>
    errors?: unknown
  }): object | undefined => {
    if (errors) return undefined
    if (fallback !== undefined) return {}
    const { required } = jsonSchema
    if (items) return { ...jsonSchema, minItems: items.findLastIndex(needsValue) + 1 }
    if (!entries || !Array.isArray(required)) return undefined
    return { ...jsonSchema, required: required.filter(name => entries[name]?.fallback === undefined) }
  },
})

const valuesNeeded = new Set([
  'array',
  'boolean',
  'enum',
  'literal',
  'null',
  'number',
  'object',
  'picklist',
  'string',
  'strict_object',
])
const needsValue = ({ type, fallback }: ValibotPart): boolean => fallback === undefined && valuesNeeded.has(type)

interface ArkNode {
  readonly kind: string
  readonly rule?: unknown
  readonly flags?: string
}

const arkRegexes = (schema: object): RegExp[] =>
  ((schema as { internal?: { references?: ArkNode[] } }).internal?.references ?? []).flatMap(({ kind, rule, flags }) =>
    kind === 'pattern' && typeof rule === 'string' ? [new RegExp(rule, flags)] : [],
  )

const libraries: Record<string, Library | undefined> = {
  zod: {
    options: (side, patterns) => ({ override: zodOverride(side, patterns) }),
    formats: ['date', 'date-time', 'ipv4', 'ipv6', 'uuid'],
    countsUnits: false,
  },
  valibot: { options: valibotOptions, formats: ['ipv4', 'uuid'], countsUnits: true },
  arktype: { regexes: arkRegexes, formats: ['ipv4', 'uuid'], countsUnits: true },
}
