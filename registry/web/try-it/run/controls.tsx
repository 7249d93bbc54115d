import { refusal } from '../../session/access.ts'
import { type TimeoutChoice, TimeoutField } from './timeout-field.tsx'
import { Waiting } from './waiting.tsx'

interface ControlsProps {
  /** False: it can only be enqueued. */
  canRun: boolean
  timeout: TimeoutChoice
  defaultMs: number
  onTimeout(choice: TimeoutChoice): void
  startedMs: number | undefined
  onRun(): void
  isEnqueuing: boolean
  onEnqueue(): void
  onCancel(): void
  onShare(): void
}

/** How long to wait, run, and the way out while it is waited for. */
export const RunControls = ({ timeout, defaultMs, onTimeout, startedMs, onRun, ...props }: ControlsProps) => {
  const { canRun, isEnqueuing, onEnqueue, onCancel, onShare } = props
  const refused = refusal('run')
  const isRunning = startedMs !== undefined
  return (
    <div class="run-controls">
      {canRun && (
        <button
          type="button"
          class="main run"
          aria-disabled={refused !== undefined || isRunning}
          aria-describedby="run-refused"
          onClick={onRun}
        >
          Run{' '}
          <span class="key" aria-hidden="true">
            Ctrl ⏎
          </span>
        </button>
      )}
      <button
        type="button"
        class={canRun ? undefined : 'main run'}
        aria-disabled={refused !== undefined || isEnqueuing}
        aria-describedby="run-refused"
        title="As a job, in the background"
        onClick={() => !isEnqueuing && onEnqueue()}
      >
        Enqueue{' '}
        {!canRun && (
          <span class="key" aria-hidden="true">
            Ctrl ⏎
          </span>
        )}
      </button>
      {canRun && <TimeoutField choice={timeout} defaultMs={defaultMs} onChoose={onTimeout} />}
      <button type="button" onClick={onShare}>
        Share link
      </button>
      {isRunning && <Waiting startedMs={startedMs} onCancel={onCancel} />}
      <p id="run-refused" class="refused" hidden={refused === undefined}>
        {refused}
      </p>
    </div>
  )
}
