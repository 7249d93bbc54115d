import { useMemo } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { TaskDetail } from '../../../contract.ts'
import { at } from '../../address/paths.ts'
import { choiceOf } from '../../address/query.ts'
import { useQuery } from '../../address/use-query.ts'
import { HistoryCharts } from '../../charts/history.tsx'
import { queues, tasks } from '../../live/shown.ts'
import { useLive } from '../../live/stream.ts'
import { useTaskDetail } from '../../live/task-detail.ts'
import { Boundary } from '../../parts/boundary.tsx'
import { Loading, Unread } from '../../parts/empty.tsx'
import { Markdown } from '../../parts/markdown.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { SchemaView } from '../../parts/schema-view.tsx'
import { SwitchLinks } from '../../parts/switch-links.tsx'
import { TaskBadges } from '../../parts/task-badges.tsx'
import { QueueTroubles } from '../../parts/troubles.tsx'
import { SlowCallsPart } from '../../tables/slow-calls-part.tsx'
import { printable } from '../../text/printable.ts'
import { TryIt } from '../../try-it/index.tsx'
import { Callers } from './callers.tsx'
import { TaskFacts } from './facts.tsx'
import { Failures } from './failures.tsx'
import { Providers } from './providers.tsx'
import { UnknownTask } from './unknown.tsx'
import { Versions } from './versions.tsx'

export const TaskPage = () => {
  const task = useRoute().params.task ?? ''
  // Another task is another page: nothing of the form before stays.
  return <OneTask key={task} task={task} />
}

const OneTask = ({ task }: { task: string }) => {
  useLive('tasks', 'workers', 'queues')
  const state = useTaskDetail(task)
  const row = tasks.value?.get(task)
  return (
    <>
      <PageHead title={task} before={<a href={at('tasks')}>Tasks</a>}>
        {row && <TaskBadges row={row} />}
      </PageHead>
      {state.kind === 'reading' && <Loading />}
      {state.kind === 'unknown' && <UnknownTask task={task} />}
      {state.kind === 'failed' && <Unread what="This task" why={state.message} />}
      {state.kind === 'there' && <Parts detail={state.detail} />}
    </>
  )
}

const parts = ['try', 'schema', 'versions', 'live', 'workers', 'failures'] as const

/** The parts of the page; the form stays while another part is shown, with what was written into it. */
const Parts = ({ detail }: { detail: TaskDetail }) => {
  const state = useQuery()
  const part = choiceOf(parts, state.query.part)
  const names = {
    try: 'Try it',
    schema: 'Schema',
    versions: 'Versions',
    live: 'Charts',
    workers: 'Workers',
    failures: 'Failures',
  }
  return (
    <>
      <Boundary what="Facts" of={detail}>
        <Troubles detail={detail} />
        <TaskFacts detail={detail} />
      </Boundary>
      <SwitchLinks
        label="Parts of this page"
        name="part"
        value={part}
        state={state}
        options={parts.map(value => ({ value, text: names[value] }))}
      />
      <div class="task-try" hidden={part !== 'try'}>
        <Boundary what="The description" of={detail.description}>
          <Description text={detail.description} />
        </Boundary>
        <Boundary what="The form" of={detail}>
          <Form detail={detail} />
        </Boundary>
      </div>
      {part !== 'try' && (
        <Boundary key={part} what="This part" of={detail}>
          <Part part={part} detail={detail} />
        </Boundary>
      )}
    </>
  )
}

const Part = ({ part, detail }: { part: (typeof parts)[number]; detail: TaskDetail }) => (
  <>
    {part === 'schema' && <Schemas detail={detail} />}
    {part === 'versions' && <Versions detail={detail} />}
    {part === 'live' && (
      <>
        <HistoryCharts of={{ task: detail.row.task }} charts={['rate', 'errors', 'run', 'waits']} />
        <SlowCallsPart
          id="slow"
          calls={detail.slow}
          of="task"
          query={{ task: detail.row.task }}
          none="No call took longer than a millisecond."
        />
      </>
    )}
    {part === 'workers' && (
      <>
        <Providers detail={detail} />
        <Callers detail={detail} />
      </>
    )}
    {part === 'failures' && <Failures detail={detail} />}
  </>
)

/** Of the queues that would take its calls now: those with workers, or all where none has any. */
const Troubles = ({ detail }: { detail: TaskDetail }) => {
  const { queues: own } = tasks.value?.get(detail.row.task) ?? detail.row
  const served = own.filter(({ workers }) => workers > 0)
  const rows = (served.length > 0 ? served : own).flatMap(({ queue }) => queues.value?.get(queue) ?? [])
  return <QueueTroubles rows={rows} isNamed />
}

/** Drawn anew only when what the form is made from changed, not with every figure. */
const Form = ({ detail }: { detail: TaskDetail }) => {
  const { row, description, args, result, unusable, versions } = detail
  const kept = useMemo(
    () => detail,
    [row.task, row.timeoutMs, row.idempotent, row.keyed, row.workers, description, args, result, unusable, versions],
  )
  return useMemo(() => <TryIt detail={kept} />, [kept])
}

const Description = ({ text }: { text: string }) => (
  <section class="description" aria-labelledby="description">
    <h2 id="description">Description</h2>
    {text.trim() === '' ? (
      <p class="quiet">
        No description. Set <code>description</code> in <code>defineTask</code> to show one here.
      </p>
    ) : (
      <Markdown>{text}</Markdown>
    )}
  </section>
)

const Schemas = ({ detail }: { detail: TaskDetail }) => (
  <section class="part" aria-labelledby="schemas">
    <h2 id="schemas">Schema</h2>
    {detail.unusable !== undefined && <p class="note warn wrap">Not used for checks: {printable(detail.unusable)}</p>}
    <div class="schemas">
      <SchemaView name="Arguments" schema={detail.args} none="None declared: any JSON is accepted." />
      <SchemaView name="Result" schema={detail.result} none="None declared: it can be any JSON." />
      {detail.yields !== undefined && (
        <SchemaView
          name="Each chunk"
          schema={detail.yields === true ? undefined : detail.yields}
          none="None declared: chunks can be any JSON."
        />
      )}
    </div>
  </section>
)
