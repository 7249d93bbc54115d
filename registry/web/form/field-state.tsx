import { afterState, type State, statesOf } from './model/opening.ts'
import type { View } from './model/view.ts'

interface StateProps {
  view: View
  value: unknown
  pointer: string
  label: string
  required: boolean
  isOpened: boolean
  put(value: unknown): void
  leaveOut(): void
  given(): unknown
}

export const FieldState = ({ view, value, pointer, label, required, isOpened, put, leaveOut, given }: StateProps) => {
  const { now, offered } = statesOf(view, { value, required, isOpened })
  if (offered.length === 0) return null
  const change = (list: HTMLSelectElement): void => {
    const after = afterState(view, list.value as State, given)
    if (after === 'leaves') leaveOut()
    else if (after !== 'stays') put(after.value)
    else {
      // A number or one of several values: which one has to be said at the control itself.
      list.value = now
      list.closest('.field')?.querySelector<HTMLElement>('[data-pointer]')?.focus()
    }
  }
  return (
    <select
      class="state"
      data-state={pointer}
      data-now={now}
      aria-label={`${label}: given or not`}
      value={now}
      onChange={event => change(event.currentTarget)}
    >
      {offered.map(state => (
        <option key={state} value={state}>
          {state === 'absent' ? 'not given' : state}
        </option>
      ))}
    </select>
  )
}
