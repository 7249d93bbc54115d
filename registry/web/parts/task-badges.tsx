import type { TaskRow } from '../../contract.ts'
import { dangerText } from '../rows/danger.ts'
import { liveQueues, queueNames } from '../rows/tasks.ts'
import { Badge } from './badge.tsx'

/** What is wrong with a task, in words. */
export const TaskBadges = ({ row }: { row: TaskRow }) => (
  <>
    {row.dangerous !== undefined && (
      <Badge tone="warn" title={dangerText(row.dangerous)}>
        dangerous
      </Badge>
    )}
    {row.retired && (
      <Badge tone="quiet" title="Its workers have stopped normally: calls fail with NoWorkers.">
        retired
      </Badge>
    )}
    {row.workers === 0 && !row.retired && (
      <Badge tone="bad" title="No live worker provides it: calls fail with NoWorkers.">
        no workers
      </Badge>
    )}
    {liveQueues(row).length > 1 && (
      <Badge
        tone="warn"
        title={`Served in several queues: ${queueNames(liveQueues(row))}. Calls without a queue go to the first.`}
      >
        {String(liveQueues(row).length)} queues
      </Badge>
    )}
    {row.conflict && (
      <Badge tone="warn" title="Live workers declare it with different schemas.">
        conflict
      </Badge>
    )}
  </>
)
