import { dataAgeMs, problem, state, turn } from '../live/shown.ts'
import { reconnect } from '../live/stream.ts'
import { ago } from '../text/figures.ts'
import { printable } from '../text/printable.ts'

/** What is wrong while nothing new comes. */
export const ConnectionBanner = () => {
  const { value } = state
  if (value !== 'lost' && value !== 'blind') return null
  return (
    <div class="banner" role="alert">
      <strong>{value === 'lost' ? 'Connection lost.' : 'The registry cannot be read.'}</strong>{' '}
      <span class="wrap">{printable(problem.value)}</span> <ShownSince /> It reconnects by itself.
      {value === 'lost' && (
        <button type="button" class="small" onClick={reconnect}>
          Try now
        </button>
      )}
    </div>
  )
}

const ShownSince = () => {
  turn.value
  const ageMs = dataAgeMs()
  if (ageMs === undefined) return null
  return <span aria-live="off">Last update: {ageMs < 1500 ? 'just now' : ago(ageMs)}.</span>
}
