import type { ComponentChildren } from 'preact'
import type { DeadOfKey, KeyDetail, KeyText } from '../../../job-contract.ts'
import { jobPath } from '../../address/paths.ts'
import { Text, WrappedText } from '../../parts/text.tsx'
import { Ago, EnqueuedOrDue } from '../../parts/time.tsx'
import { LastFailure } from '../../tables/jobs.tsx'
import { count } from '../../text/figures.ts'

interface PartProps {
  name: string
  title: string
  note: string | undefined
  heads: readonly string[]
  children: ComponentChildren
}

const Part = ({ name, title, note, heads, children }: PartProps) => (
  <section class="part" aria-labelledby={`key-${name}`}>
    <div class="part-head">
      <h2 id={`key-${name}`}>{title}</h2>
      {note !== undefined && <span class="quiet">{note}</span>}
    </div>
    <div class="scroll panel">
      <table class="rows cards">
        <thead>
          <tr>
            {heads.map(head => (
              <th key={head} scope="col" class={head === 'score' || head === 'tries' ? 'number' : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  </section>
)

const firstOf = (shown: number, all: number, which: string): string | undefined =>
  shown < all ? `the ${which} ${count(shown)} of ${count(all)}` : undefined

/** JSON that somebody enqueued; of very long ones the beginning. */
const Json = ({ name, of: { json, length } }: { name: string; of: KeyText }) => (
  <td data-name={name} class="grow message">
    <span class="mono">
      <WrappedText>{json}</WrappedText>
    </span>
    {json.length < length && <span class="quiet"> … {count(length)} characters</span>}
  </td>
)

/** What waits of a key whose jobs are merged: what comes first is above. */
export const Payloads = ({ rows, all }: { rows: KeyDetail['payloads']; all: number }) => (
  <Part name="payloads" title="Payloads" note={firstOf(rows.length, all, 'first')} heads={['score', 'payload']}>
    {rows.map(({ args, score }, at) => (
      <tr key={at}>
        <td data-name="score" class="number">
          {score}
        </td>
        <Json name="payload" of={args} />
      </tr>
    ))}
  </Part>
)

/** The line of an ordered key: the job above is the next one. */
export const Line = ({ rows, all, queue }: { rows: KeyDetail['jobs']; all: number; queue: string }) => (
  <Part
    name="line"
    title="Jobs in line"
    note={firstOf(rows.length, all, 'first')}
    heads={['job', 'enqueued', 'tries', 'arguments']}
  >
    {rows.map(({ id, enqueuedMs, tries, args }, at) => (
      <tr key={`${id} ${at}`}>
        <JobCell id={id} place={{ queue, state: 'waiting' }} />
        <td data-name="enqueued">
          <EnqueuedOrDue atMs={enqueuedMs} />
        </td>
        <td data-name="tries" class="number">
          {count(tries)}
        </td>
        <Json name="arguments" of={args} />
      </tr>
    ))}
  </Part>
)

const hasScores = (jobs: DeadOfKey['jobs']): boolean => jobs.some(({ score }) => score !== undefined)

/** What was given up of a key. */
export const Dead = ({ of: { jobs, count: all }, queue }: { of: DeadOfKey; queue: string }) => (
  <Part
    name="dead"
    title="Dead"
    note={firstOf(jobs.length, all, 'latest')}
    heads={['job', 'dead since', 'tries', ...(hasScores(jobs) ? ['score'] : []), 'last failure', 'arguments']}
  >
    {jobs.map(({ id, atMs, tries, score, error, args }, at) => (
      <tr key={`${id} ${at}`}>
        <JobCell id={id} place={{ queue, state: 'dead', at: String(Math.max(0, atMs) || 0) }} />
        <td data-name="dead since">
          <Ago atMs={atMs} />
        </td>
        <td data-name="tries" class="number">
          {count(tries)}
        </td>
        {hasScores(jobs) && (
          <td data-name="score" class="number">
            {score ?? '–'}
          </td>
        )}
        <td data-name="last failure" class="whole">
          <LastFailure error={error} />
        </td>
        <Json name="arguments" of={args} />
      </tr>
    ))}
  </Part>
)

const JobCell = ({ id, place }: { id: string; place: Record<string, string> }) => (
  <th scope="row">
    {id === '' ? (
      'without an id'
    ) : (
      <a href={jobPath(id, place)}>
        <Text class="short mono">{id}</Text>
      </a>
    )}
  </th>
)
