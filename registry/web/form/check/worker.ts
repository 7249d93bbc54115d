import type { Schema } from '@cfworker/json-schema'
import type { Problem } from 'pshub'
import { type Check, makeCheck } from './check.ts'

/** What the page asks: the schema once, then values. */
export type Question = { schema: unknown } | { id: number; value: unknown; chosen: [string, number][] }
/** `unchecked`: the schema cannot be used here, and why. */
export type Answer = { ready: true } | { id: number; problems: Problem[]; unchecked?: string }

// A worker's own scope; the types of the page's are the ones at hand.
const scope = self as unknown as { onmessage: (event: { data: Question }) => void; postMessage(answer: Answer): void }

let check: Check = () => ({ problems: [], unchecked: 'it cannot be read' })

scope.onmessage = ({ data }) => {
  if ('schema' in data) {
    check = makeCheck(data.schema as Schema | boolean)
    scope.postMessage({ ready: true })
  } else scope.postMessage({ id: data.id, ...check(data.value, data.chosen) })
}
