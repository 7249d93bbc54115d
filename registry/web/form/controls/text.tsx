import { useState } from 'preact/hooks'
import { inZone, momentOf, zoneName } from '../../text/zone.ts'
import { ownArray, ownText } from '../model/json.ts'
import { startsTall, type TextKind, type View } from '../model/view.ts'
import { useActions } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { quoted } from '../shared/focus.ts'

const pickers: Record<string, 'date' | 'time' | 'datetime-local' | undefined> = {
  date: 'date',
  time: 'time',
  'date-time': 'datetime-local',
}

const inputModes: Record<string, 'email' | 'url' | undefined> = { email: 'email', uri: 'url', 'uri-reference': 'url' }

export const TextInput = ({
  view,
  value,
  pointer,
  label,
  attributes,
  put,
  text,
}: ControlProps & { text: TextKind }) => {
  const { focusNext } = useActions()
  const shown = typeof value === 'string' ? value : ''
  const [isLong, setLong] = useState(text === 'lines')
  // A line field would drop the breaks of a text that came with them. Once there, lines stay: nothing jumps.
  if (!isLong && /[\r\n]/.test(shown)) setLong(true)
  const format = ownText(view.flat.keywords, 'format') ?? ''
  const shared = {
    ...attributes,
    value: shown,
    placeholder: placeholder(view.flat.keywords, value),
    spellcheck: false,
    autocomplete: 'off',
    onInput: (event: { currentTarget: { value: string } }) => put(event.currentTarget.value),
    onPaste: (event: ClipboardEvent) => {
      const whole = isLong ? undefined : withLines(event)
      if (whole === undefined) return
      put(whole)
      // Lines are another element.
      focusNext(`[data-pointer=${quoted(pointer)}]`)
    },
  }
  if (text === 'secret') return <Secret shared={shared} label={label} isLong={isLong} rows={rowsOf(view, shown)} />
  if (isLong) return <textarea {...shared} rows={rowsOf(view, shown)} />
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
      <span class="quiet zone-note">{zoneNote(format, shown)}</span>
    </span>
  )
}

/** What a line field is to hold after a text with line breaks was pasted, which it would drop; breaks at its ends are none. */
const withLines = (event: ClipboardEvent): string | undefined => {
  const pasted = event.clipboardData?.getData('text/plain').replace(/\r\n?/g, '\n') ?? ''
  if (!pasted.trim().includes('\n')) return undefined
  event.preventDefault()
  const { value, selectionStart, selectionEnd } = event.currentTarget as HTMLInputElement
  return value.slice(0, selectionStart ?? value.length) + pasted + value.slice(selectionEnd ?? value.length)
}

const rowsOf = (view: View, shown: string): number =>
  Math.min(12, Math.max(startsTall(view) ? 3 : 1, shown.split('\n').length))

interface SecretProps {
  shared: object
  label: string
  /** A key in a file's form, for example, which is many lines. */
  isLong: boolean
  rows: number
}

const Secret = ({ shared, label, isLong, rows }: SecretProps) => {
  const [isShown, setShown] = useState(false)
  return (
    <span class="with-picker">
      {isLong ? (
        <textarea {...shared} rows={rows} class={isShown ? undefined : 'veiled'} />
      ) : (
        <input type={(isShown ? 'text' : 'password') as 'password'} {...shared} autocomplete="new-password" />
      )}
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
  return ['string', 'number', 'bigint'].includes(typeof example) ? `e.g. ${example}` : ''
}

/** The picker knows no zones: what is picked, and what is shown in it, is the time in the chosen one. */
const fromPicker = (format: string, picked: string): string => {
  if (format === 'date' || picked === '') return picked
  const full = picked.length === (format === 'time' ? 5 : 16) ? `${picked}:00` : picked
  return format === 'time' ? `${full}Z` : `${new Date(momentOf(full)).toISOString().slice(0, 19)}Z`
}

const pickerValue = (format: string, text: string): string => {
  if (format === 'date') return text
  if (format === 'time') return /^\d\d:\d\d(:\d\d)?/.exec(text)?.[0] ?? ''
  const atMs = new Date(text).getTime()
  return Number.isNaN(atMs) ? '' : inZone(atMs).toISOString().slice(0, 19)
}

/** What the picker means, for who picks: a date has no zone, a time is one of UTC. */
const zoneNote = (format: string, text: string): string => {
  if (format === 'date') return ''
  if (format === 'time') return 'picked in UTC'
  const picked = pickerValue(format, text).replace('T', ' ')
  return picked === '' ? `picked in ${zoneName()}` : `${picked} in ${zoneName()}`
}
