import { ConfigError, messageOf, type Problem } from '../wire/errors.ts'
import { Abandoned } from '../wire/failures.ts'
import { escapePointer } from '../wire/json/json-value.ts'
import { invalid } from '../wire/payload.ts'
import { isThenable } from '../wire/returned.ts'
import { orNull } from './libraries/nothing.ts'
import { publishedOf } from './libraries/published.ts'
import type { JsonSchema } from './schema.ts'

/**
 * A schema of a library with Standard Schema and Standard JSON Schema support (standardschema.dev): zod, arktype,
 * valibot and others. `Input` is what is sent, `Output` what its validator returns.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/** What is used of it. Types of libraries do not always say that they have all of this. */
interface Spoken {
  readonly vendor?: unknown
  readonly validate?: (value: unknown) => Verdict | Promise<Verdict>
  readonly jsonSchema?: Record<
    'input' | 'output',
    (options: { target: string; libraryOptions?: object | undefined }) => unknown
  >
}

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

type Verdict = { readonly value?: unknown; readonly issues?: readonly Issue[] | undefined }

/** What the validator of a schema makes of a value: that, or a promise of it. Throws, or rejects with, Abandoned. */
export type Parse = (value: unknown) => unknown

export const isStandard = (schema: unknown): schema is StandardSchema =>
  (typeof schema === 'function' || (typeof schema === 'object' && schema !== null)) && '~standard' in schema

const spokenBy = (schema: StandardSchema): Spoken => schema['~standard'] as unknown as Spoken

const wayOut =
  'For valibot, wrap it: toStandardJsonSchema(schema) of @valibot/to-json-schema. zod has it since 4.2, arktype since 2.1.28. Or pass a JSON Schema.'

/**
 * The JSON Schema of what travels: for arguments what the schema takes, for a result what comes out of it, and null for undefined.
 * @throws ConfigError where the library cannot tell
 */
export const jsonSchemaOf = (schema: unknown, side: 'input' | 'output', what: string): JsonSchema | undefined => {
  if (!isStandard(schema)) return schema as JsonSchema | undefined
  const { jsonSchema, vendor } = spokenBy(schema)
  if (typeof jsonSchema?.[side] !== 'function')
    throw new ConfigError(
      `${what} is a schema that offers no JSON Schema (~standard.jsonSchema), which callers need. ${wayOut}`,
    )
  try {
    const ask = (libraryOptions?: object) => jsonSchema[side]({ target: 'draft-2020-12', libraryOptions })
    const written = publishedOf(vendor, schema, side, ask) as JsonSchema
    return side === 'output' ? orNull(written, spokenBy(schema)) : written
  } catch (error) {
    const hint =
      side === 'output'
        ? ' A result travels as JSON: transform it in the handler, and describe what the handler returns.'
        : ' Describe the JSON that travels, and let the schema transform it.'
    throw new ConfigError(`${what} cannot be converted to JSON Schema: ${messageOf(error)}.${hint}`)
  }
}

/** The schema's own validator; undefined where it has none. */
export const parserOf = (
  schema: unknown,
  code: 'InvalidArgs' | 'InvalidResult',
  fullName: string,
): Parse | undefined => {
  if (!isStandard(schema) || typeof spokenBy(schema).validate !== 'function') return undefined
  const judged = ({ value, issues }: Verdict): unknown => {
    if (!issues) return value
    const { message, data } = invalid(code, issues.map(problemOf), { task: fullName })
    throw new Abandoned(code, message, { task: fullName, data })
  }
  return value => afterwards(spokenBy(schema).validate!(value), judged)
}

/** What its validator says against a payload of merged jobs, which has to say so at once. An empty list says that the value fits. */
export const problemsBy = (schema: unknown, value: unknown): Problem[] => {
  const verdict = (isStandard(schema) && spokenBy(schema).validate?.(value)) || {}
  if (!isThenable(verdict)) return ((verdict as Verdict).issues ?? []).map(problemOf)
  verdict.then(undefined, () => undefined)
  return [
    {
      pointer: '',
      message: 'cannot be checked: payloads of merged jobs need a schema that does so at once, without promises',
    },
  ]
}

const problemOf = ({ message, path = [] }: Issue): Problem => {
  const steps = [...path].map(step => (typeof step === 'object' ? step.key : step))
  return { pointer: steps.map(step => `/${escapePointer(String(step))}`).join(''), message }
}

/** What is made of a value now, or once it is there. */
export const afterwards = <T>(value: T | PromiseLike<T>, next: (value: T) => unknown): unknown =>
  isThenable(value) ? (value as PromiseLike<T>).then(next) : next(value as T)
