import { type JsonSchema, movedSchema, whyUnusable } from 'pshub'
import { widenedForClients } from './output-schema.ts'
import { isObject, rewritten } from './schema-parts.ts'

/** A schema of an object, as tools have them at the top. */
export type ObjectSchema = { type: 'object' } & Record<string, unknown>

/** What a tool takes, and whether the arguments of its task are not that, but its field `args`. */
export interface Input {
  schema: ObjectSchema
  isWrapped: boolean
}

/** Without `properties` OpenAI refuses the whole list. */
const open: ObjectSchema = { type: 'object', properties: {} }

/** One tool that a model's provider does not take has it refuse all of them: what is no good is left open, for the worker to judge. */
export const inputOf = (args: JsonSchema | undefined): Input => {
  if (args === undefined) return { schema: open, isWrapped: false }
  if (!mayBeOnTop(args)) {
    const inner = rewritten(usable(args, '#/properties/args') ?? {}, asProvidersTakeIt)
    return { schema: { type: 'object', properties: { args: inner }, required: ['args'] }, isWrapped: true }
  }
  const schema = rewritten(usable(args, '#') ?? {}, asProvidersTakeIt) as JsonSchema
  return { schema: { ...open, ...schema, type: 'object' }, isWrapped: false }
}

/**
 * The schema of results that are always objects; undefined of others, and of one that is no good.
 * @param compiles clients compile it, and cannot read the list with one that fails
 */
export const outputOf = (
  result: JsonSchema | undefined,
  compiles: (schema: ObjectSchema) => boolean,
): ObjectSchema | undefined => {
  const moved = result?.type === 'object' ? usable(result, '#') : undefined
  if (!moved) return undefined
  const schema = rewritten(widenedForClients(moved), withObjectFields) as ObjectSchema
  return compiles(schema) ? schema : undefined
}

const usable = (schema: JsonSchema, base: string): JsonSchema | undefined =>
  whyUnusable(schema) === undefined ? movedSchema(schema, base) : undefined

/** Anthropic and OpenAI refuse these at the top of a schema, and take them below. */
const notOnTop = new Set([
  ...['oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const', '$ref', '$dynamicRef'],
  ...['dependentSchemas', 'dependentRequired', 'dependencies'],
])
/** Names of properties at the top, as Anthropic takes them. It does not look at those below. */
const nameOnTop = /^[a-zA-Z0-9_.-]{1,64}$/
const ofObjects = ['properties', 'required', 'additionalProperties', 'patternProperties']

/** Whether arguments are objects, as far as the schema says, and all else at its top is what providers take there. */
const mayBeOnTop = ({ type, ...rest }: JsonSchema): boolean => {
  const keywords = Object.keys(rest)
  if (keywords.some(keyword => notOnTop.has(keyword))) return false
  if (isObject(rest.properties) && !Object.keys(rest.properties).every(name => nameOnTop.test(name))) return false
  if (type !== undefined) return type === 'object' || (Array.isArray(type) && type.includes('object'))
  return keywords.length === 0 || ofObjects.some(keyword => keyword in rest)
}

/** OpenAI refuses a list that does not say of what. */
const asProvidersTakeIt = (part: JsonSchema): JsonSchema => {
  const isList = part.type === 'array' || (Array.isArray(part.type) && part.type.includes('array'))
  return withObjectFields(isList && part.items === undefined ? { ...part, items: {} } : part)
}

/** True and false are schemas of fields too, which clients do not know. */
const withObjectFields = (part: JsonSchema): JsonSchema => {
  if (!isObject(part.properties)) return part
  const fields = Object.entries(part.properties).map(([name, field]) => [
    name,
    field === true ? {} : field || { not: {} },
  ])
  return { ...part, properties: Object.fromEntries(fields) }
}
