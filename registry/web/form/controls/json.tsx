import { useEffect, useState } from 'preact/hooks'
import { parseJson, textOf } from '../../json/parse.ts'
import { useActions, useForm } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'

/** The value's JSON, for what no other control can show. */
export const JsonInput = ({ value, pointer, attributes, put }: ControlProps) => {
  const { setDraft } = useActions()
  const { epoch } = useForm()
  const [draft, note] = useState({ text: '', value: undefined as unknown, epoch: -1 })
  const isMine = draft.epoch === epoch && draft.value === value
  const text = isMine ? draft.text : textOf(value)
  const problem = text === '' ? undefined : problemOf(text)
  useEffect(() => {
    setDraft(pointer, problem)
    return () => setDraft(pointer, undefined)
  }, [pointer, problem])
  const type = (typed: string): void => {
    const parsed = typed.trim() === '' ? { ok: true as const, value: undefined } : parseJson(typed)
    const now = parsed.ok ? parsed.value : value
    note({ text: typed, value: now, epoch })
    if (parsed.ok) put(now)
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

const problemOf = (text: string): string | undefined => {
  const parsed = parseJson(text)
  return parsed.ok ? undefined : `is not used: line ${parsed.line}, column ${parsed.column}: ${parsed.message}`
}
