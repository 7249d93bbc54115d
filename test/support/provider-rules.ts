import { Ajv2020 } from 'ajv/dist/2020.js'

const ajv = new Ajv2020({ strict: false, allErrors: true })
const errorsOfSchema = (schema: object) => {
  ajv.validateSchema(schema)
  return ajv.errors ?? []
}

interface Listed {
  name: string
  inputSchema: Record<string, unknown>
}

/** As long as `mcp__<server>__` may be, which Claude Code puts in front of a tool's name. */
const longestPrefix = 24
const keywordsNotOnTop = ['oneOf', 'anyOf', 'allOf', 'not', 'enum', 'const', 'if', '$ref', 'dependentSchemas']

/**
 * Why Anthropic or OpenAI would refuse a request with this tool, and thereby all of its tools. By what their errors say:
 *
 * - tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'
 * - tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$' (those at the top)
 * - tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12
 * - tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level
 * - schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level
 * - In context=('properties', 'tags'), array schema missing items
 * - In context=(), object schema missing properties
 */
export const refusedByProviders = ({ name, inputSchema }: Listed): string[] => {
  const { type, properties } = inputSchema
  const names = Object.keys((properties ?? {}) as object)
  return [
    ...(/^[a-zA-Z0-9_-]+$/.test(name) && name.length <= 64 - longestPrefix ? [] : [`the name ${name}`]),
    ...(type === 'object' ? [] : [`the type ${type}`]),
    ...(properties === undefined ? ['no properties'] : []),
    ...names.filter(each => !/^[a-zA-Z0-9_.-]{1,64}$/.test(each)).map(each => `the field ${each}`),
    ...keywordsNotOnTop.filter(keyword => keyword in inputSchema),
    ...errorsOfSchema(inputSchema).map(({ instancePath, message }) => `${instancePath} ${message}`),
    ...listsOfAnything(inputSchema),
  ]
}

const listsOfAnything = (part: unknown): string[] => {
  if (typeof part !== 'object' || part === null) return []
  const { type, items } = part as Record<string, unknown>
  const isList = type === 'array' || (Array.isArray(type) && type.includes('array'))
  const own = isList && items === undefined ? [`no items: ${JSON.stringify(part)}`] : []
  return [...own, ...Object.values(part).flatMap(listsOfAnything)]
}
