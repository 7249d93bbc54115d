import { isObject, own, ownText, parsePointer } from './json.ts'

/** Finds what a `$ref` names, when it is asked; undefined: outside this schema, or nothing there. */
export interface Refs {
  resolve(ref: string, from: object): unknown
}

const noHost = 'http://schema.invalid/'

/** More parts of a schema than these are not looked through for `$id` and `$anchor`. */
const maxNodes = 20_000

export const makeRefs = (root: unknown): Refs => {
  const index = new Map<string, unknown>()
  const bases = new WeakMap<object, string>()
  let ready = false

  /** Notes all names that parts give themselves. A loop, not a recursion: a foreign schema may be nested very deep. */
  const prepare = (): void => {
    ready = true
    const open: { node: unknown; base: string }[] = [{ node: root, base: noHost }]
    for (let seen = 0; open.length > 0 && seen < maxNodes; seen++) {
      const { node, base } = open.pop()!
      if (typeof node !== 'object' || node === null) continue
      let inner = base
      if (isObject(node)) {
        const id = ownText(node, '$id')
        if (id !== undefined) {
          inner = absolute(id, base)
          index.set(withoutHash(inner), node)
        }
        for (const keyword of ['$anchor', '$dynamicAnchor']) {
          const anchor = ownText(node, keyword)
          if (anchor !== undefined) index.set(`${withoutHash(inner)}#${anchor}`, node)
        }
        if (inner !== noHost) bases.set(node, inner)
      }
      for (const part of Object.values(node)) if (typeof part === 'object') open.push({ node: part, base: inner })
    }
  }

  return {
    resolve(ref, from) {
      if (!ready) prepare()
      const base = bases.get(from) ?? noHost
      const target = absolute(ref, base)
      const document = withoutHash(target)
      const resource = document === noHost ? root : index.get(document)
      const fragment = decoded(target.slice(document.length + 1))
      if (fragment === '') return resource
      if (!fragment.startsWith('/')) return index.get(`${document}#${fragment}`)
      let found = resource
      for (const part of parsePointer(fragment)) found = Array.isArray(found) ? found[Number(part)] : own(found, part)
      return found
    },
  }
}

const absolute = (ref: string, base: string): string => {
  try {
    return new URL(ref, base).href
  } catch {
    return noHost + ref
  }
}

const withoutHash = (url: string): string => url.replace(/#.*$/s, '')

const decoded = (fragment: string): string => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
