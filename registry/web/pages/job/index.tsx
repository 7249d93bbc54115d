import '../../looks/try-it/index.css'
import { useRoute } from 'preact-iso'
import type { JobDetail } from '../../../job-contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { at, jobsPath, keyPath, queuePath, taskPath } from '../../address/paths.ts'
import { useQuery } from '../../address/use-query.ts'
import { type Repeated, useRepeated } from '../../live/repeated.ts'
import { useLive } from '../../live/stream.ts'
import { Empty, Loading, Unread } from '../../parts/empty.tsx'
import { Fact } from '../../parts/fact.tsx'
import { JobBadge } from '../../parts/job-badge.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { ProgressView } from '../../parts/progress.tsx'
import { Text, WrappedText } from '../../parts/text.tsx'
import { Moment } from '../../parts/time.tsx'
import { WorkerLink } from '../../parts/worker-link.tsx'
import { seenState } from '../../rows/jobs.ts'
import { count } from '../../text/figures.ts'
import { JobActions } from './actions.tsx'
import { BatchPicture } from './batch.tsx'
import { ChainPicture } from './chain.tsx'
import { Failures } from './failures.tsx'
import { Timeline } from './timeline.tsx'
import { Values } from './values.tsx'

const refreshMs = 2000

export const JobPage = () => {
  const id = useRoute().params.job ?? ''
  // Another job is another page.
  return <OneJob key={id} id={id} />
}

const OneJob = ({ id }: { id: string }) => {
  // Ages are counted from Redis' clock, which comes with the stream.
  useLive('queues')
  const { query } = useQuery()
  const seen = { queue: query.queue, state: seenState(query.state), atMs: query.at }
  const place = new URLSearchParams(
    Object.entries(seen).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  const job = useRepeated<JobDetail>(`jobs/${inAddress(id)}?${place}`, refreshMs)
  const { value, failure } = job
  return (
    <>
      <PageHead title={`Job ${id}`} before={<a href={at('jobs')}>Jobs</a>}>
        {value && (
          <div class="head-tools">
            <JobBadge state={value.state} />
          </div>
        )}
      </PageHead>
      {!value && !failure && <Loading />}
      {failure && failure.status !== 404 && !value && <Unread what="This job" why={failure.message} />}
      {failure?.status === 404 && <Gone wasThere={value !== undefined} />}
      {value && <Details job={value} read={job} isGone={failure?.status === 404} />}
    </>
  )
}

const Gone = ({ wasThere }: { wasThere: boolean }) => (
  <Empty title={wasThere ? 'The job is gone; this is its last known state.' : 'There is no record of this job.'}>
    <p>
      A successful job is deleted unless it is tracked. The record of a tracked job is kept for an hour, or as long as
      its options say. To find an untracked job, search <a href={at('jobs')}>the list of jobs</a>.
    </p>
  </Empty>
)

const Details = ({ job, read, isGone }: { job: JobDetail; read: Repeated<JobDetail>; isGone: boolean }) => (
  <>
    {!isGone && <JobActions job={job} onDone={read.again} />}
    <Facts job={job} />
    {job.state === 'dead' && !job.hasMessage && (
      <p class="note warn">It is no longer among the dead jobs: somebody deleted it, or newer dead jobs replaced it.</p>
    )}
    <Timeline job={job} />
    {job.chain && <ChainPicture chain={job.chain} self={job.id} onDone={read.again} />}
    {job.batch && <BatchPicture batch={job.batch} />}
    <Failures of={job} />
    <Values job={job} />
    {job.state === 'done' && job.result === undefined && <p class="quiet">Its result is not kept.</p>}
  </>
)

const Facts = ({ job }: { job: JobDetail }) => (
  <dl class="facts">
    <Fact name="Task">
      <a href={taskPath(job.task)}>
        <Text>{job.task}</Text>
      </a>
    </Fact>
    <Fact name="Queue">
      <a href={queuePath(job.queue)}>
        <Text class="short">{job.queue}</Text>
      </a>
    </Fact>
    {job.progress && (
      <Fact name="Progress">
        <ProgressView progress={job.progress} />
      </Fact>
    )}
    <Fact name="Failed">
      {job.tries === 0 ? 'never' : job.tries === 1 ? 'once' : `${count(job.tries)} times`}
      {job.retries !== undefined && <span class="quiet"> of {count(job.retries + 1)} tries</span>}
    </Fact>
    {job.key !== undefined && (
      <Fact name="Key">
        <a href={keyPath({ task: job.task, key: job.key, queue: job.queue })}>
          <Text class="short">{job.key}</Text>
        </a>
      </Fact>
    )}
    {job.priority !== 'normal' && <Fact name="Priority">{job.priority}</Fact>}
    {(
      [
        ['Enqueued', job.enqueuedMs],
        [job.state === 'retrying' ? 'Next try' : 'Due', job.dueMs],
        ['Started', job.startedMs],
        [job.state === 'dead' ? 'Dead since' : 'Ended', job.endedMs],
        ['Not after', job.expiresMs],
      ] as const
    ).map(
      ([name, atMs]) =>
        atMs !== undefined && (
          <Fact key={name} name={name}>
            <span>
              <Moment atMs={atMs} />
            </span>
          </Fact>
        ),
    )}
    {job.worker !== undefined && (
      <Fact name="Worker">
        <WorkerLink id={job.worker} />
      </Fact>
    )}
    {job.from !== undefined && job.from !== '' && (
      <Fact name="Enqueued by">
        <Text class="short">{job.from}</Text>
      </Fact>
    )}
    {job.unique !== undefined && (
      <Fact name="Unique for">
        <WrappedText>{job.unique}</WrappedText>
      </Fact>
    )}
    <Fact name="Others">
      <a href={jobsPath({ task: job.task, ...(seenState(job.state) ? { state: job.state } : {}) })}>
        jobs of this task
      </a>
    </Fact>
  </dl>
)
