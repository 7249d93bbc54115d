import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Language = 'typescript' | 'python' | 'ruby'

/** What a check in any language says, where it is not the one pointer that the form leads people to. */
interface Told {
  pointers: string[]
  /** A check may tell more at or below these: why each branch of a choice does not fit. */
  inside?: string[]
}

/** One file of the schema set, which is in clients/vectors: every language checks the same values. */
export interface SchemaCase {
  name: string
  /** What it was written after; in our own words. */
  source?: string
  schema: unknown
  /** Entered through the form's controls; each comes back equal. */
  valid: unknown[]
  /** Entered the same way, or `via` the JSON tab where the form cannot express it; refused with a message at the pointer. */
  invalid: (Partial<Told> & { value: unknown; pointer: string; via?: 'json' })[]
  /** More of either, which nobody enters. */
  fits?: unknown[]
  fails?: (Told & { value: unknown })[]
  /** Why no language takes it. */
  unusable?: string
  /** Why a language does not take it, or only not from somebody else. */
  unusableIn?: Partial<Record<Language, string>>
  uncheckedBy?: Partial<Record<Language, string>>
  /** Which kind to pick where the labels alone do not say, by pointer. */
  branches?: Record<string, string>
  /** Nothing is wrong with the value, but its check would run for ever. */
  slow?: { value: unknown }
  /** Why valid values go through the JSON tab. */
  formCannot?: string
  hostile?: boolean
  /** The schema is too large for a file and made here. */
  generate?: keyof typeof generators
  note?: string
}

const object = (properties: Record<string, unknown>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

const generators = {
  manyBranches: () => object({ v: { anyOf: Array.from({ length: 10_000 }, (_, i) => ({ const: `k${i}` })) } }),
  manyObjects: () =>
    object({
      v: {
        oneOf: Array.from({ length: 1_000 }, (_, i) => object({ kind: { const: `k${i}` }, n: { type: 'integer' } })),
      },
    }),
  hugeEnum: () => object({ city: { enum: Array.from({ length: 20_000 }, (_, i) => `city ${i}`) } }),
  deep: () => {
    let schema: unknown = { type: 'string' }
    for (let i = 0; i < 2_000; i++) schema = object({ a: schema })
    return schema
  },
  wide: () => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, { type: 'string' }])),
  }),
}

const folder = join(import.meta.dirname, '../../clients/vectors/schemas')

export const schemaCases: { file: string; text: string; case: SchemaCase }[] = readdirSync(folder)
  .sort()
  .map(file => {
    const found = JSON.parse(readFileSync(join(folder, file), 'utf8')) as SchemaCase
    const schema = found.generate ? generators[found.generate]() : found.schema
    return { file: file.replace('.json', ''), text: JSON.stringify({ schema }), case: { ...found, schema } }
  })
