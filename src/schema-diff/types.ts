import type { Comparing } from './report.ts'
import { canonical, isSameValue } from './same.ts'
import { keyword, type Schema, shown } from './schema.ts'

/** Kinds of values. `fraction` is a number that is not whole, so that `integer` is a part of `number`. */
const kinds = ['null', 'boolean', 'object', 'array', 'string', 'integer', 'fraction'] as const
export type Kind = (typeof kinds)[number]

const kindsOfType = (type: unknown): readonly Kind[] => {
  if (type === 'number') return ['integer', 'fraction']
  return kinds.filter(kind => kind === type && kind !== 'fraction')
}

const kindOfValue = (value: unknown): Kind => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'fraction'
  return typeof value as Kind
}

/** Kinds that `type` lets through. */
const typedKinds = (schema: Schema): ReadonlySet<Kind> => {
  const type = keyword(schema, 'type')
  if (type === undefined) return new Set(kinds)
  const nullable = keyword(schema, 'nullable') === true ? (['null'] as const) : []
  return new Set<Kind>([...[type].flat().flatMap(kindsOfType), ...nullable])
}

/** The values a schema lists, by `enum` or `const`, as far as its type lets them through; undefined when it lists none. */
const listed = (schema: Schema): unknown[] | undefined => {
  const one = keyword(schema, 'const')
  const many = keyword(schema, 'enum')
  if (one === undefined && !Array.isArray(many)) return undefined
  const typed = typedKinds(schema)
  const values: unknown[] = Array.isArray(many) ? many : [one]
  return values.filter(value => typed.has(kindOfValue(value)) && (one === undefined || isSameValue(value, one)))
}

/** Kinds of values that a schema lets through, as far as `type` and the listed values say. */
const kindsOf = (schema: Schema): ReadonlySet<Kind> => {
  const values = listed(schema)
  return values ? new Set(values.map(kindOfValue)) : typedKinds(schema)
}

const namesOf = (of: ReadonlySet<Kind>): string => {
  if (of.size === kinds.length) return 'anything'
  const names = kinds.filter(kind => of.has(kind) && !(kind === 'integer' && of.has('fraction')))
  return names.map(name => (name === 'fraction' ? 'number' : name)).join(' or ') || 'nothing'
}

/** Tells what changed of the kinds; returns those that both let through, whose limits are worth comparing. */
export const compareKinds = (to: Comparing, pointer: string, before: Schema, after: Schema): ReadonlySet<Kind> => {
  const [old, now] = [kindsOf(before), kindsOf(after)]
  const gone = [...old].some(kind => !now.has(kind))
  const added = [...now].some(kind => !old.has(kind))
  // Listed values are told one by one.
  if ((gone || added) && !(listed(before) && listed(after))) {
    const text = `Type was ${namesOf(old)}, is ${namesOf(now)}.`
    if (gone) to.tell(pointer, 'fewer', text)
    if (added) to.tell(pointer, 'more', text)
  }
  return new Set([...old].filter(kind => now.has(kind)))
}

/** Tells what changed of the values that are listed one by one. */
export const compareListed = (to: Comparing, pointer: string, before: Schema, after: Schema) => {
  const [old, now] = [listed(before), listed(after)]
  if (!old && !now) return
  if (!old) return to.tell(pointer, 'fewer', `Only ${shown(now)} may be given now.`)
  if (!now) return to.tell(pointer, 'more', `No longer only ${shown(old)}.`)
  for (const value of without(old, now)) to.tell(pointer, 'fewer', `The value ${shown(value)} was removed.`)
  for (const value of without(now, old)) to.tell(pointer, 'more', `The value ${shown(value)} was added.`)
}

const without = (values: unknown[], others: unknown[]): unknown[] => {
  const known = new Set(others.map(canonical))
  return values.filter(value => !known.has(canonical(value)))
}
