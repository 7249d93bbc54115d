import { _, type Ajv2020, type FuncKeywordDefinition, str } from 'ajv/dist/2020.js'
import { canonical } from '../wire/canonical.ts'
import { isMultiple } from './multiple-of.ts'

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
    keyword: 'const',
    compile: (value: unknown) => isAmong([value]),
    error: { params: ({ schemaCode }) => _`{allowedValue: ${schemaCode}}`, message: 'must be this' },
  },
  {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    compile: (isAsked: boolean) => items => !isAsked || new Set(items.map(canonical)).size === items.length,
    error: { message: 'must NOT have the same item twice' },
  },
]

const isAmong = (values: unknown[]): ((value: unknown) => boolean) => {
  const plain = new Set(values.filter(value => typeof value !== 'object' || value === null))
  const others = new Set(values.filter(value => !plain.has(value)).map(canonical))
  return value =>
    typeof value === 'object' && value !== null ? others.size > 0 && others.has(canonical(value)) : plain.has(value)
}

export const addOwnKeywords = (ajv: Ajv2020): void => {
  for (const definition of [multipleOf, ...sameValue])
    ajv.removeKeyword(definition.keyword as string).addKeyword(definition)
}
