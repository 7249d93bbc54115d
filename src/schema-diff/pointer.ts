/** JSON Pointers (RFC 6901), the one place where they are written and read. */

export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

export const toPointer = (path: readonly (string | number)[]): string =>
  path.map(step => `/${escapePointer(String(step))}`).join('')

export const parsePointer = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/** As it stands in the fragment of an address; a lone % stands for itself. */
export const decodeFragment = (fragment: string): string => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/** A member of its own of an object, or an item of a list: what a prototype has is no part of a document. */
export const partAt = (value: unknown, step: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, step) ? value[step as never] : undefined

const maxRefLength = 1000

/** The part of a document that a `$ref` names by a pointer; undefined for what lies outside it or is not there. */
export const partNamed = (root: unknown, ref: unknown): unknown => {
  if (typeof ref !== 'string' || ref.length > maxRefLength || !/^#(\/|$)/.test(ref)) return undefined
  return parsePointer(decodeFragment(ref.slice(1))).reduce(partAt, root)
}
