import { useEffect, useState } from 'preact/hooks'
import { isNumber } from '../model/json.ts'
import { parseNumber } from '../model/number-text.ts'
import { useActions, useForm } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { placeholder } from './text.tsx'

/** A number as text: what is typed stays as it is, also while it is no number yet. */
export const NumberInput = ({ view, value, pointer, attributes, put }: ControlProps) => {
  const { setDraft } = useActions()
  const { epoch } = useForm()
  const [draft, note] = useState({ text: '', value: undefined as unknown, epoch: -1 })
  const isMine = draft.epoch === epoch && Object.is(draft.value, value)
  const text = isMine ? draft.text : isNumber(value) ? String(value) : ''
  const problem = text.trim() === '' ? undefined : parseNumber(text).problem
  useEffect(() => {
    setDraft(pointer, problem)
    return () => setDraft(pointer, undefined)
  }, [pointer, problem])
  const type = (typed: string): void => {
    const parsed = typed.trim() === '' ? { value: undefined, problem: undefined } : parseNumber(typed)
    const now = parsed.problem === undefined ? parsed.value : value
    note({ text: typed, value: now, epoch })
    if (!Object.is(now, value)) put(now)
  }
  return (
    <input
      type="text"
      inputMode={view.kind === 'number' && view.integer ? 'numeric' : 'decimal'}
      class="number"
      autocomplete="off"
      {...attributes}
      placeholder={placeholder(view.flat.keywords, value)}
      value={text}
      onInput={event => type(event.currentTarget.value)}
    />
  )
}
