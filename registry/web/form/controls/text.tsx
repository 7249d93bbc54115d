import { useState } from 'preact/hooks'
import { ownArray, ownNumber, ownText } from '../model/json.ts'
import type { TextKind } from '../model/view.ts'
import type { ControlProps } from '../shared/control-props.ts'

const pickers: Record<string, 'date' | 'time' | 'datetime-local' | undefined> = {
  date: 'date',
  time: 'time',
  'date-time': 'datetime-local',
}

const inputModes: Record<string, 'email' | 'url' | undefined> = { email: 'email', uri: 'url', 'uri-reference': 'url' }

export const TextInput = ({ view, value, label, attributes, put, text }: ControlProps & { text: TextKind }) => {
  const shown = typeof value === 'string' ? value : ''
  const [isLong, setLong] = useState(text === 'lines')
  // A line field would drop the breaks of a text that came with them. Once there, lines stay: nothing jumps.
  if (!isLong && text !== 'secret' && /[\r\n]/.test(shown)) setLong(true)
  const format = ownText(view.flat.keywords, 'format') ?? ''
  const shared = {
    ...attributes,
    value: shown,
    placeholder: placeholder(view.flat.keywords, value),
    spellcheck: false,
    autocomplete: 'off',
    onInput: (event: { currentTarget: { value: string } }) => put(event.currentTarget.value),
  }
  if (text === 'secret') return <Secret shared={shared} label={label} />
  if (isLong) return <textarea {...shared} rows={rowsOf(view.flat.keywords, shown)} />
  const picker = Object.hasOwn(pickers, format) ? pickers[format] : undefined
  const mode = Object.hasOwn(inputModes, format) ? inputModes[format] : undefined
  if (!picker) return <input type="text" inputMode={mode} {...shared} />
  return (
    <span class="with-picker">
      <input type="text" {...shared} />
      <input
        type={picker}
        class="picker"
        step={format === 'date' ? undefined : 1}
        aria-label={`Pick: ${label}`}
        value={pickerValue(format, shown)}
        onChange={event => put(fromPicker(format, event.currentTarget.value))}
      />
    </span>
  )
}

/** What may be short starts as one line and grows. */
const rowsOf = (keywords: object, shown: string): number => {
  const isShort =
    (ownNumber(keywords, 'maxLength') ?? 1_000) <= 500 && ownText(keywords, 'contentMediaType') === undefined
  return Math.min(12, Math.max(isShort ? 1 : 3, shown.split('\n').length))
}

const Secret = ({ shared, label }: { shared: object; label: string }) => {
  const [isShown, setShown] = useState(false)
  return (
    <span class="with-picker">
      <input type={(isShown ? 'text' : 'password') as 'password'} {...shared} autocomplete="new-password" />
      <button
        type="button"
        class="small"
        aria-pressed={isShown}
        aria-label={`Show ${label}`}
        onClick={() => setShown(!isShown)}
      >
        {isShown ? 'Hide' : 'Show'}
      </button>
    </span>
  )
}

export const placeholder = (keywords: object, value: unknown): string => {
  if (value !== undefined) return ''
  const example = ownArray(keywords, 'examples')?.[0]
  return typeof example === 'string' || typeof example === 'number' ? `e.g. ${example}` : ''
}

/** The picker knows no zones: what is picked is local time, what is shown in it the local time of the text. */
const fromPicker = (format: string, picked: string): string => {
  if (format === 'date' || picked === '') return picked
  const full = picked.length === (format === 'time' ? 5 : 16) ? `${picked}:00` : picked
  return format === 'time' ? `${full}Z` : `${new Date(full).toISOString().slice(0, 19)}Z`
}

const pickerValue = (format: string, text: string): string => {
  if (format === 'date') return text
  if (format === 'time') return /^\d\d:\d\d(:\d\d)?/.exec(text)?.[0] ?? ''
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) return ''
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
