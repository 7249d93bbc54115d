import { useState } from 'preact/hooks'
import type { DeadOfKey, KeyDetail } from '../../../job-contract.ts'
import { at, jobPath, jobsPath, queuePath, taskPath } from '../../address/paths.ts'
import { useQuery } from '../../address/use-query.ts'
import { type Repeated, useRepeated } from '../../live/repeated.ts'
import { useLive } from '../../live/stream.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Empty, Loading, Unread } from '../../parts/empty.tsx'
import { Fact } from '../../parts/fact.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Text } from '../../parts/text.tsx'
import { Moment } from '../../parts/time.tsx'
import { WorkerLink } from '../../parts/worker-link.tsx'
import { count } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'
import { Failures } from '../job/failures.tsx'
import { KeyActions } from './actions.tsx'
import { Dead, Line, Payloads } from './lists.tsx'

const refreshMs = 2000
/** All dead jobs of the queue are looked through for these. */
const deadRefreshMs = 15_000

export const KeyPage = () => {
  const { query } = useQuery()
  const { task = '', key = '', queue = '' } = query
  const place = new URLSearchParams({ task, key, ...(queue === '' ? {} : { queue }) }).toString()
  if (task === '' || key === '')
    return (
      <>
        <PageHead title="Key" before={<a href={at('jobs')}>Jobs</a>} />
        <Empty title="Which key?">
          <p>
            A key belongs to a task: enter both on <a href={at('jobs')}>the page of jobs</a>.
          </p>
        </Empty>
      </>
    )
  // Another key is another page.
  return <OneKey key={place} place={place} name={key} />
}

const OneKey = ({ place, name }: { place: string; name: string }) => {
  // Ages are counted from Redis' clock, which comes with the stream.
  useLive('queues')
  const read = useRepeated<KeyDetail>(`keys?${place}`, refreshMs)
  const dead = useRepeated<DeadOfKey>(`keys/dead?${place}`, deadRefreshMs)
  const { value, failure } = read
  return (
    <>
      <PageHead title={`Key ${name}`} before={<a href={at('jobs')}>Jobs</a>}>
        {value && (
          <div class="head-tools">
            <State state={value.state} />
          </div>
        )}
      </PageHead>
      {!value && !failure && <Loading />}
      {failure && !value && <Unread what="This key" why={failure.message} />}
      {value && <Details value={value} read={read} dead={dead} />}
    </>
  )
}

const states: Record<KeyDetail['state'], { tone: Tone; title: string }> = {
  running: { tone: 'good', title: 'A worker runs it; waiting jobs follow.' },
  due: { tone: 'plain', title: 'It runs as soon as a slot is idle.' },
  later: { tone: 'quiet', title: 'It is scheduled for later.' },
  empty: { tone: 'quiet', title: 'Nothing waits or runs.' },
}

const State = ({ state }: { state: KeyDetail['state'] }) => (
  <Badge tone={states[state]?.tone ?? 'quiet'} title={states[state]?.title ?? ''}>
    {printable(state)}
  </Badge>
)

interface DetailsProps {
  value: KeyDetail
  read: Repeated<KeyDetail>
  dead: Repeated<DeadOfKey>
}

const Details = ({ value, read, dead }: DetailsProps) => {
  const [said, setSaid] = useState('')
  const onDone = (what: string) => {
    setSaid(what)
    read.again()
    dead.again()
  }
  const { state, waiting, payloads, jobs } = value
  return (
    <>
      <KeyActions of={value} dead={dead.value?.count ?? 0} said={said} onDone={onDone} />
      <Facts of={value} />
      {state === 'empty' && <p class="quiet">{states.empty.title}</p>}
      {/* Where its task was of the other kind before, there may be both. */}
      {payloads.length > 0 && <Payloads rows={payloads} all={waiting - jobs.length} />}
      {jobs.length > 0 && <Line rows={jobs} all={waiting - payloads.length} queue={value.queue} />}
      <Failures of={value} />
      {dead.value && dead.value.jobs.length > 0 && <Dead of={dead.value} queue={value.queue} />}
    </>
  )
}

const Facts = ({ of: { task, key, queue, dueMs, run, waiting, tries } }: { of: KeyDetail }) => (
  <dl class="facts">
    <Fact name="Task">
      <a href={taskPath(task)}>
        <Text>{task}</Text>
      </a>
    </Fact>
    <Fact name="Queue">
      <a href={queuePath(queue)}>
        <Text class="short">{queue}</Text>
      </a>
    </Fact>
    <Fact name="Waiting">{count(waiting)}</Fact>
    {dueMs !== undefined && (
      <Fact name="Due">
        <span>
          <Moment atMs={dueMs} />
        </span>
      </Fact>
    )}
    {run && (
      <>
        <Fact name="Runs since">
          <span>
            <Moment atMs={run.sinceMs} />
          </span>
        </Fact>
        <Fact name="Worker">
          <WorkerLink id={run.worker} />
        </Fact>
        <Fact name="Fence">
          <span class="mono">{run.fence}</span>
        </Fact>
        <Fact name="Run">
          <a href={jobPath(run.id, { queue, state: 'running' })}>
            <Text class="short mono">{run.id}</Text>
          </a>
        </Fact>
      </>
    )}
    <Fact name="Failed">{tries === 0 ? 'never' : tries === 1 ? 'once' : `${count(tries)} times`}</Fact>
    <Fact name="Others">
      <a href={jobsPath({ task, key, queue })}>jobs with this key</a>
    </Fact>
  </dl>
)
