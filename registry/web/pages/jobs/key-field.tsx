import { useLocation } from 'preact-iso'
import { keyPath } from '../../address/paths.ts'
import type { QueryState } from '../../address/use-query.ts'
import { tasks } from '../../live/shown.ts'
import type { JobsView } from '../../rows/jobs.ts'

/** Filters by key, and leads to the page of one, which is that of a task; shown where jobs have keys. */
export const KeyField = ({ state, view: { queue, task, key } }: { state: QueryState; view: JobsView }) => {
  const { route } = useLocation()
  const keyed = [...(tasks.value?.values() ?? [])].filter(row => row.keyed !== undefined).map(row => row.task)
  if (keyed.length === 0 && key === '') return null
  const of = task !== '' ? task : keyed.length === 1 ? keyed[0] : undefined
  const missing = key === '' ? 'Enter the key first.' : of === undefined ? 'Choose its task first.' : undefined
  return (
    <form
      class="field"
      onSubmit={event => {
        event.preventDefault()
        if (of !== undefined && key !== '') route(keyPath({ task: of, key, ...(queue === '' ? {} : { queue }) }))
      }}
    >
      <label class="field">
        <span>Key</span>
        <input
          size={14}
          autocomplete="off"
          spellcheck={false}
          placeholder="order-17"
          value={key}
          onInput={event => state.change({ key: event.currentTarget.value }, true)}
        />
      </label>
      <button type="submit" class="small" aria-disabled={missing !== undefined} title={missing}>
        Go to the key
      </button>
    </form>
  )
}
