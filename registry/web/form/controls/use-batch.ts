import { useState } from 'preact/hooks'
import { parsePointer } from '../model/json.ts'
import { isWithin, useForm } from '../shared/context.ts'

/**
 * How many parts of a group are drawn, which come after `before` others of it: more when they are asked for, and as far as a
 * place that somebody is led to. `placeOf` says which of them one is in; -1: in none.
 */
export const useBatch = (pointer: string, batch: number, placeOf: (step: string) => number, before = 0) => {
  const { folds, revealed, epoch } = useForm()
  const start = folds.shownOf(pointer)
  const first = start === undefined ? batch : Math.max(0, start - before)
  const far = (): number =>
    isWithin(revealed.pointer, pointer) ? placeOf(parsePointer(revealed.pointer.slice(pointer.length))[0]!) + 1 : 0
  const [state, setState] = useState(() => ({ epoch, most: Math.max(first, far()), seen: revealed.count }))
  let { most } = state
  if (state.epoch !== epoch || state.seen !== revealed.count) {
    most = Math.max(state.epoch === epoch ? most : first, far())
    setState({ epoch, most, seen: revealed.count })
  }
  const atLeast = (count: number): void => setState({ ...state, most: Math.max(most, count) })
  return { most, next: batch, more: () => atLeast(most + batch), atLeast }
}
