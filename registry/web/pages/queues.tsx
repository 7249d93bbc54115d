import { useMemo } from 'preact/hooks'
import { useQuery } from '../address/use-query.ts'
import { queues } from '../live/shown.ts'
import { useLive } from '../live/stream.ts'
import { Empty, Loading } from '../parts/empty.tsx'
import { NoWorkersYet } from '../parts/no-workers.tsx'
import { ChoiceField, SearchField } from '../parts/search-field.tsx'
import { exportedQueues } from '../rows/exported.ts'
import { type QueueState, queueList, queueStates, queueView } from '../rows/queues.ts'
import { QueueTable } from '../tables/queues.tsx'
import { ListHead } from './list-head.tsx'

const stateNames: Record<QueueState, string> = {
  all: 'All',
  paused: 'Paused',
  growing: 'Growing',
  unserved: 'Without workers',
}

export const QueuesPage = () => {
  useLive('queues')
  const state = useQuery()
  const rows = queues.value
  const view = useMemo(() => queueView(state.query), [state.query])
  const listed = useMemo(() => (rows ? queueList(rows.values(), view) : undefined), [rows, view])
  return (
    <>
      <ListHead title="Queues" one="queue" columns={exportedQueues} all={rows?.size} found={listed} />
      {!listed && <Loading />}
      {rows?.size === 0 && <NoWorkersYet />}
      {rows && rows.size > 0 && listed && (
        <>
          <search class="filters">
            <SearchField name="Search queues" state={state} />
            <ChoiceField
              label="State"
              name="state"
              value={view.state}
              state={state}
              options={queueStates.map(value => ({ value, text: stateNames[value] }))}
            />
          </search>
          {listed.length > 0 ? (
            <QueueTable rows={listed} view={view} state={state} />
          ) : (
            <Empty title={view.state === 'paused' ? 'No queue is paused.' : 'No matching queues.'}>
              <p>
                <a href={state.link({ q: undefined, state: undefined })}>Show all queues</a>
              </p>
            </Empty>
          )}
        </>
      )}
    </>
  )
}
