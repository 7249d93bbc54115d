import type { TaskRow } from '../../contract.ts'
import { Badge } from './badge.tsx'

/** What is wrong with a task, in words. */
export const TaskBadges = ({ row }: { row: TaskRow }) => (
  <>
    {row.workers === 0 && (
      <Badge tone="bad" title="No live worker provides it: calls fail with NoWorkers.">
        no workers
      </Badge>
    )}
    {row.conflict && (
      <Badge tone="warn" title="Live workers declare it with different schemas.">
        conflict
      </Badge>
    )}
  </>
)
