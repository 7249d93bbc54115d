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

/** Absent, null and given are three different things; an empty text is given. */
export const FieldState = ({ view, value, pointer, label, required, isOpened, put, leaveOut, given }: StateProps) => {
  const isNull = value === null && view.nullable
  const mayMiss = !required || (value === undefined && view.kind !== 'choice' && view.kind !== 'any')
  if (!mayMiss && !view.nullable) return null
  const now = isNull ? 'null' : value === undefined && !(isOpened && !required) ? 'absent' : 'given'
  const change = (list: HTMLSelectElement): void => {
    const next = list.value
    const initial = next === 'given' ? given() : null
    if (next === 'absent') leaveOut()
    else if (initial !== undefined || view.kind === 'choice') put(initial)
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
      {(mayMiss || value === undefined) && <option value="absent">not given</option>}
      {view.nullable && <option value="null">null</option>}
      <option value="given">given</option>
    </select>
  )
}
