import { parsePointer } from 'pshub/schema-diff'
import { isObject, own } from './steps.ts'

/** What a part of a schema cannot say alone. */
export interface Refs {
  /** What a `$ref` names; undefined: it is outside this schema, or nothing is there. */
  resolve(ref: string, from: object): unknown
  /** Whether a text matches a pattern of the schema; undefined while that is not known. */
  matches: Matches
}

/** A pattern may be anybody's, and run for ever: whoever answers does not run it in the page. */
export type Matches = (pattern: string, text: string) => boolean | undefined

const unknown: Matches = () => undefined

const ownText = (value: unknown, key: string): string | undefined => {
  const found = own(value, key)
  return typeof found === 'string' ? found : undefined
}

const noHost = 'http://schema.invalid/'

/** More parts of a schema than these are not looked through for `$id` and `$anchor`. */
const maxNodes = 20_000

export const makeRefs = (root: unknown, matches: Matches = unknown): Refs => {
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
          const named = absolute(id, base)
          // Older drafts named a part by a fragment alone.
          if (withoutHash(named) === withoutHash(base)) index.set(named, node)
          else index.set((inner = withoutHash(named)), node)
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
    matches,
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
