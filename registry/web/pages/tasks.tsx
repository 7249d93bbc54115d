import { useMemo } from 'preact/hooks'
import { type QueryState, useQuery } from '../address/use-query.ts'
import { tasks } from '../live/shown.ts'
import { useLive } from '../live/stream.ts'
import { Empty, Loading } from '../parts/empty.tsx'
import { NoWorkersYet } from '../parts/no-workers.tsx'
import { Pager } from '../parts/pager.tsx'
import { ChoiceField, QueueField, SearchField } from '../parts/search-field.tsx'
import { exportedTasks } from '../rows/exported.ts'
import { type TaskState, taskPage, taskStates, taskView } from '../rows/tasks.ts'
import { TaskTable } from '../tables/tasks.tsx'
import { ListHead } from './list-head.tsx'

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
      <ListHead title="Tasks" one="task" columns={exportedTasks} all={rows?.size} found={listed?.found} />
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
