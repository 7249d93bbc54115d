import { isObject } from '../../../../src/schema-diff/schema.ts'

/** Values as JSON has them, and how parts of them are named, read and replaced. */
export type JsonObject = { readonly [key: string]: unknown }
export type Path = readonly (string | number)[]

export { isObject }

/** An object's own field: names such as `constructor` are data like any other. */
export const own = (value: unknown, key: string): unknown =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

export const has = (value: unknown, key: string): boolean => isObject(value) && Object.hasOwn(value, key)

export const ownArray = (value: unknown, key: string): readonly unknown[] | undefined => {
  const found = own(value, key)
  return Array.isArray(found) ? found : undefined
}

export const ownObject = (value: unknown, key: string): JsonObject | undefined => {
  const found = own(value, key)
  return isObject(found) ? found : undefined
}

export const ownText = (value: unknown, key: string): string | undefined => {
  const found = own(value, key)
  return typeof found === 'string' ? found : undefined
}

export const ownNumber = (value: unknown, key: string): number | undefined => {
  const found = own(value, key)
  return typeof found === 'number' ? found : undefined
}

/** A limit of numbers, which may be one that JavaScript would round. */
export const ownLimit = (value: unknown, key: string): number | bigint | undefined => {
  const found = own(value, key)
  return isNumber(found) ? found : undefined
}

export const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'

export const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : isNumber(value) ? 'number' : typeof value

export const equal = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => has(b, key) && equal(a[key], b[key]))
}

export { parsePointer, toPointer } from '../../../../src/schema-diff/pointer.ts'

export const getIn = (value: unknown, path: Path): unknown => {
  let found = value
  for (const part of path) found = Array.isArray(found) ? found[Number(part)] : own(found, String(part))
  return found
}

/**
 * A copy with `key` set. Undefined takes the key away, or keeps it for a value still to come. Keeps the order of the keys;
 * `__proto__` is a key like another.
 */
const withKey = (object: unknown, key: string, value: unknown, keep = false): JsonObject => {
  const entries = isObject(object) ? Object.entries(object) : []
  const at = entries.findIndex(([name]) => name === key)
  if (value === undefined && !keep) return Object.fromEntries(entries.filter((_, i) => i !== at))
  if (at < 0) entries.push([key, value])
  else entries[at] = [key, value]
  return Object.fromEntries(entries)
}

/** A copy of the whole with the part at `path` replaced; what lies between and is missing is made. See withKey for `keep`. */
export const setIn = (whole: unknown, path: Path, part: unknown, keep = false): unknown => {
  const go = (holder: unknown, depth: number): unknown => {
    if (depth === path.length) return part
    const step = path[depth]!
    const last = depth === path.length - 1
    if (typeof step === 'string') return withKey(holder, step, go(own(holder, step), depth + 1), keep && last)
    const items = Array.isArray(holder) ? [...holder] : []
    items[step] = go(items[step], depth + 1)
    return items
  }
  return go(whole, 0)
}
