import type { Library, Patterns, Side } from './library.ts'
import { meansTheSame, note } from './patterns.ts'

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
        // The name of a format says more to people, and the worker checks it. Callers in Python and Ruby would not use a long pattern.
        note(patterns, pattern, meansTheSame(pattern) && !isOwn)
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

export const zod: Library = {
  options: (side, patterns) => ({ override: zodOverride(side, patterns) }),
  formats: ['date', 'date-time', 'ipv4', 'ipv6', 'uuid'],
  countsUnits: false,
}
