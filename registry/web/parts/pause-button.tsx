import { useState } from 'preact/hooks'
import type { QueueRow } from '../../contract.ts'
import { pausedSinceMs } from '../rows/queue-state.ts'
import { refusal } from '../session/access.ts'
import { type ApiFailure, post } from '../session/request.ts'
import { printable } from '../text/printable.ts'
import { Dialog } from './dialog.tsx'

/** Pauses a queue or goes on with it, after a question; says why where it may not be used. */
export const PauseButton = ({ row }: { row: QueueRow }) => {
  const [isAsking, setAsking] = useState(false)
  const isPaused = pausedSinceMs(row) !== undefined
  const reason = refusal('admin')
  return (
    <>
      <button
        type="button"
        class="small"
        aria-disabled={reason !== undefined}
        title={reason}
        aria-label={`${isPaused ? 'Resume' : 'Pause'} ${printable(row.queue)}${reason ? `: ${reason}` : ''}`}
        onClick={() => reason === undefined && setAsking(true)}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </button>
      {isAsking && <Question queue={row.queue} isPaused={isPaused} close={() => setAsking(false)} />}
    </>
  )
}

const Question = ({ queue, isPaused, close }: { queue: string; isPaused: boolean; close(): void }) => {
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [action] = useState(isPaused ? 'resume' : 'pause')
  const act = async () => {
    setBusy(true)
    setProblem(undefined)
    try {
      await post(`queues/${encodeURIComponent(queue)}/${action}`, {})
      close()
    } catch (error) {
      setProblem((error as ApiFailure).message)
      setBusy(false)
    }
  }
  const verb = action === 'pause' ? 'Pause' : 'Resume'
  return (
    <Dialog title={`${verb} ${printable(queue)}?`} onClose={close}>
      <p>
        {action === 'pause'
          ? 'Its workers finish what they have and take nothing new. Calls wait until their deadlines; jobs wait until it is resumed.'
          : 'Its workers take what waits, calls first.'}
      </p>
      {problem !== undefined && (
        <p class="problem wrap" role="alert">
          {printable(problem)}
        </p>
      )}
      <div class="dialog-actions">
        <button type="button" onClick={close}>
          Leave it
        </button>
        <button type="button" class="main" disabled={isBusy} onClick={act}>
          {verb} the queue
        </button>
      </div>
    </Dialog>
  )
}
