import type { Schema } from '@cfworker/json-schema'
import type { Problem } from 'pshub'
import { type Check, makeCheck } from './check.ts'

/** What the page asks: the schema once, then values; or whether texts match patterns. */
export type Question =
  | { schema: unknown }
  | { id: number; value: unknown; chosen: [string, number][] }
  | { matches: [string, string][] }
/** `unchecked`: the schema cannot be used here, and why. `matches`: of one text after the other; null for no pattern. */
export type Answer =
  | { ready: true }
  | { id: number; problems: Problem[]; unchecked?: string }
  | { matches: boolean | null | 'begun' }

// A worker's own scope; the types of the page's are the ones at hand.
const scope = self as unknown as { onmessage: (event: { data: Question }) => void; postMessage(answer: Answer): void }

let check: Check = () => ({ problems: [], unchecked: 'it cannot be read' })

scope.onmessage = ({ data }) => {
  if ('schema' in data) {
    check = makeCheck(data.schema as Schema | boolean)
    scope.postMessage({ ready: true })
  } else if ('matches' in data) {
    scope.postMessage({ matches: 'begun' })
    for (const [pattern, text] of data.matches) scope.postMessage({ matches: isMatch(pattern, text) })
  } else scope.postMessage({ id: data.id, ...check(data.value, data.chosen) })
}

const isMatch = (pattern: string, text: string): boolean | null => {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return null
  }
}
