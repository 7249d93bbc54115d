import type { Refs } from '../../../schema/refs.ts'
import { getIn, ownText, parsePointer } from './json.ts'
import { isGroupView, openingOf, statesOf } from './opening.ts'
import { type Part, partsOf, pointerOf } from './parts.ts'
import { startsTall, type View, viewOf } from './view.ts'

/** What of a form is folded at first: a large value would fill dozens of screens. */
export interface Folds {
  startsFolded(pointer: string): boolean
  /** How many fields of a group are shown before more are asked for; undefined: as many as of any. */
  shownOf(pointer: string): number | undefined
}

/** Height, and how often Tab is pressed from one end to the other: about what a field takes of both. */
interface Cost {
  px: number
  stops: number
}

/** What is drawn without being asked for: four screens of a desk, and room for the rest of the page. */
const budget: Cost = { px: 3_600, stops: 170 }
/** Of a group that is not folded at least these fields are shown. */
const leastShown = 8

const px = { field: 82, item: 45, group: 46, line: 20, lines: 40 } as const
/** What a list or an object has at its end, to add more. */
const ends: Cost = { px: 46, stops: 2 }
const charactersOfLine = 60
const stopsOf = { field: 0, item: 4, entry: 2 } as const

/**
 * Opens groups from the outside inwards while there is room, the items of one list all or none: what looks alike is folded
 * alike. What somebody adds later is open.
 */
export const foldsOf = (schema: unknown, value: unknown, refs: Refs): Folds => {
  const opened = new Map<string, number>()
  const left = { ...budget }
  let isWhole = true
  const whole: Part = { schema, value, path: [], required: true, role: 'field' }
  const waiting: (readonly Part[])[] = [[whole]]
  for (const alike of waiting) {
    const inside = alike.map(part => partsOf(part, refs))
    const costs = inside.flat().map(part => costOf(part, refs))
    left.px -= ends.px * alike.length
    left.stops -= ends.stops * alike.length
    const fitting = fittingOf(costs, left)
    const isCut = fitting < costs.length
    if (isCut) isWhole = false
    const first = alike[0] === whole ? Math.max(fitting, leastShown) : fitting
    // Of one group alone the first fields are shown, when they are enough to be of use.
    if (isCut && (alike.length > 1 || first < leastShown)) continue
    for (const cost of costs.slice(0, first)) {
      left.px -= cost.px
      left.stops -= cost.stops
    }
    for (const [i, part] of alike.entries()) {
      const parts = inside[i]!.slice(0, isCut ? first : undefined)
      opened.set(pointerOf(part), isCut ? first : Number.POSITIVE_INFINITY)
      waiting.push(...setsOf(parts.filter(one => isGroupView(viewOf(one.schema, refs)))))
    }
  }
  return {
    startsFolded: pointer => !isWhole && !opened.has(pointer) && getIn(value, parsePointer(pointer)) !== undefined,
    shownOf: pointer => {
      const shown = opened.get(pointer)
      return shown === Number.POSITIVE_INFINITY ? undefined : shown
    },
  }
}

/** Fields are opened one by one, items and entries together. */
const setsOf = (parts: readonly Part[]): (readonly Part[])[] => {
  const others = parts.filter(one => one.role !== 'field')
  return [...parts.filter(one => one.role === 'field').map(one => [one]), ...(others.length ? [others] : [])]
}

const fittingOf = (costs: readonly Cost[], left: Cost): number => {
  const sum = { px: 0, stops: 0 }
  const over = costs.findIndex(cost => {
    sum.px += cost.px
    sum.stops += cost.stops
    return sum.px > left.px || sum.stops > left.stops
  })
  return over < 0 ? costs.length : over
}

const costOf = (part: Part, refs: Refs): Cost => {
  const { schema, value, path, required, role } = part
  const view = viewOf(schema, refs)
  const isGroup = isGroupView(view)
  const opening = openingOf(view, { value, depth: path.length, required, isAsked: false })
  if (opening.isSealed) return { px: px.group, stops: 0 }
  const { offered } = statesOf(view, { value, required, isOpened: opening.isOpened })
  const about = Math.ceil((ownText(view.flat.keywords, 'description')?.length ?? 0) / charactersOfLine) * px.line
  const stops = stopsOf[role] + (offered.length ? 1 : 0)
  if (!isGroup) {
    const isLow = role === 'item' && view.kind !== 'never'
    return { px: (isLow ? px.item : px.field) + about + moreOf(view), stops: stops + (hasTwo(view) ? 2 : 1) }
  }
  const chooses = !opening.isClosed && (view.kind === 'choice' || view.kind === 'any') ? 1 : 0
  return { px: px.group + about + chooses * px.lines, stops: stops + 1 + chooses }
}

const moreOf = (view: View): number =>
  view.kind === 'text' && view.text === 'lines' && startsTall(view) ? px.lines : 0

const twofold = new Set(['date', 'time', 'date-time'])
const hasTwo = (view: View): boolean =>
  view.kind === 'text' && (view.text === 'secret' || twofold.has(view.format ?? ''))
