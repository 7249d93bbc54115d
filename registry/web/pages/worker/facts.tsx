import type { WorkerDetail } from '../../../contract.ts'
import { queuePath } from '../../address/paths.ts'
import { Bar } from '../../parts/bar.tsx'
import { Fact } from '../../parts/fact.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago, Moment } from '../../parts/time.tsx'
import { WorkerLink } from '../../parts/worker-link.tsx'
import { clientOf } from '../../text/client.ts'
import { bytes, count, ms, percent, perSecond, us } from '../../text/figures.ts'

/** What a worker is, and what it does: figures of the last minute, and counts since its start. */
export const WorkerFacts = ({ detail: { row, others } }: { detail: WorkerDetail }) => {
  const { language, version } = clientOf(row.client)
  return (
    <>
      <dl class="facts">
        <Fact name="Client" title={row.client}>
          <Text>{language ? `${language}, pshub ${version}` : row.client || 'unknown'}</Text>
        </Fact>
        {row.build !== undefined && (
          <Fact name="Build" title="Build of the program, as set for the worker">
            <Text class="short">{row.build}</Text>
          </Fact>
        )}
        <Fact name="Host">
          <Text>{row.host || 'unknown'}</Text>
        </Fact>
        <Fact name="Process">pid {row.pid}</Fact>
        <Fact name="Queue">
          <a href={queuePath(row.queue)}>
            <Text class="short">{row.queue}</Text>
          </a>
        </Fact>
        <Fact name="Started">
          <span>
            <Moment atMs={row.started * 1000} />
          </span>
        </Fact>
        <Fact name="Last beat">
          <Ago atMs={row.stats?.seen} />
        </Fact>
        {others.length > 0 && (
          <Fact name="Same process" title="Of other queues or shards, or its successor after a lost lease">
            {others.map(({ id, queue, live }) => (
              <span key={id}>
                <WorkerLink id={id} /> of {queue}
                {!live && ' (lost)'}
              </span>
            ))}
          </Fact>
        )}
      </dl>
      <Figures row={row} />
    </>
  )
}

/** One that is lost has no figures of the last minute. */
const Figures = ({ row }: { row: WorkerDetail['row'] }) => {
  const { stats, load, live } = row
  const { ok = 0, rejected = 0, failed = 0, expired = 0, malformed = 0, unserved = 0 } = stats?.counters ?? {}
  return (
    <dl class="facts">
      <Fact name={live ? 'Slots busy' : 'Slots that were busy'}>
        <Bar value={stats?.busy ?? 0} total={row.slots} name="slots busy" />
      </Fact>
      {live && (
        <>
          <Fact name="Rate" title="Of the last minute">
            {perSecond(load.callsPerSecond)}
          </Fact>
          <Fact name="Errors" title="Of the last minute">
            <span class={load.errorRate > 0 ? 'failing' : undefined}>{percent(load.errorRate)}</span>
          </Fact>
          <Fact name="Run p50 · p95" title="Of the last minute">
            {us(load.us.exec?.p50)} · {us(load.us.exec?.p95)}
          </Fact>
          <Fact name="Used" title="Share of its slots' time in the last minute">
            {percent(stats?.busyShare)}
          </Fact>
          <Fact name="Loop p99" title="How late the event loop was with its timers, 99 of 100 times at most">
            {ms(stats?.loopMs?.p99)}
          </Fact>
        </>
      )}
      <Fact name="Memory">{bytes(stats?.rssBytes)}</Fact>
      <Fact name="Succeeded" title="Since its start">
        {count(ok)}
      </Fact>
      <Fact name="Rejected" title="Since its start: by handlers, or for their arguments">
        {count(rejected)}
      </Fact>
      <Fact name="Failed" title="Since its start">
        {count(failed)}
      </Fact>
      <Fact name="Expired" title="Since its start: not started, because their deadline had passed">
        {count(expired)}
      </Fact>
      {malformed > 0 && (
        <Fact name="Malformed" title="Since its start: unreadable requests">
          {count(malformed)}
        </Fact>
      )}
      {unserved > 0 && (
        <Fact name="Unserved" title="Since its start: requests without a deadline for a task without workers">
          {count(unserved)}
        </Fact>
      )}
      {stats?.jobs && (
        <Fact name="Jobs run · retried · dead" title="Since its start">
          {count(stats.jobs.ran)} · {count(stats.jobs.retried)} · {count(stats.jobs.dead)}
        </Fact>
      )}
    </dl>
  )
}
