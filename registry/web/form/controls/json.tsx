import { useEffect, useState } from 'preact/hooks'
import { parseJson } from '../model/json-text.ts'
import { useActions, useForm } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'

/** The value's JSON, for what no other control can show. */
export const JsonInput = ({ value, pointer, attributes, put }: ControlProps) => {
  const { setDraft } = useActions()
  const { epoch } = useForm()
  const [draft, note] = useState({ text: '', value: undefined as unknown, epoch: -1 })
  const isMine = draft.epoch === epoch && draft.value === value
  const text = isMine ? draft.text : (JSON.stringify(value, undefined, 2) ?? '')
  const problem = text === '' ? undefined : parseJson(text).problem
  useEffect(() => {
    setDraft(pointer, problem)
    return () => setDraft(pointer, undefined)
  }, [pointer, problem])
  const type = (typed: string): void => {
    const parsed = typed.trim() === '' ? { value: undefined } : parseJson(typed)
    const now = parsed.problem === undefined ? parsed.value : value
    note({ text: typed, value: now, epoch })
    if (parsed.problem === undefined) put(now)
  }
  return (
    <textarea
      class="json"
      spellcheck={false}
      rows={Math.min(12, text.split('\n').length)}
      {...attributes}
      value={text}
      onInput={event => type(event.currentTarget.value)}
    />
  )
}
