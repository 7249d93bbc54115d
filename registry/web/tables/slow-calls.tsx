import type { SlowCallOverview } from 'pshub'
import { longestPhase } from '../../contract.ts'
import { taskPath } from '../address/paths.ts'
import type { QueryState } from '../address/use-query.ts'
import { Text } from '../parts/text.tsx'
import { Ago } from '../parts/time.tsx'
import { WorkerLink } from '../parts/worker-link.tsx'
import { phaseNames, phases, type SlowView, shareOf } from '../rows/slow-calls.ts'
import { ms, percent, us } from '../text/figures.ts'
import type { Whole } from './failures.tsx'
import { SortHead } from './sort-head.tsx'

/** Slow calls, and where their time went; `of`: what all of them are of, which needs no column. */
export const SlowCallTable = ({
  calls,
  view,
  state,
  of,
}: {
  calls: readonly SlowCallOverview[]
  view: SlowView
  state: QueryState
  of?: Whole
}) => {
  const head = { sort: view.sort, state }
  const longest = Math.max(1, ...calls.map(({ totalUs }) => totalUs))
  return (
    <div class="scroll panel">
      <table class="rows cards">
        <caption class="visually-hidden">Slow calls of the last 5 minutes, and where their time went</caption>
        <thead>
          <tr>
            <SortHead {...head} column="ended" isNumber>
              ended
            </SortHead>
            {of !== 'task' && (
              <SortHead {...head} column="task">
                task
              </SortHead>
            )}
            <SortHead {...head} column="total" isNumber>
              total
            </SortHead>
            <th scope="col">where the time went</th>
            {phases.map(phase => (
              <SortHead key={phase} {...head} column={phase} isNumber>
                <span class={`phase-key ${phase}`} aria-hidden="true" /> {phaseNames[phase]}
              </SortHead>
            ))}
            <SortHead {...head} column="loop" isNumber title="How long the worker's event loop was blocked meanwhile">
              event loop blocked
            </SortHead>
            <th scope="col">outcome</th>
            <th scope="col">request</th>
            <th scope="col">caller</th>
            {of !== 'worker' && <th scope="col">worker</th>}
          </tr>
        </thead>
        <tbody>
          {calls.map(call => (
            <Row key={`${call.worker} ${call.task} ${call.id} ${call.at}`} call={call} longest={longest} of={of} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const Row = ({ call, longest, of }: { call: SlowCallOverview; longest: number; of: Whole | undefined }) => (
  <tr>
    <td data-name="ended" class="number">
      <Ago atMs={call.at / 1000} />
    </td>
    {of !== 'task' && (
      <td data-name="task">
        <a href={taskPath(call.task)}>
          <Text class="short">{call.task}</Text>
        </a>
      </td>
    )}
    <td data-name="total" class="number">
      {us(call.totalUs)}
    </td>
    <td data-name="where the time went">
      <Where call={call} longest={longest} />
    </td>
    {phases.map(phase => (
      <td key={phase} data-name={phaseNames[phase]} class="number">
        {us(call.us[phase])}
      </td>
    ))}
    <td data-name="event loop blocked" class="number">
      {call.loopMs > 0 ? ms(call.loopMs) : '–'}
    </td>
    <td data-name="outcome">{call.code === undefined ? 'ok' : <Text class="short">{call.code}</Text>}</td>
    <td data-name="request">
      <Text class="short mono">{call.id}</Text>
    </td>
    <td data-name="caller">
      <Text class="short">{call.from ?? '–'}</Text>
    </td>
    {of !== 'worker' && (
      <td data-name="worker">
        <WorkerLink id={call.worker} host={call.host} pid={call.pid} />
      </td>
    )}
  </tr>
)

/** As a bar, and the largest part in words. */
const Where = ({ call, longest }: { call: SlowCallOverview; longest: number }) => {
  const most = longestPhase(call)
  return (
    <span class="where">
      <span class="phases" aria-hidden="true">
        {phases.map(phase => (
          <span
            key={phase}
            class={`phase ${phase}`}
            style={{ width: `${((call.us[phase] / longest) * 100).toFixed(2)}%` }}
          />
        ))}
      </span>
      <span class="quiet">
        {phaseNames[most]} {percent(shareOf(call, most))}
      </span>
    </span>
  )
}
