import type { Problem } from 'pshub'
import { decodeFragment } from '../../../../src/schema-diff/pointer.ts'
import { getIn, has, isObject, own, ownArray, ownObject, parsePointer, toPointer } from '../model/json.ts'
import { wordsOf } from './words.ts'

/** One entry of the validator's output. */
export interface Unit {
  readonly keyword: string
  readonly keywordLocation: string
  readonly instanceLocation: string
  readonly error: string
}

/** Finds the schema that a location of the output names. */
export type SchemaAt = (keywordLocation: string) => unknown

/** Branches that somebody chose in the form, by the pointer of the choice: their problems are the ones to show. */
export type Chosen = ReadonlyMap<string, number>

const maxProblems = 100

/** Keywords whose failure is told by what failed inside. */
const enclosing = new Set(
  [
    'properties',
    'patternProperties',
    'items',
    'prefixItems',
    'additionalItems',
    '$ref',
    '$recursiveRef',
    'allOf',
    'if',
  ].concat(['dependentSchemas', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems']),
)

/** What to tell somebody who fills in the form: each problem at the field it concerns, in plain words. */
export const problemsOf = (units: readonly Unit[], value: unknown, schemaAt: SchemaAt, chosen: Chosen): Problem[] => {
  const problems = new Map<string, Problem>()
  const add = (pointer: string, message: string): void => {
    if (problems.size < maxProblems) problems.set(`${pointer}\n${message}`, { pointer, message })
  }
  const tell = (from: number, to: number): void => {
    for (let i = from; i < to; ) {
      const unit = units[i]!
      const end = isChoice(unit) || unit.keyword === 'propertyNames' ? endOf(units, i, to) : i + 1
      if (isChoice(unit)) tellChoice(unit, i + 1, end)
      else if (unit.keyword === 'propertyNames') tellNames(unit, i + 1, end)
      else if (!enclosing.has(unit.keyword)) tellLeaf(unit, units[i - 1])
      i = end
    }
  }
  const tellLeaf = (unit: Unit, before: Unit | undefined): void => {
    const pointer = pointerOf(unit.instanceLocation)
    const part = getIn(value, parsePointer(pointer))
    const schema = schemaAt(parentOf(unit.keywordLocation))
    if (unit.keyword === 'required') {
      for (const name of ownArray(schema, 'required') ?? [])
        if (!has(part, String(name))) add(pointer + toPointer([String(name)]), 'is required')
    } else if (unit.keyword === 'dependentRequired') {
      for (const [name, needed] of Object.entries(ownObject(schema, 'dependentRequired') ?? {}))
        if (has(part, name))
          for (const other of ownArray({ needed }, 'needed') ?? [])
            if (!has(part, String(other))) add(pointer + toPointer([String(other)]), `is required beside ${name}`)
    } else
      add(pointer, unit.keyword === 'false' ? surplus(before) : wordsOf(unit.keyword, own(schema, unit.keyword), part))
  }
  const tellNames = (unit: Unit, from: number, to: number): void => {
    // The name was checked as if it were the value there: its words are about the name.
    for (const leaf of units.slice(from, to).filter(one => !enclosing.has(one.keyword))) {
      const pointer = pointerOf(leaf.instanceLocation)
      const name = parsePointer(pointer).at(-1)
      const keyword = own(schemaAt(parentOf(leaf.keywordLocation)), leaf.keyword)
      add(pointer, `has a name that ${wordsOf(leaf.keyword, keyword, name)}`)
    }
    if (from === to) add(pointerOf(unit.instanceLocation), 'has a name that is not allowed')
  }
  const tellChoice = (unit: Unit, from: number, to: number): void => {
    const pointer = pointerOf(unit.instanceLocation)
    const branches = ranges(units, unit.keywordLocation, from, to)
    const alternatives = ownArray(schemaAt(parentOf(unit.keywordLocation)), unit.keyword) ?? []
    const fixed = alternatives.map(one => (has(one, 'const') ? [own(one, 'const')] : ownArray(one, 'enum')))
    const before = problems.size
    if (/\(([2-9]|\d\d+) matches\)/.test(unit.error))
      add(pointer, 'matches more than one of the alternatives; exactly one is allowed')
    else if (fixed.length && fixed.every(one => one !== undefined))
      add(pointer, wordsOf('enum', fixed.flat(), undefined))
    else {
      const branch = branches.get(chosen.get(pointer) ?? -1) ?? likeliest(units, branches, unit.instanceLocation)
      if (branch) tell(branch[0], branch[1])
    }
    if (problems.size === before) add(pointer, 'fits none of the alternatives')
  }
  tell(0, units.length)
  return [...problems.values()]
}

const isChoice = (unit: Unit): boolean => unit.keyword === 'anyOf' || unit.keyword === 'oneOf'

/** The units inside one follow it directly. */
const endOf = (units: readonly Unit[], at: number, to: number): number => {
  const inside = `${units[at]!.keywordLocation}/`
  const names = units[at]!.keyword === 'propertyNames' ? units[at]!.keywordLocation : inside
  let end = at + 1
  while (end < to && isInside(units[end]!, names)) end++
  return end
}

/** A `false` schema gives the place of the value instead of its own. */
const isInside = (unit: Unit, location: string): boolean =>
  unit.keyword === 'false' || unit.keywordLocation.startsWith(location)

const ranges = (units: readonly Unit[], location: string, from: number, to: number): Map<number, [number, number]> => {
  const found = new Map<number, [number, number]>()
  let now = -1
  for (let i = from; i < to; i++) {
    const inside = units[i]!.keywordLocation.startsWith(`${location}/`)
    if (inside) now = Number(/^\d+/.exec(units[i]!.keywordLocation.slice(location.length + 1))?.[0] ?? now)
    if (now < 0) continue
    const range = found.get(now)
    found.set(now, [range?.[0] ?? i, i + 1])
  }
  return found
}

/** Keywords that say that another branch was meant, when they fail at the choice itself or at a fixed field. */
const telling: Record<string, number | undefined> = {
  __proto__: null as never,
  type: 1_000,
  const: 100,
  enum: 50,
  false: 20,
}

const likeliest = (
  units: readonly Unit[],
  branches: Map<number, [number, number]>,
  at: string,
): [number, number] | undefined => {
  let best: [number, number] | undefined
  let least = Number.POSITIVE_INFINITY
  for (const [from, to] of branches.values()) {
    let weight = 0
    for (const unit of units.slice(from, to)) {
      if (enclosing.has(unit.keyword)) continue
      const here = unit.instanceLocation === at
      weight += unit.keyword === 'type' && !here ? 5 : (telling[unit.keyword] ?? 2)
    }
    if (weight < least) {
      least = weight
      best = [from, to]
    }
  }
  return best
}

const surplus = (before: Unit | undefined): string => {
  if (before?.keyword === 'additionalProperties' || before?.keyword === 'unevaluatedProperties')
    return 'is not a known field'
  if (before?.keyword.endsWith('tems')) return 'is one item too many'
  return 'is not allowed here'
}

const parentOf = (location: string): string => location.slice(0, location.lastIndexOf('/'))

/** The validator names places as URI fragments. */
const pointerOf = (location: string): string => decodeFragment(location.slice(1))

/** Places whose value is still to come: items of lists and entries of maps without one. JSON has no word for them. */
export const gapsOf = (value: unknown, path: (string | number)[] = []): Problem[] => {
  if (value === undefined) return [{ pointer: toPointer(path), message: 'is required' }]
  if (Array.isArray(value)) return value.flatMap((item, i) => gapsOf(item, [...path, i]))
  if (isObject(value)) return Object.entries(value).flatMap(([key, inner]) => gapsOf(inner, [...path, key]))
  return []
}
