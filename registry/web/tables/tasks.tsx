import type { TaskRow } from '../../contract.ts'
import { taskPath } from '../address/paths.ts'
import type { QueryState } from '../address/use-query.ts'
import { Sparkline } from '../charts/sparkline.tsx'
import { memo } from '../parts/memo.ts'
import { TaskBadges } from '../parts/task-badges.tsx'
import { Text } from '../parts/text.tsx'
import { callsOf, rejectedCount } from '../rows/queue-state.ts'
import { plainSummary, type TaskTimes, type TaskView } from '../rows/tasks.ts'
import { count, percent, perSecond, plural, us } from '../text/figures.ts'
import { QueueCell } from './queue-cell.tsx'
import { SortHead } from './sort-head.tsx'

/** Tasks with their figures of the last minute. */
export const TaskTable = ({ rows, view, state }: { rows: TaskRow[]; view: TaskView; state: QueryState }) => {
  const { sort, times } = view
  const head = { sort, state }
  return (
    <div class="scroll panel">
      <table class="rows cards">
        <caption class="visually-hidden">Tasks, with figures of the last minute</caption>
        <thead>
          <tr>
            <SortHead {...head} column="task">
              task
            </SortHead>
            <SortHead {...head} column="version">
              version
            </SortHead>
            <SortHead {...head} column="queue">
              queue
            </SortHead>
            <SortHead {...head} column="workers" isNumber>
              workers
            </SortHead>
            <SortHead {...head} column="rate" isNumber>
              rate
            </SortHead>
            <th scope="col">15 min</th>
            {(['p50', 'p95', 'p99'] as const).map(column => (
              <SortHead key={column} {...head} column={column} isNumber>
                {times} {column}
              </SortHead>
            ))}
            <SortHead {...head} column="errors" isNumber>
              errors
            </SortHead>
            <SortHead {...head} column="rejected" isNumber>
              rejected
            </SortHead>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <Row key={row.task} row={row} times={times} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const Row = memo(({ row, times }: { row: TaskRow; times: TaskTimes }) => {
  const { load } = row
  const waits = times === 'run' ? load.us.exec : load.us.backlog
  return (
    <tr>
      <th scope="row" class="grow">
        <a href={taskPath(row.task)}>
          <Text>{row.name}</Text>
        </a>
        <TaskBadges row={row} />
        {row.summary && (
          <span class="summary quiet">
            <Text>{plainSummary(row.summary)}</Text>
          </span>
        )}
      </th>
      <td data-name="version">
        <Text class="short">{row.version}</Text>
      </td>
      <QueueCell queue={row.queue} />
      <td data-name="workers" class="number" title={`${plural(row.workers, 'worker')} on ${plural(row.hosts, 'host')}`}>
        <span>
          {count(row.workers)}
          <span class="quiet"> on {count(row.hosts)}</span>
        </span>
      </td>
      <td data-name="rate" class="number">
        {perSecond(load.callsPerSecond)}
      </td>
      <td data-name="15 min">
        <Sparkline values={row.trend} name="Calls per second" format={perSecond} />
      </td>
      <td data-name={`${times} p50`} class="number">
        {us(waits?.p50)}
      </td>
      <td data-name={`${times} p95`} class="number">
        {us(waits?.p95)}
      </td>
      <td data-name={`${times} p99`} class="number">
        {us(waits?.p99)}
      </td>
      <td data-name="errors" class={load.errorRate > 0 ? 'number failing' : 'number'}>
        {percent(load.errorRate)}
      </td>
      <td
        data-name="rejected"
        class={callsOf(load.notRun) > 0 ? 'number failing' : 'number'}
        title="Calls of the last minute that were not run (red), or that their handler rejected"
      >
        {count(rejectedCount(row))}
      </td>
    </tr>
  )
})
