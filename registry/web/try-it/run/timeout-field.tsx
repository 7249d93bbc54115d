import { useId } from 'preact/hooks'

export interface TimeoutChoice {
  text: string
  unit: 'ms' | 's'
}

const unitMs = { ms: 1, s: 1000 } as const
/** Longer than this the gateway does not wait. */
const mostMs = 600_000

/** Milliseconds; undefined for the task's own; a message when it is neither. */
export const timeoutOf = ({ text, unit }: TimeoutChoice): { timeoutMs: number | undefined } | { wrong: string } => {
  if (text.trim() === '') return { timeoutMs: undefined }
  const number = Number(text.replace(',', '.'))
  const timeoutMs = Math.round(number * unitMs[unit])
  if (!Number.isFinite(number)) return { wrong: 'This is not a number.' }
  if (timeoutMs < 1) return { wrong: 'It must be at least 1 ms.' }
  return timeoutMs > mostMs ? { wrong: 'It must be at most 10 minutes.' } : { timeoutMs }
}

interface TimeoutFieldProps {
  choice: TimeoutChoice
  defaultMs: number
  onChoose(choice: TimeoutChoice): void
}

/** How long to wait; empty is the task's own time. */
export const TimeoutField = ({ choice, defaultMs, onChoose }: TimeoutFieldProps) => {
  const own = useId()
  const checked = timeoutOf(choice)
  const wrong = 'wrong' in checked ? checked.wrong : undefined
  return (
    <div class="timeout">
      <label for={own}>Timeout</label>
      <input
        id={own}
        inputMode="decimal"
        autocomplete="off"
        size={7}
        value={choice.text}
        placeholder={String(defaultMs / unitMs[choice.unit])}
        aria-invalid={wrong !== undefined}
        aria-describedby={`${own}-wrong`}
        onInput={event => onChoose({ ...choice, text: event.currentTarget.value })}
      />
      <select
        aria-label="Unit of the timeout"
        value={choice.unit}
        onChange={event => onChoose({ ...choice, unit: event.currentTarget.value as TimeoutChoice['unit'] })}
      >
        <option value="ms">ms</option>
        <option value="s">s</option>
      </select>
      <span id={`${own}-wrong`} class="text-problem" aria-live="polite">
        {wrong}
      </span>
    </div>
  )
}
