/** Looks into schemas that were written by somebody else: whatever they hold, each step is safe and bounded. */
export type Loose = Record<string, unknown>

export const isObject = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A member of its own of an object, never one of its prototype. */
export const own = (object: unknown, key: string): unknown =>
  isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
