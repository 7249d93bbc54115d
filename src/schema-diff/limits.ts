import type { Comparing } from './report.ts'
import { isSameValue } from './same.ts'
import { keyword, type Schema, shown } from './schema.ts'
import type { Kind } from './types.ts'

const numberOf = (schema: Schema, name: string): number | undefined => {
  const value = keyword(schema, name)
  return typeof value === 'number' ? value : undefined
}

/** Tells whether a limit moved; `sign` is 1 for a least value and -1 for a largest one. */
const moved = (
  to: Comparing,
  pointer: string,
  name: string,
  [before, after]: [number | undefined, number | undefined],
  sign: 1 | -1,
) => {
  if (before === after) return
  if (before === undefined) return to.tell(pointer, 'fewer', `${name} is now ${after}.`)
  if (after === undefined) return to.tell(pointer, 'more', `${name} was ${before}, is now unlimited.`)
  const isTighter = (after - before) * sign > 0
  to.tell(pointer, isTighter ? 'fewer' : 'more', `${name} was ${before}, is ${after}.`)
}

/** A bound of numbers: where it is, and whether it is itself left out. */
interface Bound {
  at: number
  isOpen: boolean
}

/** The tighter one of `minimum` and `exclusiveMinimum`, or of their opposites; for whole numbers never an open one. */
const boundOf = (schema: Schema, closed: string, open: string, sign: 1 | -1, isWhole: boolean): Bound | undefined => {
  const [at, beyond] = [numberOf(schema, closed), numberOf(schema, open)]
  const bound: Bound | undefined =
    beyond !== undefined && (at === undefined || (beyond - at) * sign >= 0)
      ? { at: beyond, isOpen: true }
      : at === undefined
        ? undefined
        : { at, isOpen: false }
  if (!bound || !isWhole) return bound
  const whole = sign === 1 ? Math.ceil(bound.at) : Math.floor(bound.at)
  return { at: bound.isOpen && whole === bound.at ? whole + sign : whole, isOpen: false }
}

const boundText = (bound: Bound | undefined): string =>
  bound === undefined ? 'unlimited' : `${bound.at}${bound.isOpen ? ' (itself left out)' : ''}`

const compareBound = (
  to: Comparing,
  pointer: string,
  name: string,
  before: Bound | undefined,
  after: Bound | undefined,
  sign: 1 | -1,
) => {
  if (before?.at === after?.at && before?.isOpen === after?.isOpen) return
  const distance = before && after ? (after.at - before.at) * sign : 0
  const isTighter = !before || (after !== undefined && (distance > 0 || (distance === 0 && after.isOpen)))
  to.tell(pointer, isTighter ? 'fewer' : 'more', `${name} was ${boundText(before)}, is ${boundText(after)}.`)
}

export const compareNumbers = (
  to: Comparing,
  pointer: string,
  before: Schema,
  after: Schema,
  common: ReadonlySet<Kind>,
) => {
  const isWhole = !common.has('fraction')
  const least = (schema: Schema) => boundOf(schema, 'minimum', 'exclusiveMinimum', 1, isWhole)
  const most = (schema: Schema) => boundOf(schema, 'maximum', 'exclusiveMaximum', -1, isWhole)
  compareBound(to, pointer, 'The smallest number', least(before), least(after), 1)
  compareBound(to, pointer, 'The largest number', most(before), most(after), -1)
  const [old, now] = [numberOf(before, 'multipleOf'), numberOf(after, 'multipleOf')]
  if (old === now) return
  if (old === undefined) return to.tell(pointer, 'fewer', `Must now be a multiple of ${now}.`)
  if (now === undefined) return to.tell(pointer, 'more', `Need not be a multiple of ${old} any more.`)
  const text = `Was a multiple of ${old}, is one of ${now}.`
  const areWhole = Number.isSafeInteger(old) && Number.isSafeInteger(now) && old > 0 && now > 0
  if (areWhole && old % now === 0) to.tell(pointer, 'more', text)
  else if (areWhole && now % old === 0) to.tell(pointer, 'fewer', text)
  else to.tell(pointer, 'unclear', text)
}

/** Formats that no validator refuses anything by. */
const hints = new Set(['password', 'binary', 'float', 'double'])

export const compareTexts = (to: Comparing, pointer: string, before: Schema, after: Schema) => {
  compareLengths(to, pointer, before, after, 'Length', 'minLength', 'maxLength')
  for (const name of ['pattern', 'format'] as const) {
    const [old, now] = [keyword(before, name), keyword(after, name)]
    if (isSameValue(old, now)) continue
    const isHint = (value: unknown) => value === undefined || (name === 'format' && hints.has(String(value)))
    const text = `The ${name} was ${old === undefined ? 'free' : shown(old)}, is ${now === undefined ? 'free' : shown(now)}.`
    if (isHint(old)) to.tell(pointer, isHint(now) ? 'docs' : 'fewer', text)
    else to.tell(pointer, isHint(now) ? 'more' : 'unclear', text)
  }
}

/** `minLength` and its like; absent, the least one is 0. */
export const compareLengths = (
  to: Comparing,
  pointer: string,
  before: Schema,
  after: Schema,
  what: string,
  least: string,
  most: string,
) => {
  const atLeast = (schema: Schema) => numberOf(schema, least) || undefined
  const atMost = (schema: Schema) => numberOf(schema, most)
  moved(to, pointer, `The least ${what.toLowerCase()}`, [atLeast(before), atLeast(after)], 1)
  moved(to, pointer, `The largest ${what.toLowerCase()}`, [atMost(before), atMost(after)], -1)
}
