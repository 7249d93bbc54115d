import { useMemo } from 'preact/hooks'
import type { TaskDetail, WorkerRow } from '../../../contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { at } from '../../address/paths.ts'
import { workers } from '../../live/shown.ts'
import { Empty, Loading } from '../../parts/empty.tsx'
import { WorkerCommand } from '../../parts/worker-command.tsx'
import { WorkerTable } from '../../tables/workers.tsx'
import { plural } from '../../text/figures.ts'

const most = 100

/** The workers that have this task, those that drain or are lost too. */
export const Providers = ({ detail }: { detail: TaskDetail }) => {
  const { task, queue } = detail.row
  const rows = workers.value
  const own = useMemo(
    () => [...(rows?.values() ?? [])].filter(row => Object.hasOwn(row.tasks, task)).sort(byState),
    [rows, task],
  )
  return (
    <section class="part" aria-labelledby="providers">
      <div class="part-head">
        <h2 id="providers">{rows ? plural(own.length, 'worker') : 'Workers'}</h2>
        {own.length > most && <a href={at(`workers?q=${inAddress(task)}`)}>All, by host</a>}
      </div>
      {!rows && <Loading />}
      {rows && own.length === 0 && (
        <Empty title="No worker provides it.">
          <p>Calls fail with NoWorkers at once. Start a worker:</p>
          <WorkerCommand queue={queue} />
        </Empty>
      )}
      {own.length > 0 && <WorkerTable rows={own.slice(0, most)} withHost />}
    </section>
  )
}

const rank = ({ live, stats }: WorkerRow): number => (live ? (stats?.draining ? 1 : 0) : 2)
const byState = (a: WorkerRow, b: WorkerRow): number => rank(a) - rank(b) || (a.host < b.host ? -1 : 1)
