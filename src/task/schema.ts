import vm from 'node:vm'
import { Ajv2020, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import { ConfigError, messageOf, type Problem } from '../wire/errors.ts'
import { PayloadProblem } from '../wire/json/json-value.ts'
import { rounded } from '../wire/json/numbers.ts'
import { encodePayload } from '../wire/payload.ts'
import { formats } from './formats.ts'
import { addOwnKeywords } from './keywords/own.ts'
import { addUnevaluated } from './keywords/unevaluated.ts'
import { problemsOf } from './schema-problems.ts'
import { readSchema } from './schema-reading.ts'
import { type JsonSchema, ofNames } from './schema-walk.ts'

export type { JsonSchema }

/** Checks a value; an empty list says it fits. `size` is the length of the value's JSON, as far as it is known. */
export type Validate = (value: unknown, size: number) => Problem[]

/** Why a schema of the registry is not used. */
export class UnusableSchema extends Error {}

const none: Problem[] = []

/** A schema was read before (schema-reading.ts), so the validator does not ask what it may hold. */
const ajvOptions: Options = {
  allErrors: true,
  strict: false,
  logger: false,
  $data: false,
  meta: false,
  validateSchema: false,
  // A thousand references to one of a thousand fields, which are 50 kB, would be code of gigabytes.
  inlineRefs: false,
  formats,
  // Without this `toString` and its like would be there in every object.
  ownProperties: true,
}

/** An instance of its own for each schema: their definitions must not meet. Throws for what is no schema. */
const compile = (schema: JsonSchema): ValidateFunction => {
  const read = readSchema(schema)
  const ajv = new Ajv2020(ajvOptions)
  addOwnKeywords(ajv)
  addUnevaluated(ajv, read)
  const validate = ajv.compile(read.schema)
  // A promise would be taken for "it fits", and its rejection would end the process.
  if ('$async' in validate) throw new Error('its check would return a promise')
  return validate
}

/** Compiles a schema of this program's own. Throws ConfigError when it is not a valid one. */
export const compileOwn = (schema: unknown, what: string): Validate => {
  try {
    JSON.stringify(schema, withoutBigInt)
    // As it travels to whoever reads it.
    return checking(compile(asSchema(JSON.parse(encodePayload(schema)))))
  } catch (error) {
    const told =
      error instanceof PayloadProblem ? Object.values(error.problem).filter(Boolean).join(': ') : messageOf(error)
    throw new ConfigError(`${what} is not a valid JSON Schema (2020-12): ${told}`)
  }
}

/** Arguments may have one, a schema not: a number stands for each of its limits. */
const withoutBigInt = (key: string, value: unknown): unknown => {
  if (typeof value === 'bigint') throw new UnusableSchema(`${key} is a BigInt; write a number`)
  return value
}

const checking =
  (validate: ValidateFunction): Validate =>
  value =>
    validate(value) ? none : problemsOf(validate.errors ?? [], value)

const asSchema = (schema: unknown): JsonSchema => {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw new UnusableSchema('it must be an object')
  return schema as JsonSchema
}

/** Bounds for schemas that come from the registry, which is somebody else's data. */
export const foreignBounds = { bytes: 65_536, depth: 32, nodes: 2_000, validationMs: 50 } as const

/** Up to which length arguments are checked without a guard when the schema has patterns that cannot run away. */
const tameLength = 2_000
/**
 * Without patterns and references each part of a schema looks at each part of a value once at the most: their lengths multiplied, up to which
 * no guard is needed. It takes as long as all else that a caller does for 100 kB of arguments.
 */
const plainProduct = 65_536 ** 2

/**
 * Compiles a schema that came from the registry. Throws UnusableSchema when it is too large, too deep, or not valid. A schema that could
 * run long (recursion, patterns that backtrack) is checked under a time limit; one that exceeds it throws UnusableSchema from the returned function.
 */
export const compileForeign = (text: string): Validate => {
  if (text.length > foreignBounds.bytes) throw new UnusableSchema(`it is larger than ${foreignBounds.bytes} bytes`)
  const schema = asSchema(JSON.parse(text))
  const unguardedLength = Math.min(survey(schema), plainProduct / text.length)
  let validate: ValidateFunction
  try {
    validate = compile(schema)
  } catch (error) {
    throw new UnusableSchema(messageOf(error).slice(0, 200))
  }
  const direct = checking(validate)
  return (value, size) => (size <= unguardedLength ? direct(value, size) : guarded(() => direct(value, size)))
}

/**
 * Why a schema of the registry cannot be used: too large, too deep, or invalid. It is read as data and never compiled.
 * It may have ExactNumbers. Undefined if it can be used.
 */
export const whyUnusable = (schema: unknown): string | undefined => {
  try {
    survey(asSchema(schema))
    // After the walk, which knows that it is not too deep for this.
    if (JSON.stringify(schema).length > foreignBounds.bytes) return `it is larger than ${foreignBounds.bytes} bytes`
    readSchema(rounded(schema) as JsonSchema)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Walks a schema as data: how long arguments may be that it checks without a guard. Throws UnusableSchema beyond the bounds. */
const survey = (schema: JsonSchema): number => {
  let nodes = 0
  let unguardedLength = Number.POSITIVE_INFINITY
  const walk = (value: unknown, depth: number, inNames: boolean): void => {
    if (typeof value !== 'object' || value === null) return
    if (++nodes > foreignBounds.nodes) throw new UnusableSchema(`it has more than ${foreignBounds.nodes} nodes`)
    if (depth > foreignBounds.depth) throw new UnusableSchema(`it is nested deeper than ${foreignBounds.depth} levels`)
    for (const [key, inner] of Object.entries(value)) {
      if (key === '__proto__') throw new UnusableSchema('it has a key named __proto__')
      if (!inNames) unguardedLength = Math.min(unguardedLength, lengthUnder(key, inner))
      walk(inner, depth + 1, !inNames && ofNames.has(key))
    }
  }
  walk(schema, 1, false)
  return unguardedLength
}

const lengthUnder = (keyword: string, value: unknown): number => {
  if (keyword === '$ref') return 0
  if (keyword === 'pattern') return typeof value === 'string' && tame(value) ? tameLength : 0
  if (keyword === 'patternProperties') return Object.keys(value ?? {}).every(tame) ? tameLength : 0
  return keyword === 'format' || keyword.startsWith('unevaluated') ? tameLength : Number.POSITIVE_INFINITY
}

/**
 * True for a pattern whose matching is at worst quadratic: no groups, alternatives or back references, and at most two
 * things of variable length, an open start counting as one. Everything else (`^(a+)+$` needs seconds for 28 letters)
 * runs under the time limit.
 */
const tame = (pattern: string): boolean => {
  if (pattern.length > 200 || /[(|]|\\[0-9k]/.test(pattern)) return false
  const variable = pattern.match(/[*+?]|\{\d+,\d*\}/g)?.length ?? 0
  return variable + (pattern.startsWith('^') ? 0 : 1) <= 2
}

/** The guard's cost is about 0.1 ms a call: a timer thread of V8's own, which also stops a regular expression. */
const script = new vm.Script('run()')
const context = vm.createContext({ run: () => none })

/**
 * V8's timer counts the clock's time, which passes without a step on a busy machine, and a schema that was given up for that would go
 * unchecked: it is given up when this process computed for half of the time.
 */
const guarded = (validate: () => Problem[]): Problem[] => {
  const begun = process.cpuUsage()
  context.run = validate
  try {
    for (;;) {
      const problems = inTime()
      if (problems) return problems
      const { user, system } = process.cpuUsage(begun)
      if (user + system >= (foreignBounds.validationMs * 1000) / 2)
        throw new UnusableSchema(`checking arguments took longer than ${foreignBounds.validationMs} ms`)
    }
  } finally {
    context.run = () => none
  }
}

/** Undefined when V8's timer ended it. */
const inTime = (): Problem[] | undefined => {
  try {
    return script.runInContext(context, { timeout: foreignBounds.validationMs })
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined
    throw new UnusableSchema(messageOf(error).slice(0, 200))
  }
}
