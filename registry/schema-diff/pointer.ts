const maxRefLength = 1000

/** The part of a document that a `$ref` names (RFC 6901 in a fragment); undefined for what lies outside it or is not there. */
export const partNamed = (root: unknown, ref: unknown): unknown => {
  if (typeof ref !== 'string' || ref.length > maxRefLength || !/^#(\/|$)/.test(ref)) return undefined
  let found: unknown = root
  for (const step of ref.split('/').slice(1)) {
    const name = unescaped(step)
    // Only own members: what a prototype has is no part of a document.
    found = typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? found[name as never] : undefined
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

export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
