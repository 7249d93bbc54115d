import { hinting, type Library, type Patterns, type Side } from './library.ts'
import { nothing } from './nothing.ts'
import { meansTheSame, note } from './patterns.ts'

const annotations = new Set(['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'])

/** Leaves of a JSON Schema, in its place, what checks nothing, and the keywords that are named. */
const leave = (json: Record<string, unknown>, keywords: readonly string[] = []): void => {
  for (const keyword of Object.keys(json))
    if (!annotations.has(keyword) && !keywords.includes(keyword)) delete json[keyword]
}

/** Makes a JSON Schema take anything. What is made of that is what comes out of `success`, and no hint of what it takes. */
const leaveHint = ({ type }: ZodDef, json: Record<string, unknown>): void => {
  const meant = Object.entries(json).filter(([keyword]) => !annotations.has(keyword))
  leave(json)
  if (type !== 'success') Object.assign(json, hinting(Object.fromEntries(meant)))
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
  readonly out?: ZodSchema
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

/** Whether it takes undefined, or undefined comes out of it: what has such a field may have none. */
const mayBeNothing = ({ _zod: { def } }: ZodSchema, side: Side): boolean => {
  const { type, in: first, out, innerType, options, left, right } = def
  if (side === 'input' && takesAny(def)) return true
  if (type === 'any' || type === 'unknown' || type === 'optional' || isNothing(def)) return true
  if (options) return options.some(option => mayBeNothing(option, side))
  if (left && right) return mayBeNothing(left, side) && mayBeNothing(right, side)
  const inner = (side === 'input' ? first : out) ?? (type === 'nonoptional' ? undefined : innerType)
  return inner !== undefined && mayBeNothing(inner, side)
}

const isNothing = ({ type }: ZodDef): boolean => type === 'void' || type === 'undefined'

const zodOverride =
  (side: Side, patterns: Patterns) =>
  ({ zodSchema, jsonSchema }: { zodSchema: ZodSchema; jsonSchema: Record<string, unknown> }): void => {
    const { def, bag } = zodSchema._zod
    const checks = [def, ...(def.checks ?? []).map(check => check._zod.def)]
    for (const { format, pattern } of checks)
      if (pattern instanceof RegExp) {
        const isOwn = format !== undefined && !usersChecks.has(format)
        // The name of a format says more to people, and the worker checks it. Callers in Python and Ruby would not use a long pattern.
        note(patterns, pattern, meansTheSame(pattern) && !isOwn)
      }
    for (const pattern of bag?.patterns ?? []) if (!patterns.has(pattern.source)) note(patterns, pattern)
    if (side === 'input' && takesAny(def)) leaveHint(def, jsonSchema)
    // Behind something that changes the value, a check is not one of what travels.
    else if (checks.some(({ check }) => check === 'overwrite')) leave(jsonSchema, ['type', 'properties', 'items'])
    leaveOut(def, jsonSchema, side)
  }

/** Fields and items that may be left out. */
const leaveOut = ({ shape, items, valueType }: ZodDef, json: Record<string, unknown>, side: Side): void => {
  const { required, minItems } = json
  if (Array.isArray(required))
    json.required = required.filter(name => {
      const value = shape?.[name] ?? valueType
      return value === undefined || !mayBeNothing(value, side)
    })
  if (items && minItems === items.length) {
    const last = items.findLastIndex(item => !mayBeNothing(item, side))
    json.minItems = last + 1
  }
}

export const zod: Library = {
  written: (schema, side) => (side === 'output' && isNothing((schema as ZodSchema)._zod.def) ? nothing : undefined),
  options: (side, patterns) => ({ override: zodOverride(side, patterns) }),
  formats: ['date', 'date-time', 'ipv4', 'ipv6', 'uuid'],
  countsUnits: false,
}
