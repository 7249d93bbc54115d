import { useMemo } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { WorkerDetail } from '../../../contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { at, failuresPath } from '../../address/paths.ts'
import { useQuery } from '../../address/use-query.ts'
import { useRepeated } from '../../live/repeated.ts'
import { useLive } from '../../live/stream.ts'
import { Empty, Loading, Unread } from '../../parts/empty.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { WorkerCommand } from '../../parts/worker-command.tsx'
import { WorkerState } from '../../parts/worker-state.tsx'
import { failureGroups, failurePage, failureView } from '../../rows/failures.ts'
import { FailureTable } from '../../tables/failures.tsx'
import { SlowCallsPart } from '../../tables/slow-calls-part.tsx'
import { WorkerFacts } from './facts.tsx'
import { StateNote } from './state-note.tsx'
import { WorkerTasks } from './tasks.tsx'

const refreshMs = 2000
/** Failures that are shown. */
const most = 20

export const WorkerPage = () => {
  const id = useRoute().params.worker ?? ''
  // Another worker is another page.
  return <OneWorker key={id} id={id} />
}

const OneWorker = ({ id }: { id: string }) => {
  // Ages are counted from Redis' clock, which comes with the stream.
  useLive('summary')
  const { value, failure } = useRepeated<WorkerDetail>(`workers/${inAddress(id)}`, refreshMs)
  const isGone = failure?.status === 404
  return (
    <>
      <PageHead title={`Worker ${id}`} before={<a href={at('workers')}>Workers</a>}>
        {value && !isGone && (
          <div class="head-tools">
            <WorkerState row={value.row} />
          </div>
        )}
      </PageHead>
      {!value && !failure && <Loading />}
      {failure && !isGone && !value && <Unread what="This worker" why={failure.message} />}
      {isGone && <Gone known={value} />}
      {value && <Parts detail={value} isGone={isGone} />}
    </>
  )
}

const Gone = ({ known }: { known: WorkerDetail | undefined }) => (
  <Empty title={known ? 'The worker is gone; this is its last known state.' : 'The registry knows no such worker.'}>
    <p>
      The record of a worker is deleted when it stops, and an hour after it crashes. See{' '}
      <a href={at('workers')}>all workers</a>, or start one:
    </p>
    <WorkerCommand queue={known?.row.queue ?? 'default'} />
  </Empty>
)

const Parts = ({ detail, isGone }: { detail: WorkerDetail; isGone: boolean }) => (
  <>
    {!isGone && <StateNote detail={detail} />}
    <WorkerFacts detail={detail} />
    <WorkerTasks tasks={detail.tasks} />
    <Failures detail={detail} />
    <SlowCallsPart
      id="worker-slow"
      calls={detail.slow}
      of="worker"
      query={{ q: detail.row.id }}
      none="No call took longer than a millisecond here."
    />
  </>
)

const Failures = ({ detail: { row, failures } }: { detail: WorkerDetail }) => {
  const state = useQuery()
  const groups = useMemo(() => failureGroups(failures, []), [failures])
  const view = failureView({ sort: state.query.sort ?? '' })
  const { shown } = failurePage(groups, view)
  return (
    <section class="part" aria-labelledby="worker-failures">
      <div class="part-head">
        <h2 id="worker-failures">Last failures</h2>
        <a href={failuresPath({ q: row.id })}>All, with search</a>
      </div>
      {shown.length === 0 ? (
        <p class="quiet">Nothing failed here in the last hour.</p>
      ) : (
        <FailureTable groups={shown.slice(0, most)} view={view} state={state} of="worker" />
      )}
    </section>
  )
}
