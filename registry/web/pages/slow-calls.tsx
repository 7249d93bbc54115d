import { useMemo } from 'preact/hooks'
import type { SlowCallOverview } from 'pshub'
import type { CallList } from '../../contract.ts'
import { type QueryState, useQuery } from '../address/use-query.ts'
import { useLast, useRepeated } from '../live/repeated.ts'
import { useLive } from '../live/stream.ts'
import { SavedFilters } from '../palette/saved-filters-menu.tsx'
import { Command } from '../parts/command.tsx'
import { Empty, Loading, Unread } from '../parts/empty.tsx'
import { Export } from '../parts/export.tsx'
import { LeftOut } from '../parts/left-out.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Pager } from '../parts/pager.tsx'
import { ChoiceField, NameField, SearchField } from '../parts/search-field.tsx'
import { exportedSlowCalls } from '../rows/exported.ts'
import type { RowsPage } from '../rows/page.ts'
import { phaseChoices, type SlowView, slowPage, slowQuery, slowView } from '../rows/slow-calls.ts'
import { SlowCallTable } from '../tables/slow-calls.tsx'
import { count, plural } from '../text/figures.ts'

const refreshMs = 5000

const phaseTexts: Record<SlowView['phase'], string> = {
  all: 'All',
  backlog: 'Backlog: no slot was idle',
  queue: 'Queue: the event loop was blocked',
  exec: 'Run: its own handler',
}

/** The slowest calls of the last minutes, of all tasks. */
export const SlowCallsPage = () => {
  // Ages are counted from Redis' clock, which comes with the stream.
  useLive('summary')
  const state = useQuery()
  const view = useMemo(() => slowView(state.query), [state.query])
  const read = useRepeated<CallList<SlowCallOverview>>(`slow${slowQuery(view)}`, refreshMs)
  const { failure } = read
  const value = useLast(read)
  const listed = useMemo(() => value && slowPage(value.calls, view), [value, view])
  return (
    <>
      <PageHead title="Slow calls">
        <SavedFilters />
        {value && listed && (
          <>
            <p class="quiet" role="status">
              {value.fitting === value.total
                ? plural(value.total, 'call')
                : `${count(value.fitting)} of ${plural(value.total, 'call')}`}
            </p>
            <Export one="slow call" columns={exportedSlowCalls} rows={listed.found} of={value.fitting} />
          </>
        )}
      </PageHead>
      {!value && !failure && <Loading />}
      {!value && failure && <Unread what="Slow calls" why={failure.message} />}
      {value && listed && <Listed list={value} listed={listed} view={view} state={state} />}
    </>
  )
}

interface ListedProps {
  list: CallList<SlowCallOverview>
  listed: RowsPage<SlowCallOverview>
  view: SlowView
  state: QueryState
}

const Listed = ({ list, listed: { shown, page, pages }, view, state }: ListedProps) => {
  const isFiltered = view.task !== '' || view.phase !== 'all' || view.search !== ''
  if (list.calls.length === 0 && !isFiltered) return <None />
  return (
    <>
      <search class="filters">
        <SearchField name="Search slow calls" state={state} />
        <NameField label="Task" name="task" names={list.tasks} value={view.task} state={state} />
        <ChoiceField
          label="Longest phase"
          name="phase"
          value={view.phase}
          state={state}
          options={phaseChoices.map(value => ({ value, text: phaseTexts[value] }))}
        />
      </search>
      <LeftOut list={list} of="calls" first="slowest" />
      {shown.length === 0 ? <NoneFits state={state} /> : <SlowCallTable calls={shown} view={view} state={state} />}
      <Pager page={page} pages={pages} state={state} />
      {shown.length > 0 && (
        <p class="quiet nothing">
          Last 5 minutes; a worker keeps the ten slowest calls of each task. A long backlog means that all slots were
          busy: start more workers, or give them more slots. If the event loop was blocked most of the time, a handler
          computed without an await: this one if the run is long, another one if the queue is long.
        </p>
      )}
    </>
  )
}

const None = () => (
  <Empty title="No call took longer than a millisecond in the last 5 minutes.">
    <p>
      Here you see the ten slowest calls of each task and worker, and where each spent its time: in the backlog, in the
      worker before its handler started, or in its handler. In a terminal:
    </p>
    <Command>pshub slow</Command>
  </Empty>
)

const NoneFits = ({ state }: { state: QueryState }) => (
  <Empty title="No matching slow calls.">
    <p>
      <a href={state.link({ q: undefined, task: undefined, phase: undefined, page: undefined })}>Show all slow calls</a>
    </p>
    <p class="quiet">Slow calls are kept for 5 minutes.</p>
  </Empty>
)
