import type { TaskDetail } from '../../../contract.ts'
import { queuePath, taskPath } from '../../address/paths.ts'
import { Sparkline } from '../../charts/sparkline.tsx'
import { tasks, workers } from '../../live/shown.ts'
import { Fact } from '../../parts/fact.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { callsOf, rejectedCount } from '../../rows/queue-state.ts'
import { count, ms, percent, perSecond, plural, us } from '../../text/figures.ts'

const aboutKeyed = {
  ordered: 'Jobs with the same key run one at a time; it cannot be called',
  merged: 'Payloads with the same key are merged into one run; it cannot be called',
}

/** What is worth to know at first sight: as it was declared, and the figures of the last minute. */
export const TaskFacts = ({ detail }: { detail: TaskDetail }) => {
  const row = tasks.value?.get(detail.row.task) ?? detail.row
  const { load } = row
  const servedSinceMs = sinceOf(detail.providers)
  const others = detail.versions.filter(({ task }) => task !== row.task)
  return (
    <dl class="facts">
      <Fact name={row.queues.length > 1 ? 'Queues' : 'Queue'}>
        {row.queues.map(({ queue, first }) => (
          <span key={queue}>
            <a class="version-link" href={queuePath(queue)}>
              <Text class="short">{queue}</Text>
            </a>
            {first && row.queues.length > 1 && ' (first) '}
          </span>
        ))}
      </Fact>
      <Fact name="Timeout">{ms(row.timeoutMs)}</Fact>
      <Fact name="Idempotent" title="Whether it may run again if its worker crashes">
        {row.idempotent ? 'yes' : 'no'}
      </Fact>
      {row.keyed && (
        <Fact name="Keyed" title={aboutKeyed[row.keyed]}>
          {row.keyed}
        </Fact>
      )}
      <Fact name="Workers">
        {plural(row.workers, 'worker')} on {plural(row.hosts, 'host')}
      </Fact>
      {servedSinceMs === undefined ? (
        <Fact name="Last published">
          <Ago atMs={detail.registeredMs} />
        </Fact>
      ) : (
        <Fact name="Served since" title="Since the first of its live workers started">
          <Ago atMs={servedSinceMs} />
        </Fact>
      )}
      <Fact name="Rate">
        {perSecond(load.callsPerSecond)} <Sparkline values={row.trend} name="Calls per second" format={perSecond} />
      </Fact>
      <Fact name="Run p50 · p95 · p99">
        {us(load.us.exec?.p50)} · {us(load.us.exec?.p95)} · {us(load.us.exec?.p99)}
      </Fact>
      <Fact name="Wait p95">{us(load.us.backlog?.p95)}</Fact>
      <Fact name="Errors">
        <span class={load.errorRate > 0 ? 'failing' : undefined}>{percent(load.errorRate)}</span>
      </Fact>
      <Fact name="Rejected" title="Calls of the last minute that were not run (red), or that the handler rejected">
        <span class={callsOf(load.notRun) > 0 ? 'failing' : undefined}>{count(rejectedCount(row))}</span>
      </Fact>
      {others.length > 0 && (
        <Fact name="Other versions">
          {others.slice(0, 5).map(({ task, version }) => (
            <a key={task} class="version-link" href={taskPath(task)}>
              <Text class="short">{version}</Text>
            </a>
          ))}
        </Fact>
      )}
    </dl>
  )
}

/** When the first of these workers started; undefined where none says. */
const sinceOf = (ids: readonly string[]): number | undefined => {
  const times = ids.map(id => (workers.value?.get(id)?.started ?? 0) * 1000).filter(time => time > 0)
  return times.length === 0 ? undefined : Math.min(...times)
}
