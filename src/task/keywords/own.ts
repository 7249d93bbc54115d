import { _, type Ajv2020, type CodeKeywordDefinition, type FuncKeywordDefinition, str } from 'ajv/dist/2020.js'
import { canonical } from '../../wire/payload.ts'
import { isMultiple } from './multiple-of.ts'

type Check = ReturnType<NonNullable<FuncKeywordDefinition['compile']>>

/** In the place of ajv's own, which divides binary fractions. */
const multipleOf: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  compile: (step: number) => value => isMultiple(value, step),
  error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
}

/** In the place of ajv's own, which call the `toString` and `constructor` that a value has as fields. */
const sameValue: FuncKeywordDefinition[] = [
  {
    keyword: 'enum',
    schemaType: 'array',
    compile: (values: unknown[]) => isAmong(values),
    error: { params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`, message: 'must be one of these' },
  },
  {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    compile: (isAsked: boolean) => items => !isAsked || new Set(items.map(canonical)).size === items.length,
    error: { message: 'has the same item twice' },
  },
]

/** A choice may have thousands of these: a function for each made ajv's code too deep for V8 to read. */
const constant: CodeKeywordDefinition = {
  keyword: 'const',
  code: cxt => {
    const { gen, data, schema } = cxt
    const isPlain = typeof schema !== 'object' || schema === null
    cxt.fail(isPlain ? _`${data} !== ${schema}` : _`!${gen.scopeValue('func', { ref: isAmong([schema]) })}(${data})`)
  },
  error: { params: ({ schemaCode }) => _`{allowedValue: ${schemaCode}}`, message: 'must be this' },
}

/** In the place of ajv's own, which take a field that is named "" for one that is there, below `not`, `if` and choices. */
const requiredFields = (
  keyword: string,
  namesFor: (given: never, value: object) => string[],
): FuncKeywordDefinition => ({
  keyword,
  type: 'object',
  errors: true,
  compile: given => {
    const check: Check = (value: object) => {
      const missing = namesFor(given as never, value).filter(name => !Object.hasOwn(value, name))
      check.errors = missing.map(missingProperty => ({ keyword, params: { missingProperty } }))
      return missing.length === 0
    }
    return check
  },
})

const required = requiredFields('required', (names: string[]) => names)
const dependentRequired = requiredFields('dependentRequired', (given: Record<string, string[]>, value) =>
  Object.keys(given).flatMap(name => (Object.hasOwn(value, name) ? given[name]! : [])),
)

const isAmong = (values: unknown[]): ((value: unknown) => boolean) => {
  const plain = new Set(values.filter(value => typeof value !== 'object' || value === null))
  const others = new Set(values.filter(value => !plain.has(value)).map(canonical))
  return value =>
    typeof value === 'object' && value !== null ? others.size > 0 && others.has(canonical(value)) : plain.has(value)
}

export const addOwnKeywords = (ajv: Ajv2020): void => {
  for (const definition of [multipleOf, required, dependentRequired, constant, ...sameValue])
    ajv.removeKeyword(definition.keyword as string).addKeyword(definition)
}
