import { useId } from 'preact/hooks'
import type { TaskRow, WorkerRow } from '../../../contract.ts'
import { workers } from '../../live/shown.ts'
import { printable } from '../../text/printable.ts'
import { type CallChoices, newTraceparent, wrongChoices } from './call-choices.ts'

interface CallFieldsProps {
  queues: TaskRow['queues']
  task: string
  choices: CallChoices
  onChange(changes: Partial<CallChoices>): void
}

/** Where a call goes and what goes with it, folded away: a call needs none of it. */
export const CallFields = ({ queues, task, choices, onChange }: CallFieldsProps) => {
  const own = useId()
  const wrong = wrongChoices(choices)
  return (
    <details class="fold">
      <summary>Call options</summary>
      <div class="job-fields">
        <div class="job-field">
          <label for={`${own}-queue`}>Queue</label>
          <select
            id={`${own}-queue`}
            value={choices.queue ?? ''}
            aria-describedby={`${own}-about`}
            onChange={event => onChange({ queue: event.currentTarget.value || undefined })}
          >
            <option value="">first queue of the task</option>
            {queues.map(({ queue }) => (
              <option key={queue} value={queue}>
                {printable(queue)}: {whoServes(queue, task)}
              </option>
            ))}
          </select>
        </div>
        <div class="job-field trace">
          <label for={`${own}-trace`}>traceparent</label>
          <span class="job-field-pair">
            <input
              id={`${own}-trace`}
              class="mono"
              size={30}
              autocomplete="off"
              spellcheck={false}
              placeholder="none"
              value={choices.traceparent}
              aria-invalid={wrong !== undefined}
              aria-describedby={`${own}-wrong`}
              onInput={event => onChange({ traceparent: event.currentTarget.value.trim() })}
            />
            <button type="button" class="small" onClick={() => onChange({ traceparent: newTraceparent() })}>
              New trace
            </button>
          </span>
        </div>
        <div class="job-field">
          <label for={`${own}-state`}>tracestate</label>
          <input
            id={`${own}-state`}
            class="mono"
            size={16}
            autocomplete="off"
            spellcheck={false}
            placeholder="none"
            value={choices.tracestate}
            aria-describedby={`${own}-wrong`}
            onInput={event => onChange({ tracestate: event.currentTarget.value.trim() })}
          />
        </div>
      </div>
      <p id={`${own}-wrong`} class="text-problem" aria-live="polite">
        {wrong}
      </p>
      <p id={`${own}-about`} class="quiet job-fields-note">
        Any idle worker of the queue runs the call. To choose one worker, choose a queue that only it serves.
      </p>
    </details>
  )
}

const whoServes = (queue: string, task: string): string => {
  const serving = [...(workers.value?.values() ?? [])].filter(row => row.queue === queue && hasTask(row, task))
  const [one] = serving
  if (!one) return 'no live worker'
  return serving.length === 1 ? `${printable(one.host)} pid ${one.pid} alone` : `${serving.length} workers`
}

const hasTask = ({ tasks }: WorkerRow, task: string): boolean => Object.hasOwn(tasks, task)
