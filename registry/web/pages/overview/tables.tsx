import type { ComponentChildren } from 'preact'
import type { TaskRow } from '../../../contract.ts'
import { at, queuePath, taskPath } from '../../address/paths.ts'
import { Sparkline } from '../../charts/sparkline.tsx'
import { queues, tasks } from '../../live/shown.ts'
import { Badge } from '../../parts/badge.tsx'
import { Bar } from '../../parts/bar.tsx'
import { Text } from '../../parts/text.tsx'
import { pausedSinceMs } from '../../rows/queue-state.ts'
import { count, ms, perSecond, us } from '../../text/figures.ts'

const leading = 6

const largest = (value: (row: TaskRow) => number | undefined): TaskRow[] =>
  [...(tasks.value?.values() ?? [])]
    .filter(row => (value(row) ?? 0) > 0)
    .sort((a, b) => value(b)! - value(a)!)
    .slice(0, leading)

const runP95 = (row: TaskRow) => row.load.us.exec?.p95
const rate = (row: TaskRow) => row.load.callsPerSecond

/** The busiest tasks and the slowest ones, of the last minute. */
export const LeadingTasks = () => (
  <>
    <Leading
      title="Busiest tasks"
      place="tasks?sort=-rate"
      head="rate"
      rows={largest(rate)}
      value={row => perSecond(rate(row))}
    />
    <Leading
      title="Slowest tasks"
      place="tasks?sort=-p95"
      head="run p95"
      rows={largest(runP95)}
      value={row => us(runP95(row))}
    />
  </>
)

const Leading = ({
  title,
  place,
  head,
  rows,
  value,
}: {
  title: string
  place: string
  head: string
  rows: TaskRow[]
  value(row: TaskRow): string
}) => (
  <Glance title={title} place={place} isEmpty={rows.length === 0} empty="Nothing ran in the last minute.">
    <thead>
      <tr>
        <th scope="col">task</th>
        <th scope="col" class="number">
          {head}
        </th>
        <th scope="col">calls, 15 min</th>
      </tr>
    </thead>
    <tbody>
      {rows.map(row => (
        <tr key={row.task}>
          <td class="grow">
            <a href={taskPath(row.task)}>
              <Text>{row.task}</Text>
            </a>
          </td>
          <td class="number">{value(row)}</td>
          <td>
            <Sparkline values={row.trend} name="Calls per second" format={perSecond} />
          </td>
        </tr>
      ))}
    </tbody>
  </Glance>
)

export const QueuesAtAGlance = () => {
  const rows = [...(queues.value?.values() ?? [])]
    .sort((a, b) => b.backlog - a.backlog || b.busy - a.busy)
    .slice(0, leading)
  return (
    <Glance title="Queues" place="queues" isEmpty={rows.length === 0} empty="There is no queue yet.">
      <thead>
        <tr>
          <th scope="col">queue</th>
          <th scope="col" class="number">
            backlog
          </th>
          <th scope="col" class="number">
            oldest
          </th>
          <th scope="col">slots busy</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={row.queue}>
            <td class="grow">
              <a href={queuePath(row.queue)}>
                <Text>{row.queue}</Text>
              </a>{' '}
              {pausedSinceMs(row) !== undefined && <Badge tone="warn">paused</Badge>}
            </td>
            <td class="number">{count(row.backlog)}</td>
            <td class="number">{ms(row.oldestMs)}</td>
            <td>
              <Bar value={row.busy} total={row.slots} name="slots busy" />
            </td>
          </tr>
        ))}
      </tbody>
    </Glance>
  )
}

const Glance = ({
  title,
  place,
  isEmpty,
  empty,
  children,
}: {
  title: string
  place: string
  isEmpty: boolean
  empty: string
  children: ComponentChildren
}) => (
  <section class="part glance" aria-label={title}>
    <div class="part-head">
      <h2>{title}</h2>
      <a href={at(place)}>All</a>
    </div>
    <div class="scroll panel">
      {isEmpty ? <p class="quiet nothing">{empty}</p> : <table class="rows">{children}</table>}
    </div>
  </section>
)
