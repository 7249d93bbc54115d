/** Looks into schemas that were written by somebody else: whatever they hold, each step is safe and bounded. */
export type Loose = Record<string, unknown>

export { isObject, member as own } from 'pshub/schema-diff'

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
