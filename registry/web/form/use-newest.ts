import { useRef } from 'preact/hooks'
import { equal } from './model/json.ts'

/** The newest value, and how many came from outside. */
export const useNewest = (value: unknown, onChange: (value: unknown) => void) => {
  // Two changes may come between two drawings, so each starts from the newest value and not from the drawn one.
  const newest = useRef({ value, drawn: value, epoch: 0 })
  if (value !== newest.current.drawn) {
    const isOwn = value === newest.current.value || equal(value, newest.current.value)
    newest.current = { value, drawn: value, epoch: newest.current.epoch + (isOwn ? 0 : 1) }
  }
  const latest = useRef({ onChange })
  latest.current = { onChange }
  const change = (next: unknown): void => {
    newest.current = { ...newest.current, value: next }
    latest.current.onChange(next)
  }
  return { newest, change }
}
