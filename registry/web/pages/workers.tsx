import { useMemo } from 'preact/hooks'
import { type QueryState, useQuery } from '../address/use-query.ts'
import { workers } from '../live/shown.ts'
import { useLive } from '../live/stream.ts'
import { Bar } from '../parts/bar.tsx'
import { Empty, Loading } from '../parts/empty.tsx'
import { NoWorkersYet } from '../parts/no-workers.tsx'
import { Pager } from '../parts/pager.tsx'
import { ChoiceField, QueueField, SearchField } from '../parts/search-field.tsx'
import { Text } from '../parts/text.tsx'
import { WorkerCommand } from '../parts/worker-command.tsx'
import { exportedWorkers } from '../rows/exported.ts'
import { type HostGroup, type WorkerState, workerGroups, workerStates, workerView } from '../rows/workers.ts'
import { WorkerTable } from '../tables/workers.tsx'
import { plural } from '../text/figures.ts'
import { printable } from '../text/printable.ts'
import { ListHead } from './list-head.tsx'

const stateNames: Record<WorkerState, string> = { all: 'All', serving: 'Serving', draining: 'Draining', lost: 'Lost' }

/** Hosts, their processes, and the tasks of each. */
export const WorkersPage = () => {
  useLive('workers')
  const state = useQuery()
  const rows = workers.value
  const view = useMemo(() => workerView(state.query), [state.query])
  const listed = useMemo(() => (rows ? workerGroups(rows.values(), view) : undefined), [rows, view])
  return (
    <>
      <ListHead title="Workers" one="worker" columns={exportedWorkers} all={rows?.size} found={listed?.found} />
      {!listed && <Loading />}
      {rows?.size === 0 && <NoWorkersYet />}
      {rows && rows.size > 0 && listed && (
        <>
          <Filters state={state} />
          {listed.found.length === 0 && <NoneFits state={state} view={view.state} />}
          {listed.groups.map(group => (
            <Host key={group.host} group={group} />
          ))}
          <Pager page={listed.page} pages={listed.pages} state={state} />
        </>
      )}
    </>
  )
}

const Filters = ({ state }: { state: QueryState }) => {
  const view = workerView(state.query)
  return (
    <search class="filters">
      <SearchField name="Search workers" state={state} />
      <QueueField rows={workers.value!.values()} value={view.queue} state={state} />
      <ChoiceField
        label="State"
        name="state"
        value={view.state}
        state={state}
        options={workerStates.map(value => ({ value, text: stateNames[value] }))}
      />
    </search>
  )
}

const NoneFits = ({ state, view }: { state: QueryState; view: WorkerState }) => (
  <Empty title={view === 'lost' ? 'No worker is lost.' : 'No matching workers.'}>
    <p>
      <a href={state.link({ q: undefined, queue: undefined, state: undefined, page: undefined })}>Show all workers</a>,
      or start one:
    </p>
    <WorkerCommand />
  </Empty>
)

const Host = ({ group: { host, workers: rows, busy, slots } }: { group: HostGroup }) => (
  <section class="part" aria-label={`Host ${printable(host)}`}>
    <div class="part-head host-head">
      <h2>
        <Text>{host || 'unknown host'}</Text>
      </h2>
      <span class="quiet">{plural(rows.length, 'process', 'processes')}</span>
      <Bar value={busy} total={slots} name="slots busy" />
    </div>
    <WorkerTable rows={rows} />
  </section>
)
