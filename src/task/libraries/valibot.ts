import { hinting, type Library, type Patterns, type Side } from './library.ts'
import { type Judge, mayBeNothing, nothing } from './nothing.ts'
import { note } from './patterns.ts'

interface ValibotPart {
  readonly kind: string
  readonly type: string
  readonly requirement?: unknown
  readonly fallback?: unknown
  readonly entries?: Record<string, ValibotPart>
  readonly items?: readonly ValibotPart[]
  readonly '~standard'?: Judge
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

const valibotOptions = (side: Side, patterns: Patterns) => ({
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
    valibotSchema: { type, fallback, entries, items },
    jsonSchema,
    errors,
  }: {
    valibotSchema: ValibotPart
    jsonSchema: Record<string, unknown>
    errors?: unknown
  }): object | undefined => {
    if (side === 'output' && (type === 'void' || type === 'undefined')) return nothing
    if (errors) return undefined
    if (fallback !== undefined) return hinting(jsonSchema) ?? {}
    const { required } = jsonSchema
    if (items) return { ...jsonSchema, minItems: items.findLastIndex(needsValue) + 1 }
    if (!entries || !Array.isArray(required)) return undefined
    return { ...jsonSchema, required: required.filter(name => !mayLack(entries[name], side)) }
  },
})

/** Whether an object may lack that field: JSON has none for undefined. */
const mayLack = (entry: ValibotPart | undefined, side: Side): boolean =>
  entry?.fallback !== undefined || (side === 'output' && mayBeNothing(entry?.['~standard'] ?? {}))

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

export const valibot: Library = { options: valibotOptions, formats: ['ipv4', 'uuid'], countsUnits: true }
