import { useMemo } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { QueueRow } from '../../contract.ts'
import { inAddress } from '../address/in-address.ts'
import { at } from '../address/paths.ts'
import { useQuery } from '../address/use-query.ts'
import { HistoryCharts } from '../charts/history.tsx'
import { queues, tasks, workers } from '../live/shown.ts'
import { useLive } from '../live/stream.ts'
import { Bar } from '../parts/bar.tsx'
import { Empty, Loading } from '../parts/empty.tsx'
import { JobTiles } from '../parts/job-tiles.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { PauseButton } from '../parts/pause-button.tsx'
import { QueueBadges } from '../parts/queue-badges.tsx'
import { Tile } from '../parts/tile.tsx'
import { QueueTroubles } from '../parts/troubles.tsx'
import { WorkerCommand } from '../parts/worker-command.tsx'
import { pageSize } from '../rows/page.ts'
import { rejectedCount } from '../rows/queue-state.ts'
import { taskPage, taskView } from '../rows/tasks.ts'
import { TaskTable } from '../tables/tasks.tsx'
import { WorkerTable } from '../tables/workers.tsx'
import { count, ms, perSecond, plural, span, us } from '../text/figures.ts'

export const QueuePage = () => {
  useLive('queues', 'tasks', 'workers')
  const queue = useRoute().params.queue ?? ''
  const rows = queues.value
  const row = rows?.get(queue)
  return (
    <>
      <PageHead title={queue} before={<a href={at('queues')}>Queues</a>}>
        {row && (
          <div class="head-tools">
            <QueueBadges row={row} />
            <PauseButton row={row} />
          </div>
        )}
      </PageHead>
      {!rows && <Loading />}
      {rows && !row && (
        <Empty title="The registry knows no such queue.">
          <p>
            A queue exists as soon as a worker serves it. See <a href={at('queues')}>all queues</a>, or start a worker:
          </p>
          <WorkerCommand queue={queue} />
        </Empty>
      )}
      {row && <QueueParts row={row} />}
    </>
  )
}

const QueueParts = ({ row }: { row: QueueRow }) => {
  const { queue, load } = row
  return (
    <>
      <QueueTroubles rows={[row]} />
      <section class="part" aria-label="Figures of the last minute">
        <dl class="tiles">
          <Tile name="Backlog" value={count(row.backlog)}>
            {row.oldestMs === undefined ? 'nothing waits' : `oldest ${ms(row.oldestMs)}`}
          </Tile>
          <Tile name="Drains in" value={row.backlog === 0 ? '–' : span(row.drainMs)}>
            at {perSecond(load.callsPerSecond)}
          </Tile>
          <Tile name="Wait p95" value={us(load.us.backlog?.p95)}>
            p50 {us(load.us.backlog?.p50)}
          </Tile>
          <Tile name="Rejected" value={count(rejectedCount(row))}>
            calls, last minute
          </Tile>
          <Tile name="Held" value={count(row.held)}>
            by {plural(row.workers, 'worker')}
          </Tile>
          <div class="tile">
            <dt>Slots busy</dt>
            <dd>
              <Bar value={row.busy} total={row.slots} name="slots busy" />
            </dd>
          </div>
        </dl>
      </section>
      <JobTiles of={row} queue={queue} />
      {row.keys && <KeyTiles of={row.keys} />}
      <HistoryCharts
        of={{ queue }}
        charts={['backlog', 'oldest', 'waits', 'rate', 'errors', 'busy', 'jobs', 'oldestJob', 'dead']}
      />
      <QueueTasks queue={queue} />
      <QueueWorkers queue={queue} />
    </>
  )
}

const KeyTiles = ({ of: { waiting, running, lagMs, longestMs } }: { of: NonNullable<QueueRow['keys']> }) => (
  <section class="part" aria-label="Keys of jobs">
    <dl class="tiles">
      <Tile name="Keys waiting" value={count(waiting)}>
        due, or for their time
      </Tile>
      <Tile name="Key lag" value={lagMs > 0 ? span(lagMs) : '–'}>
        {lagMs > 0 ? 'time since the first was due' : 'none is due'}
      </Tile>
      <Tile name="Keys running" value={count(running)}>
        one run per key
      </Tile>
      <Tile name="Longest run" value={longestMs > 0 ? span(longestMs) : '–'}>
        {longestMs > 0 ? 'of a running key' : 'none is running'}
      </Tile>
    </dl>
  </section>
)

const QueueTasks = ({ queue }: { queue: string }) => {
  const state = useQuery()
  const rows = tasks.value
  const view = useMemo(
    () => ({ ...taskView(state.query), search: '', state: 'all' as const, queue }),
    [state.query, queue],
  )
  const listed = useMemo(() => taskPage(rows?.values() ?? [], view), [rows, view])
  return (
    <section class="part" aria-labelledby="queue-tasks">
      <div class="part-head">
        <h2 id="queue-tasks">{plural(listed.found.length, 'task')}</h2>
        <a href={at(`tasks?queue=${inAddress(queue)}`)}>
          {listed.found.length > pageSize ? 'All, with search' : 'With search'}
        </a>
      </div>
      {listed.found.length > 0 && <TaskTable rows={listed.shown} view={view} state={state} />}
    </section>
  )
}

const QueueWorkers = ({ queue }: { queue: string }) => {
  const rows = workers.value
  const own = useMemo(() => [...(rows?.values() ?? [])].filter(row => row.queue === queue), [rows, queue])
  return (
    <section class="part" aria-labelledby="queue-workers">
      <div class="part-head">
        <h2 id="queue-workers">{plural(own.length, 'worker')}</h2>
        <a href={at(`workers?queue=${inAddress(queue)}`)}>{own.length > pageSize ? 'All, by host' : 'By host'}</a>
      </div>
      {own.length > 0 && <WorkerTable rows={own.slice(0, pageSize)} withHost />}
    </section>
  )
}
