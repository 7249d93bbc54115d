import type { QueueRow } from '../../contract.ts'
import { isGrowing, pausedSinceMs } from '../rows/queue-state.ts'
import { Badge } from './badge.tsx'

/** What is out of the ordinary with a queue, in words. */
export const QueueBadges = ({ row }: { row: QueueRow }) => (
  <>
    {pausedSinceMs(row) !== undefined && (
      <Badge tone="warn" title="Its workers claim nothing until it is resumed.">
        paused
      </Badge>
    )}
    {isGrowing(row) && (
      <Badge tone="bad" title="Requests arrive faster than its workers serve them.">
        growing
      </Badge>
    )}
    {row.workers === 0 && (
      <Badge tone="bad" title="No live worker serves it.">
        no workers
      </Badge>
    )}
  </>
)
