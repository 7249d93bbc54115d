import { dataAgeMs, type LiveState as State, state, turn } from '../live/shown.ts'
import { isPaused } from '../live/stream.ts'
import { ago } from '../text/figures.ts'

const texts: Record<State, string> = {
  connecting: 'Connecting',
  live: 'Live',
  paused: 'Frozen',
  hidden: 'Frozen while hidden',
  lost: 'Connection lost',
  blind: 'Redis away',
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
      title="Stops what this page shows; queues and workers go on"
      onClick={() => (isPaused.value = !isPaused.value)}
    >
      {isPaused.value ? 'Go on' : 'Freeze page'}
    </button>
  </div>
)

/** By Redis' clock; not inside the status, which would be read aloud every second. */
const DataAge = () => {
  turn.value
  const ageMs = dataAgeMs()
  if (ageMs === undefined) return null
  return (
    <span class="live-age quiet" title="Age of what is shown">
      {ageMs < 2500 ? 'now' : ago(ageMs)}
    </span>
  )
}
