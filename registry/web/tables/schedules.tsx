import type { ComponentChildren } from 'preact'
import type { ScheduleRow } from '../../job-contract.ts'
import { jobPath, taskPath } from '../address/paths.ts'
import { Badge } from '../parts/badge.tsx'
import { Text } from '../parts/text.tsx'
import { Ago, Since, Until } from '../parts/time.tsx'
import { QueueCell } from './queue-cell.tsx'

/** Schedules with their times; what can be done with each of them is given. */
export const ScheduleTable = ({
  rows,
  actions,
}: {
  rows: readonly ScheduleRow[]
  actions(row: ScheduleRow): ComponentChildren
}) => (
  <div class="scroll panel">
    <table class="rows cards">
      <caption class="visually-hidden">Schedules, by name</caption>
      <thead>
        <tr>
          <th scope="col">name</th>
          <th scope="col">cron</th>
          <th scope="col">time zone</th>
          <th scope="col">next</th>
          <th scope="col">last</th>
          <th scope="col">missed</th>
          <th scope="col">queue</th>
          <th scope="col">
            <span class="visually-hidden">actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={`${row.queue} ${row.name}`}>
            <th scope="row" class="grow">
              <Text class="job-task">{row.name}</Text> {row.pausedMs !== undefined && <Badge tone="warn">paused</Badge>}
              {row.problem !== undefined && <Badge tone="warn">waits</Badge>}
              <span class="summary">
                <a href={taskPath(row.task)}>
                  <Text>{row.task}</Text>
                </a>
              </span>
              {row.problem !== undefined && (
                <span class="summary">
                  No worker knows its time zone: <Text>{row.problem}</Text>
                </span>
              )}
            </th>
            <td data-name="cron">
              <Text class="short mono">{row.cron}</Text>
            </td>
            <td data-name="time zone">
              <Text class="short">{row.timezone ?? 'UTC'}</Text>
            </td>
            <td data-name="next">
              <Next row={row} />
            </td>
            <td data-name="last">{row.lastMs === undefined ? 'never' : <Ago atMs={row.lastMs} />}</td>
            <td data-name="missed" title="What happens to times without a live worker">
              {row.missed === 'skip' ? 'skipped' : 'once'}
            </td>
            <QueueCell queue={row.queue} />
            <td class="actions">{actions(row)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Next = ({ row: { pausedMs, nextMs } }: { row: ScheduleRow }) => {
  if (pausedMs !== undefined)
    return (
      <>
        paused for <Since atMs={pausedMs} />
      </>
    )
  return nextMs === undefined ? <>never</> : <Until atMs={nextMs} />
}

/** A link to the job that was enqueued. */
export const EnqueuedJob = ({ id, queue }: { id: string; queue: string }) => (
  <a href={jobPath(id, { queue })}>
    <Text class="short mono">{id}</Text>
  </a>
)
