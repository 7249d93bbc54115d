import { partNamed } from './pointer.ts'

/** A JSON Schema as it is found in the registry: of any shape, written by somebody else. */
export type Schema = Record<string, unknown> | boolean

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is no schema lets everything through, as validators that are not strict do. */
export const asSchema = (value: unknown): Schema => (typeof value === 'boolean' || isObject(value) ? value : true)

/** A keyword of a schema: only its own members are, whatever a prototype holds. */
export const keyword = (schema: Schema, name: string): unknown =>
  isObject(schema) && Object.hasOwn(schema, name) ? schema[name] : undefined

export const member = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** Keywords that say something about a value without refusing any. */
export const annotations = new Set([
  'title',
  'description',
  'default',
  'example',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
  '$comment',
  '$schema',
  '$defs',
  'definitions',
])

/** The part of a document that a `$ref` names; undefined for what lies outside it or is not there. */
export const resolve = (root: Schema, ref: unknown): Schema | undefined => {
  const found = partNamed(root, ref)
  return typeof found === 'boolean' || isObject(found) ? found : undefined
}

/** A value in few words. */
export const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
