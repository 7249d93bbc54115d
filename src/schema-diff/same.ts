import { annotations, isObject, keyword, resolve, type Schema } from './schema.ts'

/** Two documents, each the place where its own `$ref`s lead. */
export interface Documents {
  before: Schema
  after: Schema
  /** Steps left for all comparisons of the two together. */
  budget: { steps: number }
}

const maxDepth = 200

/** Keywords whose members are named by the schema's author; they are no keywords themselves. */
const named = new Set(['properties', 'patternProperties', 'dependentSchemas', 'dependentRequired', 'dependencies'])
/** Lists whose order says nothing. */
const unordered = new Set(['required', 'enum', 'type', 'allOf', 'anyOf', 'oneOf'])

/**
 * Whether two schemas surely let the same values through: alike but for annotations and order, with the same behind each
 * `$ref`. False also when it would take too long to say.
 */
export const areSame = (documents: Documents, before: unknown, after: unknown): boolean =>
  new Comparison(documents).schemas(before, after, 0)

/** The same for one keyword of two schemas. */
export const isSameKeyword = (documents: Documents, name: string, before: Schema, after: Schema): boolean =>
  areSame(documents, { [name]: keyword(before, name) }, { [name]: keyword(after, name) })

class Comparison {
  private readonly documents: Documents
  /** Pairs of references that are being compared already: a recursive schema meets itself again. */
  private assumed = new Set<string>()

  constructor(documents: Documents) {
    this.documents = documents
  }

  schemas(a: unknown, b: unknown, depth: number): boolean {
    if (--this.documents.budget.steps < 0 || depth > maxDepth) return false
    if (Array.isArray(a) && Array.isArray(b)) return this.lists(a, b, depth, false)
    if (!isObject(a) || !isObject(b)) return a === b
    const keys = keysOf(a)
    if (keys.length !== keysOf(b).length) return false
    return keys.every(key => Object.hasOwn(b, key) && this.keywords(key, a[key], b[key], depth + 1))
  }

  private keywords(key: string, a: unknown, b: unknown, depth: number): boolean {
    if (key === '$ref') return this.references(a, b, depth)
    if (/^\$(dynamicRef|recursiveRef|id|anchor|dynamicAnchor)$/.test(key)) return false
    if (key === 'const') return isSameValue(a, b)
    if (key === 'enum') return Array.isArray(a) && Array.isArray(b) && areSameValues(a, b)
    if (named.has(key) && isObject(a) && isObject(b)) {
      const names = Object.keys(a)
      if (names.length !== Object.keys(b).length) return false
      return names.every(name => Object.hasOwn(b, name) && this.schemas(a[name], b[name], depth))
    }
    if (Array.isArray(a) && Array.isArray(b)) return this.lists(a, b, depth, unordered.has(key))
    return this.schemas(a, b, depth)
  }

  private lists(a: unknown[], b: unknown[], depth: number, isUnordered: boolean): boolean {
    if (a.length !== b.length) return false
    if (a.every((item, at) => this.schemas(item, b[at], depth + 1))) return true
    if (!isUnordered) return false
    const left = [...b]
    return a.every(item => {
      const at = left.findIndex(other => this.schemas(item, other, depth + 1))
      if (at >= 0) left.splice(at, 1)
      return at >= 0
    })
  }

  private references(a: unknown, b: unknown, depth: number): boolean {
    const pair = `${String(a)} ${String(b)}`
    if (this.assumed.has(pair)) return true
    const [before, after] = [resolve(this.documents.before, a), resolve(this.documents.after, b)]
    if (before === undefined || after === undefined) return false
    const known = new Set(this.assumed)
    this.assumed.add(pair)
    const same = this.schemas(before, after, depth + 1)
    // What was found alike meanwhile may have been so only because of this pair.
    if (!same) this.assumed = known
    return same
  }
}

const keysOf = (schema: Record<string, unknown>): string[] => Object.keys(schema).filter(key => !annotations.has(key))

/** Values, in which the order of members says nothing either. */
export const isSameValue = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)

const areSameValues = (a: unknown[], b: unknown[]): boolean => {
  const [left, right] = [new Set(a.map(canonical)), new Set(b.map(canonical))]
  return left.size === right.size && [...left].every(value => right.has(value))
}

/** One text for each value, however its members are ordered. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'undefined'
  const members = Object.keys(value).sort()
  return `{${members.map(key => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`
}
