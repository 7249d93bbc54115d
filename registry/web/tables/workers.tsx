import { useState } from 'preact/hooks'
import type { WorkerRow } from '../../contract.ts'
import { taskPath, workerPath } from '../address/paths.ts'
import { Bar } from '../parts/bar.tsx'
import { memo } from '../parts/memo.ts'
import { Text } from '../parts/text.tsx'
import { Ago, Since } from '../parts/time.tsx'
import { WorkerState } from '../parts/worker-state.tsx'
import { bytes, ms, percent, perSecond, plural } from '../text/figures.ts'
import { QueueCell } from './queue-cell.tsx'

/** Rows that one table shows. */
const most = 200

/** Processes with their figures of the last minute; the tasks of each unfold. */
export const WorkerTable = ({ rows, withHost = false }: { rows: readonly WorkerRow[]; withHost?: boolean }) => (
  <div class="scroll panel">
    <table class="rows cards">
      <thead>
        <tr>
          <th scope="col">{withHost ? 'host, process' : 'process'}</th>
          <th scope="col">state</th>
          <th scope="col">queue</th>
          <th scope="col">slots busy</th>
          <th scope="col" class="number">
            rate
          </th>
          <th scope="col" class="number">
            errors
          </th>
          <th scope="col" class="number" title="How late the event loop was with its timers, 99 of 100 times at most">
            loop p99
          </th>
          <th scope="col" class="number">
            memory
          </th>
          <th scope="col" class="number">
            up
          </th>
          <th scope="col" class="number">
            last beat
          </th>
          <th scope="col">tasks</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, most).map(row => (
          <ProcessRows key={row.id} row={row} withHost={withHost} />
        ))}
      </tbody>
    </table>
    {rows.length > most && (
      <p class="quiet nothing">
        {plural(rows.length - most, 'further process', 'further processes')}: search for less.
      </p>
    )}
  </div>
)

const ProcessRows = ({ row, withHost }: { row: WorkerRow; withHost: boolean }) => {
  const [isOpen, setOpen] = useState(false)
  const names = Object.keys(row.tasks)
  return (
    <>
      <ProcessRow row={row} withHost={withHost} isOpen={isOpen} toggle={setOpen} />
      {isOpen && (
        <tr class="inner" id={`tasks-${row.id}`}>
          <td colSpan={11}>
            <ul class="chips">
              {names.slice(0, 500).map(task => (
                <li key={task}>
                  <a href={taskPath(task)}>
                    <Text>{task}</Text>
                  </a>
                </li>
              ))}
            </ul>
          </td>
        </tr>
      )}
    </>
  )
}

interface ProcessProps {
  row: WorkerRow
  withHost: boolean
  isOpen: boolean
  toggle(isOpen: boolean): void
}

const ProcessRow = memo(({ row, withHost, isOpen, toggle }: ProcessProps) => {
  const { stats, load, pid, id, client, build, host } = row
  const names = Object.keys(row.tasks)
  return (
    <tr class={row.live ? undefined : 'faded'}>
      <th scope="row" title={`worker ${id}`}>
        <a class="process" href={workerPath(id)}>
          {withHost && (
            <>
              <Text class="short">{host}</Text>{' '}
            </>
          )}
          pid {pid}
        </a>
        <span class="summary quiet">
          <Text class="short">{client ?? ''}</Text>
          {build !== undefined && (
            <>
              {' '}
              build <Text class="short">{build}</Text>
            </>
          )}
        </span>
      </th>
      <td data-name="state">
        <WorkerState row={row} />
      </td>
      <QueueCell queue={row.queue} />
      <td data-name="slots busy">
        <Bar value={stats?.busy ?? 0} total={row.slots} name="slots busy" />
      </td>
      <td data-name="rate" class="number">
        {perSecond(load.callsPerSecond)}
      </td>
      <td data-name="errors" class={load.errorRate > 0 ? 'number failing' : 'number'}>
        {percent(load.errorRate)}
      </td>
      <td data-name="loop p99" class="number">
        {ms(stats?.loopMs?.p99)}
      </td>
      <td data-name="memory" class="number">
        {bytes(stats?.rssBytes)}
      </td>
      <td data-name="up" class="number">
        {row.live ? <Since atMs={row.started * 1000} /> : '–'}
      </td>
      <td data-name="last beat" class="number">
        <Ago atMs={stats?.seen} />
      </td>
      <td data-name="tasks">
        <button type="button" class="small" aria-expanded={isOpen} onClick={() => toggle(!isOpen)}>
          {plural(names.length, 'task')}
        </button>
      </td>
    </tr>
  )
})
