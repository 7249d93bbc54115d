import { useMemo } from 'preact/hooks'
import { at } from '../../address/paths.ts'
import { HistoryCharts } from '../../charts/history.tsx'
import { queues, summary } from '../../live/shown.ts'
import { useLive } from '../../live/stream.ts'
import { Badge } from '../../parts/badge.tsx'
import { Boundary } from '../../parts/boundary.tsx'
import { Loading } from '../../parts/empty.tsx'
import { JobTiles } from '../../parts/job-tiles.tsx'
import { NoWorkersYet } from '../../parts/no-workers.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { WrappedText } from '../../parts/text.tsx'
import { Tile } from '../../parts/tile.tsx'
import { headlineOf, healthOf } from '../../rows/health.ts'
import { rejectedCount } from '../../rows/queue-state.ts'
import { amount, count, ms, percent, plural, us } from '../../text/figures.ts'
import { LeadingTasks, QueuesAtAGlance } from './tables.tsx'

export const OverviewPage = () => {
  useLive('summary', 'tasks', 'queues')
  const { value } = summary
  const isEmpty = value !== undefined && value.tasks === 0 && value.workers + value.lost === 0
  return (
    <>
      <PageHead title="Overview" />
      {!value && <Loading />}
      {isEmpty && <NoWorkersYet />}
      {value && !isEmpty && (
        <>
          <Boundary what="Problems" of={value}>
            <Health />
          </Boundary>
          <Boundary what="These figures" of={value}>
            <Tiles />
          </Boundary>
          <JobTiles of={value} />
          <HistoryCharts charts={['rate', 'errors', 'backlog', 'waits', 'run', 'busy']} />
          <div class="columns">
            <Boundary what="The list of tasks" of={value}>
              <LeadingTasks />
            </Boundary>
            <Boundary what="The list of queues" of={value}>
              <QueuesAtAGlance />
            </Boundary>
          </div>
        </>
      )}
    </>
  )
}

const Health = () => {
  const { value } = summary
  const rows = queues.value
  const concerns = useMemo(() => (value ? healthOf(value, rows?.values() ?? []) : []), [value, rows])
  return (
    <section class="part" aria-labelledby="health">
      <h2 id="health">{headlineOf(concerns)}</h2>
      <ul class="health">
        {concerns.map(({ name, tone, state, text, place }) => (
          <li key={name} class={tone}>
            <a href={at(place)}>
              <span class="health-name">
                {name} <Badge tone={tone}>{state}</Badge>
              </span>
              <WrappedText>{text}</WrappedText>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

const Tiles = () => {
  const now = summary.value!
  const { load } = now
  return (
    <section class="part" aria-label="Figures of the last minute">
      <dl class="tiles">
        <Tile name="Calls per second" value={amount(load.callsPerSecond)}>
          last minute
        </Tile>
        <Tile name="Errors" value={percent(load.errorRate)}>
          of calls
        </Tile>
        <Tile name="Rejected" value={count(rejectedCount(now))}>
          calls, last minute
        </Tile>
        <Tile name="Wait p95" value={us(load.us.backlog?.p95)}>
          p50 {us(load.us.backlog?.p50)}
        </Tile>
        <Tile name="Run p95" value={us(load.us.exec?.p95)}>
          p50 {us(load.us.exec?.p50)}
        </Tile>
        <Tile name="Backlog" value={count(now.backlog)}>
          {now.oldestMs === undefined ? 'no call waits' : `oldest ${ms(now.oldestMs)}`}
        </Tile>
        <Tile name="Slots busy" value={`${count(now.busy)} / ${count(now.slots)}`}>
          {plural(now.workers, 'worker')}
        </Tile>
      </dl>
    </section>
  )
}
