import { useState } from 'preact/hooks'
import type { ScheduleChange, ScheduleRow } from '../../job-contract.ts'
import { inAddress } from '../address/in-address.ts'
import { at } from '../address/paths.ts'
import { type QueryState, useQuery } from '../address/use-query.ts'
import { useRepeated } from '../live/repeated.ts'
import { useLive } from '../live/stream.ts'
import { SavedFilters } from '../palette/saved-filters-menu.tsx'
import { ActionButton } from '../parts/action-button.tsx'
import { Empty, Loading, Unread } from '../parts/empty.tsx'
import { Export } from '../parts/export.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { QueueField, SearchField } from '../parts/search-field.tsx'
import { exportedSchedules } from '../rows/exported.ts'
import { post } from '../session/request.ts'
import { EnqueuedJob, ScheduleTable } from '../tables/schedules.tsx'
import { plural } from '../text/figures.ts'
import { printable } from '../text/printable.ts'

const refreshMs = 3000
/** Rows that are drawn; a search shows others. */
const most = 200

/** Jobs that are enqueued at their times. */
export const SchedulesPage = () => {
  useLive('queues')
  const state = useQuery()
  const { value, failure, again } = useRepeated<ScheduleRow[]>('schedules', refreshMs)
  const [ran, setRan] = useState<ScheduleChange>()
  const found = value && fitting(value, state.query)
  const changed = (change: ScheduleChange) => {
    setRan(change.job === undefined ? undefined : change)
    again()
  }
  return (
    <>
      <PageHead title="Schedules">
        <SavedFilters />
        {found && (
          <>
            <p class="quiet" role="status">
              {plural(found.length, 'schedule')}
            </p>
            <Export one="schedule" columns={exportedSchedules} rows={found} />
          </>
        )}
      </PageHead>
      {!value && !failure && <Loading />}
      {failure && !value && <Unread what="Schedules" why={failure.message} />}
      <p role="status" class={ran ? 'note' : 'visually-hidden'}>
        {ran?.job !== undefined && (
          <>
            {printable(ran.name)} {ran.isTwin ? 'is already waiting' : 'is enqueued'} as job{' '}
            <EnqueuedJob id={ran.job} queue={ran.queue} />, whose page exists until it has run.
          </>
        )}
      </p>
      {value?.length === 0 && <None />}
      {value && value.length > 0 && (
        <>
          <search class="filters">
            <SearchField name="Search schedules" state={state} />
            <QueueField rows={value} value={state.query.queue ?? ''} state={state} />
          </search>
          {found!.length === 0 ? <NoneFits state={state} /> : null}
          {found!.length > 0 && (
            <ScheduleTable rows={found!.slice(0, most)} actions={row => <Actions row={row} onDone={changed} />} />
          )}
          {found!.length > most && (
            <p class="quiet nothing">{plural(found!.length - most, 'further schedule')}: search for less.</p>
          )}
        </>
      )}
    </>
  )
}

const fitting = (
  rows: readonly ScheduleRow[],
  { q = '', queue = '' }: Readonly<Record<string, string>>,
): ScheduleRow[] => {
  const wanted = q.trim().toLowerCase()
  return rows
    .filter(row => queue === '' || row.queue === queue)
    .filter(({ name, task }) => name.toLowerCase().includes(wanted) || task.toLowerCase().includes(wanted))
    .sort((a, b) => a.name.localeCompare(b.name) || a.queue.localeCompare(b.queue))
}

const None = () => (
  <Empty title="There is no schedule.">
    <p>
      To create one, fill in the form of a task and open Schedule: <a href={at('tasks')}>choose a task</a>. Or use{' '}
      <code>hub.schedule</code> or <code>pshub schedules add</code>.
    </p>
  </Empty>
)

const NoneFits = ({ state }: { state: QueryState }) => (
  <Empty title="No matching schedules.">
    <p>
      <a href={state.link({ q: undefined, queue: undefined })}>Show all schedules</a>
    </p>
  </Empty>
)

const Actions = ({ row, onDone }: { row: ScheduleRow; onDone(change: ScheduleChange): void }) => {
  const { name, queue } = row
  const act = (action: string) => async () =>
    onDone(await post<ScheduleChange>(`schedules/${inAddress(queue)}/${inAddress(name)}/${action}`, {}))
  return (
    <span class="row-actions">
      <ActionButton name="Run now" of={name} question={`Run ${name} now`} verb="Enqueue its job" act={act('run')}>
        This enqueues its job once and does not change its times.
      </ActionButton>
      {row.pausedMs === undefined ? (
        <ActionButton name="Pause" of={name} question={`Pause ${name}`} verb="Pause it" act={act('pause')}>
          Nothing is enqueued until it is resumed.
        </ActionButton>
      ) : (
        <ActionButton name="Resume" of={name} question={`Resume ${name}`} verb="Resume it" act={act('resume')}>
          It continues with its next time; missed times are skipped.
        </ActionButton>
      )}
      <ActionButton name="Remove" of={name} question={`Remove ${name}`} verb="Remove it" act={act('remove')}>
        This permanently deletes the schedule. Jobs that it enqueued stay.
      </ActionButton>
    </span>
  )
}
