import type { QueueRow } from '../../contract.ts'
import { choiceOf, compare, sortOf } from '../address/query.ts'
import { isGrowing, pausedSinceMs } from './queue-state.ts'

const queueColumns = [
  'queue',
  'backlog',
  'oldest',
  'p50',
  'p95',
  'jobs',
  'dead',
  'held',
  'workers',
  'busy',
  'rate',
  'drain',
  'keyLag',
] as const
export type QueueColumn = (typeof queueColumns)[number]

export const queueStates = ['all', 'paused', 'growing', 'unserved'] as const
export type QueueState = (typeof queueStates)[number]

export interface QueueView {
  search: string
  state: QueueState
  sort: { column: QueueColumn; isDown: boolean }
}

export const queueView = (query: Readonly<Record<string, string>>): QueueView => ({
  search: query.q ?? '',
  state: choiceOf(queueStates, query.state),
  sort: sortOf(queueColumns, query.sort, 'queue'),
})

const isInState: Record<QueueState, (row: QueueRow) => boolean> = {
  all: () => true,
  paused: row => pausedSinceMs(row) !== undefined,
  growing: isGrowing,
  unserved: row => row.workers === 0,
}

export const queueList = (rows: Iterable<QueueRow>, { search, state, sort }: QueueView): QueueRow[] => {
  const wanted = search.trim().toLowerCase()
  const value = values[sort.column]
  return [...rows]
    .filter(row => isInState[state](row) && row.queue.toLowerCase().includes(wanted))
    .sort((a, b) => compare(value(a), value(b), sort.isDown) || compare(a.queue, b.queue, false))
}

const values: Record<QueueColumn, (row: QueueRow) => string | number | undefined> = {
  queue: row => row.queue,
  backlog: row => row.backlog,
  oldest: row => row.oldestMs,
  p50: row => row.load.us.backlog?.p50,
  p95: row => row.load.us.backlog?.p95,
  jobs: row => row.jobs,
  dead: row => row.dead,
  held: row => row.held,
  workers: row => row.workers,
  busy: row => (row.slots > 0 ? row.busy / row.slots : undefined),
  rate: row => row.load.callsPerSecond,
  drain: row => row.drainMs,
  keyLag: row => row.keys?.lagMs,
}
