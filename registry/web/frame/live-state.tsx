import { dataAgeMs, type LiveState as State, state, turn } from '../live/shown.ts'
import { isPaused } from '../live/stream.ts'
import { ago } from '../text/figures.ts'

const texts: Record<State, string> = {
  connecting: 'Connecting',
  live: 'Live',
  paused: 'Frozen',
  hidden: 'Frozen while hidden',
  lost: 'Connection lost',
  blind: 'Redis unreachable',
}

/** Whether what is shown is of now, how old it is, and the switch that stops it. */
export const LiveState = () => (
  <div class="live" data-state={state.value}>
    <span class="live-dot" aria-hidden="true" />
    <span role="status">{texts[state.value]}</span>
    <DataAge />
    <button
      type="button"
      class="small"
      title="Freezes this page only; queues and workers keep running"
      onClick={() => (isPaused.value = !isPaused.value)}
    >
      {isPaused.value ? 'Resume page' : 'Freeze page'}
    </button>
  </div>
)

/** By Redis' clock; not inside the status, which would be read aloud every second. */
const DataAge = () => {
  turn.value
  const ageMs = dataAgeMs()
  if (ageMs === undefined) return null
  return (
    <span class="live-age quiet" title="Age of the figures">
      {ageMs < 2500 ? 'now' : ago(ageMs)}
    </span>
  )
}
