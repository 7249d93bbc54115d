import type { JsonSchema } from 'pshub'
import { rewritten } from './schema-parts.ts'

/**
 * Clients check results, and most do it with a validator of draft 7 that has keywords of its own, or with another language's patterns and
 * formats. These keywords mean the same to all of them.
 */
const commonKeywords = new Set([
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'],
  ...['type', 'enum', 'const', '$ref', '$defs', 'definitions'],
  ...['properties', 'required', 'additionalProperties', 'propertyNames', 'minProperties', 'maxProperties'],
  ...['items', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'],
])
const commonFormats = new Set<unknown>(['date', 'time', 'date-time', 'duration', 'uuid', 'ipv4'])

/** A keyword that a draft 7 validator would apply to more than was meant, once the other is gone. */
const goesWith: Record<string, string> = {
  items: 'prefixItems',
  contains: 'minContains',
  additionalProperties: 'patternProperties',
}

/** The schema of a result as clients can check it: what they would read in another way is left out, so that it lets pass all that the task's own does. */
export const widenedForClients = (schema: JsonSchema): JsonSchema => {
  const common = rewritten(schema, withCommonKeywords) as JsonSchema
  return JSON.stringify(common) === JSON.stringify(schema) ? schema : (rewritten(common, withoutDenials) as JsonSchema)
}

const withCommonKeywords = (part: JsonSchema): JsonSchema =>
  Object.fromEntries(
    Object.entries(part).filter(([keyword, value]) =>
      keyword === 'format'
        ? commonFormats.has(value)
        : commonKeywords.has(keyword) && !(goesWith[keyword] !== undefined && goesWith[keyword] in part),
    ),
  )

/** Where a schema says what a value must not be, a part that lets more pass makes the whole let less pass. */
const withoutDenials = ({ not, if: _, then, else: __, oneOf, ...part }: JsonSchema): JsonSchema => ({
  ...part,
  ...(oneOf !== undefined && part.anyOf === undefined && { anyOf: oneOf }),
})
