import { dereference, type Schema, validate } from '@cfworker/json-schema'
import type { Problem } from 'pshub'
import { rounded } from '../../json/exact.ts'
import { gapsOf, problemsOf } from './problems.ts'
import { makeSchemaAt } from './schema-at.ts'

export interface Checked {
  problems: Problem[]
  /** Why the schema cannot be used here. */
  unchecked?: string
}

/** Checks a value against its schema; `chosen` are branches that somebody chose, by the pointer of the choice. */
export type Check = (value: unknown, chosen: Iterable<readonly [string, number]>) => Checked

/** A check of a foreign schema. It may take for ever: see runner.ts. */
export const makeCheck = (schema: Schema | boolean): Check => {
  // The validator knows no BigInts; what is told of limits is told by the schema as it is.
  const plain = rounded(schema) as Schema | boolean
  const lookup = lookupOf(plain)
  const exact = lookupOf(schema)
  return (value, chosen) => {
    try {
      const gaps = gapsOf(value)
      if (gaps.length) return { problems: gaps }
      if ('unusable' in lookup) return { problems: [], unchecked: lookup.unusable }
      if ('unusable' in exact) return { problems: [], unchecked: exact.unusable }
      const { valid, errors } = validate(rounded(value), plain, '2020-12', lookup.found, false)
      if (valid) return { problems: [] }
      return { problems: problemsOf(errors, value, makeSchemaAt(schema, exact.found), new Map(chosen)) }
    } catch (error) {
      return { problems: [], unchecked: reason(error) }
    }
  }
}

const lookupOf = (schema: Schema | boolean): { found: ReturnType<typeof dereference> } | { unusable: string } => {
  try {
    return { found: dereference(schema) }
  } catch (error) {
    return { unusable: reason(error) }
  }
}

const reason = (error: unknown): string => {
  if (error instanceof RangeError) return 'it refers to itself without end'
  // The validator lists all it knows behind the first line.
  return (error as Error).message.split('\n')[0]!.slice(0, 200)
}
