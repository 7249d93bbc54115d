import { useState } from 'preact/hooks'
import { taskPath } from '../address/paths.ts'
import type { QueryState } from '../address/use-query.ts'
import { Text, WrappedText } from '../parts/text.tsx'
import { Ago } from '../parts/time.tsx'
import { WorkerLink } from '../parts/worker-link.tsx'
import type { FailureEntry, FailureGroup, FailureView } from '../rows/failures.ts'
import { count, plural, us } from '../text/figures.ts'
import { SortHead } from './sort-head.tsx'

/** What a page is of: its calls need no column for that. */
export type Whole = 'task' | 'worker'

/** Of one cause; further ones are told by their number. */
const mostEntries = 50

/** Failures of the last hour, those of one cause in one row that unfolds; `of`: what all of them are of, which needs no column. */
export const FailureTable = ({
  groups,
  view,
  state,
  of,
}: {
  groups: readonly FailureGroup[]
  view: FailureView
  state: QueryState
  of?: Whole
}) => {
  const head = { sort: view.sort, state }
  return (
    <div class="scroll panel">
      <table class="rows cards">
        <caption class="visually-hidden">Failures of the last hour, by code and message</caption>
        <thead>
          <tr>
            <SortHead {...head} column="latest" isNumber>
              latest
            </SortHead>
            {of !== 'task' && (
              <SortHead {...head} column="task">
                task
              </SortHead>
            )}
            <SortHead {...head} column="code">
              code
            </SortHead>
            <th scope="col">message</th>
            <SortHead {...head} column="times" isNumber>
              times
            </SortHead>
            <th scope="col" class="number">
              ran for
            </th>
            <th scope="col">request</th>
            <th scope="col">caller</th>
            {of !== 'worker' && <th scope="col">reported by</th>}
          </tr>
        </thead>
        <tbody>
          {groups.map(group => (
            <GroupRows key={group.key} group={group} of={of} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const GroupRows = ({ group, of }: { group: FailureGroup; of: Whole | undefined }) => {
  const [isOpen, setOpen] = useState(false)
  const { task, code, message, isUnanswered, entries, atMs } = group
  const rest = entries.length - mostEntries
  return (
    <>
      <tr>
        <td data-name="latest" class="number">
          <Ago atMs={atMs} />
        </td>
        {of !== 'task' && (
          <td data-name="task">
            <a href={taskPath(task)}>
              <Text class="short">{task}</Text>
            </a>
          </td>
        )}
        <td data-name="code" class={isUnanswered ? 'whole' : undefined}>
          <Text class="short failing">{code}</Text>
          {isUnanswered && <span class="summary quiet">no worker answered</span>}
        </td>
        <td data-name="message" class="grow message">
          <WrappedText>{message}</WrappedText>
        </td>
        <td data-name="times" class={isUnanswered ? 'number whole' : 'number'}>
          <Times group={group} isOpen={isOpen} toggle={setOpen} />
        </td>
        <EntryCells entry={entries[0]!} of={of} />
      </tr>
      {isOpen &&
        entries
          .slice(0, mostEntries)
          .map(entry => (
            <EntryRow key={`${entry.worker ?? entry.hub} ${entry.id} ${entry.atMs}`} entry={entry} of={of} />
          ))}
      {isOpen && rest > 0 && (
        <tr class="inner">
          <td colSpan={of === undefined ? 9 : 8}>{plural(rest, 'further one', 'further ones')}.</td>
        </tr>
      )}
    </>
  )
}

/** How many there were; where they are known one by one, they unfold. */
const Times = ({
  group: { code, times, lastMinute, entries },
  isOpen,
  toggle,
}: {
  group: FailureGroup
  isOpen: boolean
  toggle(isOpen: boolean): void
}) => (
  <span>
    {entries.length === 1 ? (
      count(times)
    ) : (
      <button
        type="button"
        class="small"
        aria-expanded={isOpen}
        aria-label={`${count(times)} times ${code}: each of them`}
        onClick={() => toggle(!isOpen)}
      >
        {count(times)}
      </button>
    )}
    {lastMinute !== undefined && (
      <span class="summary quiet" title="Of those since its caller started">
        {count(lastMinute)} in the last minute
      </span>
    )}
  </span>
)

const EntryRow = ({ entry, of }: { entry: FailureEntry; of: Whole | undefined }) => (
  <tr class="entry">
    <td data-name="ended" class="number">
      <Ago atMs={entry.atMs} />
    </td>
    <td colSpan={of === 'task' ? 2 : 3} class="same quiet">
      as above
    </td>
    <td data-name="times" class="number">
      {count(entry.times)}
    </td>
    <EntryCells entry={entry} of={of} />
  </tr>
)

const EntryCells = ({ entry, of }: { entry: FailureEntry; of: Whole | undefined }) => {
  const { id, execUs, from, worker, hub, host, pid } = entry
  return (
    <>
      <td data-name="ran for" class="number">
        {execUs === undefined ? '–' : execUs > 0 ? us(execUs) : 'not started'}
      </td>
      <td data-name="request">
        <Text class="short mono">{id ?? '–'}</Text>
      </td>
      <td data-name="caller">
        <Text class="short">{from || (worker === undefined ? '(no name)' : '–')}</Text>
      </td>
      {of !== 'worker' && (
        <td data-name="reported by">
          {worker === undefined ? (
            <span title={`hub ${hub}`}>
              <Text class="short">{`hub on ${host} pid ${pid}`}</Text>
            </span>
          ) : (
            <WorkerLink id={worker} host={host} pid={pid} />
          )}
        </td>
      )}
    </>
  )
}
