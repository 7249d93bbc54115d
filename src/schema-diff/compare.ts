import { compareArrays } from './arrays.ts'
import { compareNumbers, compareTexts } from './limits.ts'
import { compareObjects } from './objects.ts'
import { type Comparing, type Direction, type Effect, kindOf, type SchemaChange } from './report.ts'
import { areSame, type Documents, isSameKeyword, isSameValue } from './same.ts'
import { annotations, asSchema, isObject, keyword, resolve, type Schema, shown } from './schema.ts'
import { compareKinds, compareListed } from './types.ts'

/** Schemas from the registry are somebody else's: the work on them ends. */
const limits = { changes: 200, pairs: 3_000, steps: 50_000, depth: 100, nodes: 20_000, hops: 20 } as const

/**
 * Compares two schemas of a task and finds out whether the change breaks callers: for arguments, if a valid value is
 * now rejected; for results, if a new value may come. Without a schema everything is allowed. `fits` is certain; what
 * cannot be determined is `unclear`.
 */
export const compareSchemas = (
  before: Schema | undefined,
  after: Schema | undefined,
  direction: Direction,
): SchemaChange[] => {
  if (isTooLarge(before) || isTooLarge(after))
    return [{ pointer: '', kind: 'unclear', text: 'The schemas are too large to compare.' }]
  if (isSameValue(before, after)) return []
  const comparison = new Comparison(asSchema(before), asSchema(after), direction)
  comparison.compare('', asSchema(before), asSchema(after))
  return comparison.changes
}

const isTooLarge = (schema: unknown): boolean => {
  let nodes = 0
  const visit = (value: unknown, depth: number): boolean => {
    if (typeof value !== 'object' || value === null) return false
    if (++nodes > limits.nodes || depth > limits.depth) return true
    return Object.values(value).some(inner => visit(inner, depth + 1))
  }
  return visit(schema, 0)
}

/** Keywords that join schemas: told as a whole. Fewer values get through with one, more without it. */
const joining = ['allOf', 'anyOf', 'oneOf', 'not', 'dependentSchemas', 'dependencies'] as const
const conditions = ['if', 'then', 'else'] as const
/** Their meaning hangs on all that stands beside them, or on the rest of the document. */
const entangled = [
  'unevaluatedProperties',
  'unevaluatedItems',
  '$dynamicRef',
  '$recursiveRef',
  '$dynamicAnchor',
  '$anchor',
  'additionalItems',
  '$async',
] as const

class Comparison implements Comparing {
  readonly changes: SchemaChange[] = []
  readonly documents: Documents
  readonly direction: Direction
  private pairs = 0
  private readonly seen = new Map<object, Set<object>>()

  constructor(before: Schema, after: Schema, direction: Direction) {
    this.documents = { before, after, budget: { steps: limits.steps } }
    this.direction = direction
  }

  tell(pointer: string, effect: Effect, text: string) {
    if (this.changes.length > limits.changes) return
    if (this.changes.length === limits.changes)
      this.changes.push({ pointer: '', kind: 'unclear', text: 'More changes exist than are listed here.' })
    else this.changes.push({ pointer, kind: kindOf(effect, this.direction), text })
  }

  compare(pointer: string, before: Schema, after: Schema) {
    if (this.pairs > limits.pairs) return
    if (++this.pairs > limits.pairs)
      return this.tell(pointer, 'unclear', 'The schemas are too large to compare all of them.')
    if (typeof before === 'boolean' && typeof after === 'boolean' && before === after) return
    if (this.isKnown(before, after)) return
    this.documentation(pointer, before, after)
    if (before === false) return this.tell(pointer, 'more', 'No value was allowed here; some are now.')
    if (after === false) return this.tell(pointer, 'fewer', 'No value is allowed here any more.')
    if (!this.followed(pointer, before, after)) this.keywords(pointer, before, after)
  }

  /** A pair that was met before is told already, and a recursive schema meets itself for ever. */
  private isKnown(before: Schema, after: Schema): boolean {
    if (!isObject(before) || !isObject(after)) return false
    const met = this.seen.get(before) ?? new Set()
    this.seen.set(before, met)
    return met.size === met.add(after).size
  }

  /** Goes on behind a `$ref`; true when it did, or could not. */
  private followed(pointer: string, before: Schema, after: Schema): boolean {
    const [old, now] = [keyword(before, '$ref'), keyword(after, '$ref')]
    if (old === undefined && now === undefined) return false
    const [target, newTarget] = [this.target(this.documents.before, before), this.target(this.documents.after, after)]
    if (target === undefined || newTarget === undefined)
      this.tell(pointer, 'unclear', `The reference ${shown(old ?? now)} is not followed.`)
    else this.compare(pointer, target, newTarget)
    const isBeside = old !== undefined && now !== undefined
    if (isBeside) this.keywords(pointer, before, after)
    else if (!this.standsAlone(old === undefined ? after : before))
      this.tell(pointer, 'unclear', 'A reference with limits beside it was added or removed.')
    return true
  }

  /** A schema that is no reference is its own target. */
  private target(root: Schema, schema: Schema): Schema | undefined {
    let found: Schema | undefined = schema
    for (let hops = 0; hops < limits.hops; hops++) {
      const ref: unknown = found === undefined ? undefined : keyword(found, '$ref')
      if (ref === undefined) return found
      // The limits beside a reference in between would be lost.
      if (hops > 0 && !this.standsAlone(found!)) return undefined
      found = resolve(root, ref)
    }
    return undefined
  }

  private standsAlone(schema: Schema): boolean {
    return isObject(schema) && Object.keys(schema).every(key => key === '$ref' || annotations.has(key))
  }

  private keywords(pointer: string, before: Schema, after: Schema) {
    const common = compareKinds(this, pointer, before, after)
    compareListed(this, pointer, before, after)
    if (common.has('integer') || common.has('fraction')) compareNumbers(this, pointer, before, after, common)
    if (common.has('string')) compareTexts(this, pointer, before, after)
    if (common.has('object')) compareObjects(this, pointer, before, after)
    if (common.has('array')) compareArrays(this, pointer, before, after)
    this.joined(pointer, before, after)
  }

  private joined(pointer: string, before: Schema, after: Schema) {
    const isSame = (name: string) => isSameKeyword(this.documents, name, before, after)
    for (const name of joining) {
      if (isSame(name)) continue
      if (keyword(before, name) === undefined) this.tell(pointer, 'fewer', `${name} was added.`)
      else if (keyword(after, name) === undefined) this.tell(pointer, 'more', `${name} was removed.`)
      else this.branches(pointer, name, keyword(before, name), keyword(after, name))
    }
    if (!conditions.every(isSame)) this.tell(pointer, 'unclear', 'The conditions (if, then, else) changed.')
    const changed = entangled.filter(name => keyword(before, name) !== undefined || keyword(after, name) !== undefined)
    if (changed.length > 0 && !areSame(this.documents, before, after))
      this.tell(pointer, 'unclear', `The effect of ${changed.join(' and ')} on this change was not analysed.`)
    if (isObject(before) && isObject(after) && this.isNested(before, after))
      this.tell(pointer, 'unclear', 'A part with a $id of its own is not compared.')
  }

  /** Of allOf and anyOf it is known what one branch more or less does. */
  private branches(pointer: string, name: string, before: unknown, after: unknown) {
    const [old, now] = [before, after].map(list => (Array.isArray(list) ? list : []))
    const isIn = (list: unknown[], schema: unknown, isOld: boolean) =>
      list.some(other => (isOld ? areSame(this.documents, schema, other) : areSame(this.documents, other, schema)))
    const keeps = old!.every(schema => isIn(now!, schema, true))
    const adds = now!.every(schema => isIn(old!, schema, false))
    const counts = `${name} had ${old!.length} branches, has ${now!.length}.`
    if (name === 'anyOf' && keeps !== adds) return this.tell(pointer, keeps ? 'more' : 'fewer', counts)
    if (name === 'allOf' && keeps !== adds) return this.tell(pointer, keeps ? 'fewer' : 'more', counts)
    this.tell(pointer, 'unclear', `${name} changed.`)
  }

  private isNested(before: Schema, after: Schema): boolean {
    const isRoot = before === this.documents.before && after === this.documents.after
    return !isRoot && [before, after].some(schema => keyword(schema, '$id') !== undefined)
  }

  private documentation(pointer: string, before: Schema, after: Schema) {
    const differs = (name: string) => !isSameValue(keyword(before, name), keyword(after, name))
    const words = ['title', 'description', 'example', 'examples', '$comment'].filter(differs)
    if (words.length > 0) this.tell(pointer, 'docs', `Documentation changed: ${words.join(', ')}.`)
    if (differs('deprecated'))
      this.tell(pointer, 'docs', keyword(after, 'deprecated') ? 'Is deprecated now.' : 'Is not deprecated any more.')
    if (differs('default'))
      this.tell(
        pointer,
        'unclear',
        `The default was ${shown(keyword(before, 'default'))}, is ${shown(keyword(after, 'default'))}.`,
      )
  }
}
