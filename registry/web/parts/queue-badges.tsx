import type { QueueRow } from '../../contract.ts'
import { isGrowing, pausedSinceMs } from '../rows/queue-state.ts'
import { Badge } from './badge.tsx'

/** What is out of the ordinary with a queue, in words. */
export const QueueBadges = ({ row }: { row: QueueRow }) => (
  <>
    {pausedSinceMs(row) !== undefined && (
      <Badge tone="warn" title="Workers take nothing until somebody resumes it.">
        paused
      </Badge>
    )}
    {isGrowing(row) && (
      <Badge tone="bad" title="More comes in than the workers take.">
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
