import { useMemo } from 'preact/hooks'
import { type QueryState, useQuery } from '../address/use-query.ts'
import { tasks } from '../live/shown.ts'
import { useLive } from '../live/stream.ts'
import { SavedFilters } from '../palette/saved-filters-menu.tsx'
import { Empty, Loading } from '../parts/empty.tsx'
import { Export } from '../parts/export.tsx'
import { NoWorkersYet } from '../parts/no-workers.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Pager } from '../parts/pager.tsx'
import { ChoiceField, QueueField, SearchField } from '../parts/search-field.tsx'
import { exportedTasks } from '../rows/exported.ts'
import { type TaskState, taskPage, taskStates, taskView } from '../rows/tasks.ts'
import { TaskTable } from '../tables/tasks.tsx'
import { count, plural } from '../text/figures.ts'

const stateNames: Record<TaskState, string> = {
  all: 'All',
  serving: 'Serving',
  unserved: 'Without workers',
  retired: 'Retired',
  doubled: 'In several queues',
  conflict: 'Conflicting schemas',
  failing: 'Failing',
  rejected: 'Rejected calls',
}

export const TasksPage = () => {
  useLive('tasks')
  const state = useQuery()
  const rows = tasks.value
  const view = useMemo(() => taskView(state.query), [state.query])
  const listed = useMemo(() => (rows ? taskPage(rows.values(), view) : undefined), [rows, view])
  return (
    <>
      <PageHead title="Tasks">
        <SavedFilters />
        {rows && listed && (
          <>
            <p class="quiet" role="status">
              {listed.found.length === rows.size
                ? plural(rows.size, 'task')
                : `${count(listed.found.length)} of ${plural(rows.size, 'task')}`}
            </p>
            <Export one="task" columns={exportedTasks} rows={listed.found} />
          </>
        )}
      </PageHead>
      {!rows && <Loading />}
      {rows?.size === 0 && <NoWorkersYet />}
      {rows && listed && rows.size > 0 && (
        <>
          <Filters state={state} />
          {listed.found.length === 0 ? (
            <Empty title="No matching tasks.">
              <p>
                <a href={state.link({ q: undefined, queue: undefined, state: undefined, page: undefined })}>
                  Show all tasks
                </a>
              </p>
            </Empty>
          ) : (
            <TaskTable rows={listed.shown} view={view} state={state} />
          )}
          <Pager page={listed.page} pages={listed.pages} state={state} />
        </>
      )}
    </>
  )
}

const Filters = ({ state }: { state: QueryState }) => {
  const view = taskView(state.query)
  return (
    <search class="filters">
      <SearchField name="Search tasks" state={state} />
      <QueueField rows={[...tasks.value!.values()].flatMap(({ queues }) => queues)} value={view.queue} state={state} />
      <ChoiceField
        label="State"
        name="state"
        value={view.state}
        state={state}
        options={taskStates.map(value => ({ value, text: stateNames[value] }))}
      />
      <ChoiceField
        label="Times"
        name="times"
        value={view.times}
        state={state}
        options={[
          { value: 'run', text: 'Run' },
          { value: 'wait', text: 'Wait in the backlog' },
        ]}
      />
    </search>
  )
}
