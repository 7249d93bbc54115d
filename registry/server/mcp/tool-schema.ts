import { type JsonSchema, movedSchema, whyUnusable } from 'pshub'

/** A schema of an object, as tools have them at the top. */
export type ObjectSchema = { type: 'object' } & Record<string, unknown>

/** What a tool takes, and whether the arguments of its task are not that, but its field `args`. */
export interface Input {
  schema: ObjectSchema
  isWrapped: boolean
}

const open: ObjectSchema = { type: 'object' }

/** Clients check arguments by it, and take the whole list or nothing: what is no good in it is left open, for the worker to judge. */
export const inputOf = (args: JsonSchema | undefined): Input => {
  if (args === undefined) return { schema: open, isWrapped: false }
  if (!saysObject(args)) {
    const inner = usable(args, '#/properties/args') ?? {}
    const schema = { type: 'object' as const, properties: { args: inner }, required: ['args'] }
    return { schema, isWrapped: true }
  }
  return { schema: asObject(usable(args, '#')) ?? open, isWrapped: false }
}

/**
 * The schema of results that are always objects; undefined of others, and of one that is no good.
 * @param compiles clients compile it, and cannot read the list with one that fails
 */
export const outputOf = (
  result: JsonSchema | undefined,
  compiles: (schema: ObjectSchema) => boolean,
): ObjectSchema | undefined => {
  if (result?.type !== 'object') return undefined
  const schema = asObject(usable(result, '#'))
  return schema && compiles(schema) ? schema : undefined
}

const usable = (schema: JsonSchema, base: string): JsonSchema | undefined =>
  whyUnusable(schema) === undefined ? movedSchema(schema, base) : undefined

const ofObjects = ['properties', 'required', 'additionalProperties', 'patternProperties']

/** Whether its arguments are objects, as far as it says. One that leaves it to a reference or to alternatives is wrapped. */
const saysObject = ({ type, ...rest }: JsonSchema): boolean => {
  if (type !== undefined) return type === 'object' || (Array.isArray(type) && type.includes('object'))
  return Object.keys(rest).length === 0 || ofObjects.some(keyword => keyword in rest)
}

/** Undefined where the fields that clients look at are not what they are for. */
const asObject = (schema: JsonSchema | undefined): ObjectSchema | undefined => {
  if (!schema) return undefined
  const { properties = {}, required = [] } = schema
  if (!isObject(properties) || !Array.isArray(required) || !required.every(name => typeof name === 'string'))
    return undefined
  const fields = Object.entries(properties).map(([name, field]) => [name, asField(field)] as const)
  if (fields.some(([, field]) => field === undefined)) return undefined
  return {
    ...schema,
    type: 'object',
    ...(schema.properties !== undefined && { properties: Object.fromEntries(fields) }),
  }
}

/** True and false are schemas too, which clients do not know. */
const asField = (field: unknown): object | undefined => {
  if (typeof field === 'boolean') return field ? {} : { not: {} }
  return isObject(field) ? field : undefined
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
