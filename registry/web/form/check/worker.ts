import { dereference, type Schema, validate } from '@cfworker/json-schema'
import type { Problem } from 'pshub'
import { gapsOf, problemsOf } from './problems.ts'
import { makeSchemaAt } from './schema-at.ts'

/** What the page asks: the schema once, then values. */
export type Question = { schema: unknown } | { id: number; value: unknown; chosen: [string, number][] }
/** `unchecked`: the schema cannot be used here, and why. */
export type Answer = { ready: true } | { id: number; problems: Problem[]; unchecked?: string }

// A worker's own scope; the types of the page's are the ones at hand.
const scope = self as unknown as { onmessage: (event: { data: Question }) => void; postMessage(answer: Answer): void }

type Lookup = ReturnType<typeof dereference>

let ready: { schema: Schema | boolean; lookup: Lookup } | undefined
let unusable: string | undefined

const use = (schema: Schema | boolean): void => {
  try {
    ready = { schema, lookup: dereference(schema) }
  } catch (error) {
    unusable = reason(error)
  }
}

const reason = (error: unknown): string => {
  if (error instanceof RangeError) return 'it refers to itself without end'
  // The validator lists all it knows behind the first line.
  return (error as Error).message.split('\n')[0]!.slice(0, 200)
}

const check = (value: unknown, chosen: [string, number][]): { problems: Problem[]; unchecked?: string } => {
  try {
    const gaps = gapsOf(value)
    if (gaps.length) return { problems: gaps }
    if (!ready) return { problems: [], unchecked: unusable ?? 'it cannot be read' }
    const { valid, errors } = validate(value, ready.schema, '2020-12', ready.lookup, false)
    return {
      problems: valid ? [] : problemsOf(errors, value, makeSchemaAt(ready.schema, ready.lookup), new Map(chosen)),
    }
  } catch (error) {
    return { problems: [], unchecked: reason(error) }
  }
}

scope.onmessage = ({ data }) => {
  if ('schema' in data) {
    use(data.schema as Schema | boolean)
    scope.postMessage({ ready: true })
  } else scope.postMessage({ id: data.id, ...check(data.value, data.chosen) })
}
