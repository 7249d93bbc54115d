import { useState } from 'preact/hooks'
import { isObject, type Path } from './model/json.ts'
import type { View } from './model/view.ts'
import { isWithin, useForm } from './shared/context.ts'

/** Whether a group is folded, and what folds and unfolds it. What is somebody's to be led to is unfolded. */
export const useFold = (view: View, value: unknown, path: Path, pointer: string, isClosed: boolean) => {
  const { folds, epoch, revealed } = useForm()
  const start = () => !isWithin(revealed.pointer, pointer) && folds.startsFolded(pointer)
  const [state, setState] = useState(() => ({ epoch, seen: revealed.count, isFolded: start(), wasDrawn: false }))
  let { isFolded } = state
  if (state.epoch !== epoch || state.seen !== revealed.count) {
    if (state.epoch !== epoch) isFolded = start()
    else if (isWithin(revealed.pointer, pointer)) isFolded = false
    setState({ epoch, seen: revealed.count, isFolded, wasDrawn: state.wasDrawn })
  }
  const mayFold = path.length > 0 && !isClosed && hasParts(view, value)
  const isDrawn = !mayFold || !isFolded || state.wasDrawn
  return {
    mayFold,
    isFolded: mayFold && isFolded,
    /** Once drawn it stays, hidden: a text in it that is no value yet is not lost. */
    isDrawn,
    toggle: () => setState({ epoch, seen: revealed.count, isFolded: !isFolded, wasDrawn: true }),
  }
}

const hasParts = (view: View, value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : isObject(value) || view.kind === 'object'
