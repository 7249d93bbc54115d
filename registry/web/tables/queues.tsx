import type { QueueRow } from '../../contract.ts'
import { queuePath } from '../address/paths.ts'
import type { QueryState } from '../address/use-query.ts'
import { Sparkline } from '../charts/sparkline.tsx'
import { Bar } from '../parts/bar.tsx'
import { PauseButton } from '../parts/pause-button.tsx'
import { QueueBadges } from '../parts/queue-badges.tsx'
import { Text } from '../parts/text.tsx'
import type { QueueView } from '../rows/queues.ts'
import { count, ms, perSecond, plural, span, us } from '../text/figures.ts'
import { SortHead } from './sort-head.tsx'

const heads = [
  ['backlog', 'backlog'],
  ['oldest', 'oldest'],
  ['p50', 'wait p50'],
  ['p95', 'wait p95'],
  ['drain', 'drains in'],
  ['jobs', 'jobs'],
  ['dead', 'dead'],
  ['held', 'held'],
  ['rate', 'rate'],
  ['workers', 'workers'],
] as const

/** Only where a queue has keys; their other figures are under its name. */
const keyHeads = [['keyLag', 'key lag']] as const

const headsOf = (rows: readonly QueueRow[]) =>
  rows.some(({ keys }) => keys !== undefined) ? ([...heads, ...keyHeads] as const) : heads

export const QueueTable = ({
  rows,
  view,
  state,
}: {
  rows: readonly QueueRow[]
  view: QueueView
  state: QueryState
}) => (
  <div class="scroll panel">
    <table class="rows cards">
      <caption class="visually-hidden">Queues, with figures of the last minute</caption>
      <thead>
        <tr>
          <SortHead column="queue" sort={view.sort} state={state}>
            queue
          </SortHead>
          <th scope="col">15 min</th>
          {headsOf(rows).map(([column, name]) => (
            <SortHead key={column} column={column} sort={view.sort} state={state} isNumber>
              {name}
            </SortHead>
          ))}
          <SortHead column="busy" sort={view.sort} state={state}>
            slots busy
          </SortHead>
          <th scope="col">
            <span class="visually-hidden">actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <Row key={row.queue} row={row} heads={headsOf(rows)} />
        ))}
      </tbody>
    </table>
  </div>
)

/** None is due where it is 0. */
const lasting = (ms: number | undefined): string => (ms ? span(ms) : '–')

const keyFigures = ({ waiting, running, longestMs }: NonNullable<QueueRow['keys']>): string => {
  const wait = `${plural(waiting, 'key')} ${waiting === 1 ? 'waits' : 'wait'}`
  if (running === 0) return wait
  return `${wait}, ${count(running)} ${running === 1 ? 'runs' : 'run, the longest'} for ${span(longestMs).replaceAll(' ', '\u00a0')}`
}

const Row = ({ row, heads }: { row: QueueRow; heads: ReturnType<typeof headsOf> }) => {
  const { load, keys } = row
  const figures = {
    backlog: count(row.backlog),
    oldest: ms(row.oldestMs),
    p50: us(load.us.backlog?.p50),
    p95: us(load.us.backlog?.p95),
    drain: row.backlog === 0 ? '–' : span(row.drainMs),
    jobs: count(row.jobs),
    dead: count(row.dead),
    held: count(row.held),
    rate: perSecond(load.callsPerSecond),
    workers: count(row.workers),
    keyLag: lasting(keys?.lagMs),
  }
  return (
    <tr>
      <th scope="row" class="grow">
        <a href={queuePath(row.queue)}>
          <Text>{row.queue}</Text>
        </a>
        <QueueBadges row={row} />
        {keys && <span class="key-figures quiet">{keyFigures(keys)}</span>}
      </th>
      <td data-name="15 min">
        <Sparkline values={row.trend} name="Backlog" format={count} />
      </td>
      {heads.map(([column, name]) => (
        <td key={column} data-name={name} class={column === 'dead' && row.dead > 0 ? 'number failing' : 'number'}>
          {figures[column]}
        </td>
      ))}
      <td data-name="slots busy">
        <Bar value={row.busy} total={row.slots} name="slots busy" />
      </td>
      <td class="actions">
        <PauseButton row={row} />
      </td>
    </tr>
  )
}
