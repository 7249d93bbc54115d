import { useMemo } from 'preact/hooks'
import type { FailureOverview, UnansweredOverview } from 'pshub'
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
import { NameField, SearchField } from '../parts/search-field.tsx'
import { eachFailure, exportedFailures } from '../rows/exported.ts'
import {
  type FailureGroup,
  type FailureView,
  failureGroups,
  failurePage,
  failuresQuery,
  failureView,
  timesOf,
} from '../rows/failures.ts'
import type { RowsPage } from '../rows/page.ts'
import { FailureTable } from '../tables/failures.tsx'
import { count, plural } from '../text/figures.ts'

const refreshMs = 5000

/** What failed in the last hour, of all tasks: told by workers, and by hubs where no worker knows of it. */
export const FailuresPage = () => {
  // Ages are counted from Redis' clock, which comes with the stream.
  useLive('summary')
  const state = useQuery()
  const view = useMemo(() => failureView(state.query), [state.query])
  const reads = {
    failed: useRepeated<CallList<FailureOverview>>(`failures${failuresQuery(view)}`, refreshMs),
    unanswered: useRepeated<CallList<UnansweredOverview>>(`unanswered${failuresQuery(view)}`, refreshMs),
  }
  const failure = reads.failed.failure ?? reads.unanswered.failure
  const [failed, unanswered] = [useLast(reads.failed), useLast(reads.unanswered)]
  const known = useMemo(
    () =>
      failed && unanswered ? { failed, unanswered, groups: failureGroups(failed.calls, unanswered.calls) } : undefined,
    [failed, unanswered],
  )
  const listed = useMemo(() => known && failurePage(known.groups, view), [known, view])
  return (
    <>
      <PageHead title="Failures">
        <SavedFilters />
        {known && listed && <Found known={known} found={listed.found} view={view} />}
      </PageHead>
      {!known && !failure && <Loading />}
      {!known && failure && <Unread what="Failures" why={failure.message} />}
      {known && listed && <Listed known={known} listed={listed} view={view} state={state} />}
    </>
  )
}

const kinds = (groups: readonly FailureGroup[]): string =>
  plural(timesOf(groups), 'failure') + (groups.length === 0 ? '' : ` of ${plural(groups.length, 'kind')}`)

interface Known {
  failed: CallList<FailureOverview>
  unanswered: CallList<UnansweredOverview>
  groups: FailureGroup[]
}

const isFiltered = ({ task, code, search }: FailureView): boolean => `${task}${code}${search}` !== ''

const Found = ({ known, found, view }: { known: Known; found: FailureGroup[]; view: FailureView }) => {
  const { failed, unanswered } = known
  const total = failed.total + unanswered.total
  return (
    <>
      <p class="quiet" role="status">
        {kinds(found)}
        {isFiltered(view) && `, out of ${count(total)}`}
      </p>
      <Export
        one="failure"
        columns={exportedFailures}
        rows={eachFailure(found)}
        of={failed.fitting + unanswered.fitting}
      />
    </>
  )
}

interface ListedProps {
  known: Known
  listed: RowsPage<FailureGroup>
  view: FailureView
  state: QueryState
}

const Listed = ({
  known: { failed, unanswered, groups },
  listed: { shown, page, pages },
  view,
  state,
}: ListedProps) => {
  if (groups.length === 0 && !isFiltered(view)) return <None />
  return (
    <>
      <search class="filters">
        <SearchField name="Search failures" state={state} />
        <NameField
          label="Task"
          name="task"
          names={[...failed.tasks, ...unanswered.tasks]}
          value={view.task}
          state={state}
        />
        <NameField
          label="Code"
          name="code"
          names={[...failed.codes, ...unanswered.codes]}
          value={view.code}
          state={state}
        />
      </search>
      <LeftOut list={failed} of="failures that workers report" first="newest" />
      <LeftOut list={unanswered} of="counts of hubs" first="newest" />
      {shown.length === 0 ? <NoneFits state={state} /> : <FailureTable groups={shown} view={view} state={state} />}
      <Pager page={page} pages={pages} state={state} />
      {shown.length > 0 && (
        <p class="quiet nothing">
          Last hour. A worker keeps the last ten failures of each task. A hub counts the calls since its start that no
          worker answered. The log of the worker has the same request id, with the stack.
        </p>
      )}
    </>
  )
}

const None = () => (
  <Empty title="No call failed or was rejected in the last hour.">
    <p>
      Here you see errors of handlers (TaskFailed or a code of their own), arguments that violate the schema
      (InvalidArgs), and calls without a worker in time (NoWorkers, Overloaded, Timeout), with message, request and
      reporter. In a terminal:
    </p>
    <Command>pshub failures</Command>
  </Empty>
)

const NoneFits = ({ state }: { state: QueryState }) => (
  <Empty title="No matching failures.">
    <p>
      <a href={state.link({ q: undefined, task: undefined, code: undefined, page: undefined })}>Show all failures</a>
    </p>
    <p class="quiet">Failures are kept for an hour.</p>
  </Empty>
)
