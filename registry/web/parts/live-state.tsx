import { isPaused, state } from '../live.ts'

const texts = {
  connecting: 'Connecting',
  live: 'Live',
  paused: 'Paused',
  lost: 'Connection lost',
  blind: 'Redis away',
} as const

/** Whether what is shown is of now, and the switch that stops it. */
export const LiveState = () => (
  <div class="live" data-state={state.value}>
    <span role="status">{texts[state.value]}</span>
    <button type="button" aria-pressed={isPaused.value} onClick={() => (isPaused.value = !isPaused.value)}>
      {isPaused.value ? 'Go on' : 'Pause'}
    </button>
  </div>
)
