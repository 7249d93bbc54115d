import { useMemo } from 'preact/hooks'
import type { FailureOverview, RefusalOverview } from 'pshub'
import { type QueryState, useQuery } from '../address/use-query.ts'
import { useRepeated } from '../live/repeated.ts'
import { useLive } from '../live/stream.ts'
import { Command } from '../parts/command.tsx'
import { Empty, Loading } from '../parts/empty.tsx'
import { Export } from '../parts/export.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Pager } from '../parts/pager.tsx'
import { NameField, SearchField } from '../parts/search-field.tsx'
import { eachFailure, exportedFailures } from '../rows/exported.ts'
import {
  type FailureGroup,
  type FailureView,
  failureGroups,
  failurePage,
  failureView,
  timesOf,
} from '../rows/failures.ts'
import type { RowsPage } from '../rows/page.ts'
import { FailureTable } from '../tables/failures.tsx'
import { plural } from '../text/figures.ts'
import { printable } from '../text/printable.ts'

const refreshMs = 5000

/** What failed in the last hour, of all tasks: told by workers, and by hubs where no worker knows of it. */
export const FailuresPage = () => {
  // Ages are counted from Redis' clock, which comes with the stream.
  useLive('summary')
  const state = useQuery()
  const failed = useRepeated<FailureOverview[]>('failures', refreshMs)
  const refused = useRepeated<RefusalOverview[]>('refusals', refreshMs)
  const failure = failed.failure ?? refused.failure
  const view = useMemo(() => failureView(state.query), [state.query])
  const groups = useMemo(
    () => (failed.value && refused.value ? failureGroups(failed.value, refused.value) : undefined),
    [failed.value, refused.value],
  )
  const listed = useMemo(() => groups && failurePage(groups, view), [groups, view])
  return (
    <>
      <PageHead title="Failures">{groups && listed && <Found groups={groups} found={listed.found} />}</PageHead>
      {!groups && !failure && <Loading />}
      {!groups && failure && (
        <Empty title="Failures cannot be read now.">
          <p class="wrap">{printable(failure.message)} It is tried again.</p>
        </Empty>
      )}
      {groups && listed && <Listed groups={groups} listed={listed} view={view} state={state} />}
    </>
  )
}

const kinds = (groups: readonly FailureGroup[]): string =>
  plural(timesOf(groups), 'failure') + (groups.length === 0 ? '' : ` of ${plural(groups.length, 'kind')}`)

const Found = ({ groups, found }: { groups: FailureGroup[]; found: FailureGroup[] }) => (
  <>
    <p class="quiet" role="status">
      {found.length === groups.length ? kinds(groups) : `${kinds(found)}, out of ${kinds(groups)}`}
    </p>
    <Export one="failure" columns={exportedFailures} rows={eachFailure(found)} />
  </>
)

interface ListedProps {
  groups: FailureGroup[]
  listed: RowsPage<FailureGroup>
  view: FailureView
  state: QueryState
}

const Listed = ({ groups, listed: { shown, page, pages }, view, state }: ListedProps) => {
  const isFiltered = view.task !== '' || view.code !== '' || view.search !== ''
  if (groups.length === 0 && !isFiltered) return <None />
  return (
    <>
      <search class="filters">
        <SearchField name="Search failures" state={state} />
        <NameField label="Task" name="task" names={groups.map(({ task }) => task)} value={view.task} state={state} />
        <NameField label="Code" name="code" names={groups.map(({ code }) => code)} value={view.code} state={state} />
      </search>
      {shown.length === 0 ? <NoneFits state={state} /> : <FailureTable groups={shown} view={view} state={state} />}
      <Pager page={page} pages={pages} state={state} />
      {shown.length > 0 && (
        <p class="quiet nothing">
          Of the last hour. A worker keeps the last ten failures of each of its tasks; a hub counts what it refused or
          gave up since it started. The log of the worker has the same request, with the stack.
        </p>
      )}
    </>
  )
}

const None = () => (
  <Empty title="Nothing failed in the last hour, and no caller was refused.">
    <p>
      What a handler throws comes here as TaskFailed, arguments that do not fit as InvalidArgs, and calls that found no
      worker in time as NoWorkers, Overloaded or Timeout: with the message, the request and who told it. In a terminal:
    </p>
    <Command>pshub failures</Command>
  </Empty>
)

const NoneFits = ({ state }: { state: QueryState }) => (
  <Empty title="No failure fits.">
    <p>
      <a href={state.link({ q: undefined, task: undefined, code: undefined, page: undefined })}>Show all failures</a>
    </p>
    <p class="quiet">Only what ended within the last hour is kept.</p>
  </Empty>
)
