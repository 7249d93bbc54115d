import type { QueueRow } from '../../contract.ts'
import { inAddress } from '../address/in-address.ts'
import { pausedSinceMs } from '../rows/queue-state.ts'
import { post } from '../session/request.ts'
import { ActionButton } from './action-button.tsx'

/** Pauses a queue or goes on with it. */
export const PauseButton = ({ row }: { row: QueueRow }) => {
  const { queue } = row
  const isPaused = pausedSinceMs(row) !== undefined
  const verb = isPaused ? 'Resume' : 'Pause'
  return (
    <ActionButton
      name={verb}
      of={queue}
      question={`${verb} ${queue}`}
      verb={`${verb} the queue`}
      act={() => post(`queues/${inAddress(queue)}/${verb.toLowerCase()}`, {})}
    >
      {isPaused
        ? 'Its workers continue with the waiting requests, calls first.'
        : 'Its workers finish their running requests and claim nothing new. Calls wait until their deadlines, jobs until you resume the queue.'}
    </ActionButton>
  )
}
