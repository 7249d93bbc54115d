import type { ComponentChildren } from 'preact'
import type { QueuedJob } from 'pshub'
import { jobPath, keyPath, taskPath } from '../address/paths.ts'
import { JobBadge } from '../parts/job-badge.tsx'
import { Text } from '../parts/text.tsx'
import { Ago, EnqueuedOrDue, Until } from '../parts/time.tsx'
import { WorkerLink } from '../parts/worker-link.tsx'
import { jobPlace, keyOfJob, type ListedState } from '../rows/jobs.ts'
import { count, plural } from '../text/figures.ts'
import { QueueCell } from './queue-cell.tsx'

interface Column {
  name: string
  isNumber?: boolean
  value(job: QueuedJob): ComponentChildren
}

const enqueued: Column = { name: 'enqueued', value: ({ enqueuedMs }) => <EnqueuedOrDue atMs={enqueuedMs} /> }
const due: Column = { name: 'due', value: ({ dueMs }) => <Until atMs={dueMs} /> }
const tries: Column = { name: 'tries', isNumber: true, value: job => count(job.tries) }
const from: Column = { name: 'from', value: job => <Text class="short">{job.from ?? '–'}</Text> }
const priority: Column = { name: 'priority', value: job => job.priority }
/** Why the last try of a job failed. */
export const LastFailure = ({ error }: Pick<QueuedJob, 'error'>) =>
  error ? (
    <span class="job-failure">
      <span class="failing">
        <Text class="short">{error.code}</Text>
      </span>{' '}
      <Text>{error.message}</Text>
    </span>
  ) : (
    <>–</>
  )

const failure: Column = {
  name: 'last failure',
  value: ({ error }) => <LastFailure error={error} />,
}
const worker: Column = {
  name: 'worker',
  value: job => (job.worker === undefined ? '–' : <WorkerLink id={job.worker} />),
}

const columns: Record<ListedState, readonly Column[]> = {
  waiting: [enqueued, priority, tries, from],
  running: [{ ...enqueued, name: 'due since' }, tries, worker, from],
  scheduled: [due, priority, from],
  retrying: [due, tries, failure, from],
  dead: [{ name: 'dead since', value: ({ deadMs }) => <Ago atMs={deadMs} /> }, tries, failure, from],
  done: [
    { name: 'state', value: ({ state }) => <JobBadge state={state} /> },
    { name: 'ended', value: ({ endedMs }) => <Ago atMs={endedMs} /> },
    tries,
    worker,
  ],
}

/** Jobs of one state, in the order in which the service listed them. */
export const JobTable = ({ jobs, state }: { jobs: readonly QueuedJob[]; state: ListedState }) => (
  <div class="scroll panel">
    <table class="rows cards">
      <caption class="visually-hidden">Jobs that are {state}</caption>
      <thead>
        <tr>
          <th scope="col">job</th>
          <th scope="col">queue</th>
          {columns[state].map(({ name, isNumber }) => (
            <th key={name} scope="col" class={isNumber ? 'number' : undefined}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {jobs.map((job, at) => (
          <Row key={`${job.queue} ${job.id ?? at}`} job={job} state={state} />
        ))}
      </tbody>
    </table>
  </div>
)

const Row = ({ job, state }: { job: QueuedJob; state: ListedState }) => (
  <tr>
    <th scope="row" class="job-name">
      <a class="plain" href={taskPath(job.task)}>
        <Text class="job-task">{job.task}</Text>
      </a>
      <span class="summary quiet">
        {job.payloads !== undefined ? (
          plural(job.payloads, 'payload')
        ) : job.id === undefined ? (
          'without an id'
        ) : (
          <a href={jobPath(job.id, jobPlace(job))}>
            <Text class="job-task mono">{job.id}</Text>
          </a>
        )}
      </span>
      {job.key !== undefined && (
        <span class="summary quiet">
          key <Key job={job} />
        </span>
      )}
    </th>
    <QueueCell queue={job.queue} />
    {columns[state].map(({ name, isNumber, value }) => (
      <td key={name} data-name={name} class={isNumber ? 'number' : name === 'last failure' ? 'grow' : undefined}>
        {value(job)}
      </td>
    ))}
  </tr>
)

const Key = ({ job }: { job: QueuedJob }) => {
  const place = keyOfJob(job)
  const text = <Text class="short">{job.key}</Text>
  return place ? <a href={keyPath(place)}>{text}</a> : text
}
