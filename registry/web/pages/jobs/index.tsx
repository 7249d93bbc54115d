import { useMemo, useRef } from 'preact/hooks'
import { type JobPage, jobStates } from '../../../job-contract.ts'
import { jobPath } from '../../address/paths.ts'
import { type QueryState, useQuery } from '../../address/use-query.ts'
import { useRepeated } from '../../live/repeated.ts'
import { queues, tasks } from '../../live/shown.ts'
import { useLive } from '../../live/stream.ts'
import { SavedFilters } from '../../palette/saved-filters-menu.tsx'
import { Empty, Loading } from '../../parts/empty.tsx'
import { Export } from '../../parts/export.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { NameField, QueueField, SearchField } from '../../parts/search-field.tsx'
import { SwitchLinks } from '../../parts/switch-links.tsx'
import { exportedJobs } from '../../rows/exported.ts'
import { actionsOf, countIn, hasFilter, type JobsView, jobsQuery, jobsView, stateNames } from '../../rows/jobs.ts'
import { JobTable } from '../../tables/jobs.tsx'
import { count } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'
import { BulkButton } from './bulk.tsx'
import { KeyField } from './key-field.tsx'

const refreshMs = 3000

export const JobsPage = () => {
  useLive('queues', 'tasks')
  const state = useQuery()
  const view = useMemo(() => jobsView(state.query), [state.query])
  const read = useRepeated<JobPage>(`jobs?${jobsQuery(view)}`, refreshMs)
  const { failure, again } = read
  // While somebody types, what was there stays until the next answer.
  const last = useRef<{ state: JobsView['state']; value: JobPage }>(undefined)
  if (read.value) last.current = { state: view.state, value: read.value }
  const value = read.value ?? (failure || last.current?.state !== view.state ? undefined : last.current.value)
  return (
    <>
      <PageHead title="Jobs">
        <SavedFilters />
        {value && <Export one="job" columns={exportedJobs} rows={value.jobs} title="Jobs of this page, as filtered" />}
      </PageHead>
      <States state={state} view={view} page={value} />
      <Filters state={state} view={view} />
      {failure && !value && (
        <Empty title="These jobs cannot be read.">
          <p class="wrap">{printable(failure.message)}</p>
          <ShowAll state={state} />
        </Empty>
      )}
      {!value && !failure && <Loading />}
      {value && (
        <>
          <Actions view={view} onDone={again} />
          <Listed page={value} view={view} state={state} />
        </>
      )}
    </>
  )
}

const States = ({ state, view, page }: { state: QueryState; view: JobsView; page: JobPage | undefined }) => (
  <p class="job-states">
    <SwitchLinks
      label="State"
      name="state"
      value={view.state}
      // Another state is another list.
      state={{ ...state, link: changes => state.link({ ...changes, from: undefined }) }}
      options={jobStates.map(value => {
        const known = page && countIn(page, value)
        return { value, text: known === undefined ? stateNames[value] : `${stateNames[value]} ${count(known)}` }
      })}
    />
  </p>
)

const Filters = ({ state, view }: { state: QueryState; view: JobsView }) => {
  // A list that is filtered otherwise begins anew.
  const anew: QueryState = {
    ...state,
    change: (changes, quietly) => state.change({ ...changes, from: undefined }, quietly),
  }
  return (
    <search class="filters">
      <SearchField name="Search jobs" state={anew} />
      <QueueField rows={queues.value?.values() ?? []} value={view.queue} state={anew} />
      <NameField label="Task" name="task" names={tasks.value?.keys() ?? []} value={view.task} state={anew} />
      <KeyField state={anew} view={view} />
    </search>
  )
}

const Actions = ({ view, onDone }: { view: JobsView; onDone(): void }) => {
  const actions = actionsOf(view.state)
  if (actions.length === 0) return null
  return (
    <div class="job-actions">
      {actions.map(action => (
        <BulkButton key={action} action={action} view={view} onDone={onDone} />
      ))}
      <span class="quiet">{hasFilter(view) ? 'all matching jobs, on every page' : ''}</span>
    </div>
  )
}

const Listed = ({ page, view, state }: { page: JobPage; view: JobsView; state: QueryState }) => (
  <>
    {page.jobs.length === 0 ? <Nothing page={page} view={view} state={state} /> : null}
    {page.jobs.length > 0 && <JobTable jobs={page.jobs} state={view.state} />}
    {(page.next !== undefined || view.from !== '') && (
      <nav class="pager" aria-label="Further jobs">
        {view.from === '' ? (
          <span class="quiet">First page</span>
        ) : (
          <a href={state.link({ from: undefined })}>First page</a>
        )}
        {page.next === undefined ? (
          <span class="quiet">No further jobs</span>
        ) : (
          <a href={state.link({ from: page.next })}>{page.jobs.length === 0 ? 'Search further' : 'Next'}</a>
        )}
      </nav>
    )}
  </>
)

const nothing: Record<JobsView['state'], string> = {
  waiting: 'No job waits for a slot.',
  running: 'No job is running.',
  scheduled: 'No job is scheduled.',
  retrying: 'No job is retrying.',
  dead: 'No dead jobs.',
  done: 'No tracked job has ended recently.',
}

const Nothing = ({ page, view, state }: { page: JobPage; view: JobsView; state: QueryState }) => {
  const isCut = page.next !== undefined
  const title = isCut ? 'No matches so far.' : hasFilter(view) ? 'No matching jobs.' : nothing[view.state]
  return (
    <Empty title={title}>
      {isCut && (
        <p>
          {view.state === 'done'
            ? 'Ended jobs have no list: each search scans about 20,000 keys of Redis.'
            : 'Only 10,000 jobs or 32 MB of each queue were searched; there are more.'}
        </p>
      )}
      {/^[\w-]{16,64}$/.test(view.text) && (
        <p>
          Is this the id of a tracked job? <a href={jobPath(view.text)}>Go to job {view.text}</a>
        </p>
      )}
      {hasFilter(view) ? (
        <ShowAll state={state} />
      ) : (
        view.state === 'done' &&
        !isCut && (
          <p>
            Jobs enqueued with <code>tracked</code> or <code>keepResultMs</code> are listed here while their records are
            kept.
          </p>
        )
      )}
    </Empty>
  )
}

const ShowAll = ({ state }: { state: QueryState }) => (
  <p>
    <a href={state.link({ q: undefined, queue: undefined, task: undefined, key: undefined, from: undefined })}>
      Show all jobs in this state
    </a>
  </p>
)
