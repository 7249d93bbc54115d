import { useEffect, useState } from 'preact/hooks'

/** The time that a run has been waited for, and the way out. */
export const Waiting = ({ startedMs, onCancel }: { startedMs: number; onCancel(): void }) => {
  const [nowMs, setNowMs] = useState(() => performance.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(performance.now()), 100)
    return () => clearInterval(timer)
  }, [])
  return (
    <div class="waiting">
      <span class="spinner" aria-hidden="true" />
      <span role="timer" aria-live="off">
        Waiting {(Math.max(0, nowMs - startedMs) / 1000).toFixed(1)} s
      </span>
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
    </div>
  )
}
