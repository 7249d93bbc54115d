/** Looks into schemas that were written by somebody else: whatever they hold, each step is safe and bounded. */
export type Loose = Record<string, unknown>

export const isObject = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A member of its own of an object, never one of its prototype. */
export const own = (object: unknown, key: string): unknown =>
  isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** What a `$ref` within the same document names; undefined for nothing, or another document. */
export const resolveRef = (root: unknown, ref: unknown): unknown => {
  if (typeof ref !== 'string' || !/^#(\/|$)/.test(ref) || ref.length > 1000) return undefined
  let found: unknown = root
  for (const step of ref.split('/').slice(1)) {
    const key = unescaped(step)
    found = Array.isArray(found) ? found[Number(key)] : own(found, key)
  }
  return found
}

const unescaped = (step: string): string => {
  let text = step
  try {
    text = decodeURIComponent(step)
  } catch {
    // A lone % stands for itself.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}
