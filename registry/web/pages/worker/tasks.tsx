import type { WorkerTaskRow } from '../../../contract.ts'
import { taskPath } from '../../address/paths.ts'
import { Text } from '../../parts/text.tsx'
import { callsOf } from '../../rows/queue-state.ts'
import { count, percent, perSecond, plural, us } from '../../text/figures.ts'

/** Rows that are drawn; the others are told by their number. */
const most = 200

const heads = ['rate', 'run p50', 'run p95', 'wait p95', 'errors', 'succeeded', 'rejected', 'failed'] as const

/** What a worker provides, the busiest first, with what it did of each itself. */
export const WorkerTasks = ({ tasks }: { tasks: readonly WorkerTaskRow[] }) => {
  const rate = ({ load }: WorkerTaskRow) => load?.callsPerSecond ?? 0
  const sorted = [...tasks].sort((a, b) => rate(b) - rate(a) || endedOf(b) - endedOf(a))
  return (
    <section class="part" aria-labelledby="worker-tasks">
      <div class="part-head">
        <h2 id="worker-tasks">{plural(tasks.length, 'task')}</h2>
        <span class="quiet">figures of the last minute, and counts since its start</span>
      </div>
      {tasks.length > 0 && (
        <div class="scroll panel">
          <table class="rows cards">
            <caption class="visually-hidden">Tasks of this worker, the busiest first</caption>
            <thead>
              <tr>
                <th scope="col">task</th>
                {heads.map(head => (
                  <th key={head} scope="col" class="number">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {sorted.slice(0, most).map(row => (
                <Row key={row.task} row={row} />
              ))}
            </tbody>
          </table>
          {tasks.length > most && <p class="quiet nothing">{plural(tasks.length - most, 'further task')}.</p>}
        </div>
      )}
    </section>
  )
}

const failedOf = ({ totals }: WorkerTaskRow): number => callsOf(totals?.failed ?? {})

const rejectedOf = ({ totals }: WorkerTaskRow): number => callsOf(totals?.rejected ?? {})

const endedOf = (row: WorkerTaskRow): number => (row.totals?.ok ?? 0) + rejectedOf(row) + failedOf(row)

const Row = ({ row }: { row: WorkerTaskRow }) => {
  const { task, totals, load } = row
  const failed = failedOf(row)
  const told = (byCode: Record<string, number> = {}, words = '') =>
    Object.entries(byCode).map(([code, calls]) => `${words}${code} ${count(calls)}`)
  const codes = [...told(totals?.failed), ...told(totals?.rejected, 'rejected ')]
  const figures = {
    rate: perSecond(load?.callsPerSecond),
    'run p50': us(load?.us.exec?.p50),
    'run p95': us(load?.us.exec?.p95),
    'wait p95': us(load?.us.backlog?.p95),
    errors: percent(load?.errorRate),
    succeeded: count(totals?.ok),
    rejected: totals ? count(rejectedOf(row)) : '–',
    failed: totals ? count(failed) : '–',
  }
  const isBad = { errors: (load?.errorRate ?? 0) > 0, failed: failed > 0 }
  return (
    <tr>
      <th scope="row" class="grow">
        <a href={taskPath(task)}>
          <Text>{task}</Text>
        </a>
        {codes.length > 0 && <span class="summary quiet">{codes.join(', ')}</span>}
      </th>
      {heads.map(head => (
        <td
          key={head}
          data-name={head}
          class={isBad[head as keyof typeof isBad] === true ? 'number failing' : 'number'}
        >
          {figures[head]}
        </td>
      ))}
    </tr>
  )
}
