import { own } from './json.ts'
import type { View } from './view.ts'

/** Required parts within required parts are opened without being asked down to here. */
const maxOpened = 8

const groups = new Set(['object', 'array', 'choice', 'any'])

/** Drawn as a frame around parts of its own. */
export const isGroupView = (view: View): boolean => groups.has(view.kind)

export interface Place {
  readonly value: unknown
  /** How many steps it is away from the whole. */
  readonly depth: number
  readonly required: boolean
  /** Somebody asked for it, and its value is still to come. */
  readonly isAsked: boolean
}

export interface Opening {
  /** Nobody may give it here, and there is nothing to show. */
  readonly isSealed: boolean
  /** Its control is not shown. */
  readonly isClosed: boolean
  readonly isOpened: boolean
}

/** Whether a field shows its control. A group that may be absent opens when asked to. */
export const openingOf = (view: View, { value, depth, required, isAsked }: Place): Opening => {
  const isSealed = own(view.flat.keywords, 'readOnly') === true && !required && value === undefined
  const isShut = isGroupView(view) && value === undefined && !isAsked && (!required || depth > maxOpened)
  const isClosed = isSealed || isShut
  return { isSealed, isClosed, isOpened: isAsked || (isGroupView(view) && !isClosed) }
}

export type State = 'absent' | 'null' | 'given'

/** Absent, null and given are three different things; an empty text is given. `offered` is empty where there is no choice. */
export const statesOf = (
  view: View,
  { value, required, isOpened }: { value: unknown; required: boolean; isOpened: boolean },
): { now: State; offered: readonly State[] } => {
  const isNull = value === null && view.nullable
  const now = isNull ? 'null' : value === undefined && !(isOpened && !required) ? 'absent' : 'given'
  const mayMiss = !required || (value === undefined && view.kind !== 'choice' && view.kind !== 'any')
  if (!mayMiss && !view.nullable) return { now, offered: [] }
  const offered: State[] = mayMiss || value === undefined ? ['absent'] : []
  if (view.nullable) offered.push('null')
  return { now, offered: [...offered, 'given'] }
}

/** What comes of choosing a state; `stays`: which value is meant has to be said at the control itself. */
export const afterState = (view: View, next: State, given: () => unknown): { value: unknown } | 'leaves' | 'stays' => {
  if (next === 'absent') return 'leaves'
  const value = next === 'given' ? given() : null
  return value !== undefined || view.kind === 'choice' ? { value } : 'stays'
}

/** A kind was chosen and its value is still to come: its place is kept. */
export const isToCome = (view: View, next: unknown): boolean =>
  next === undefined && (view.kind === 'choice' || view.kind === 'any')
