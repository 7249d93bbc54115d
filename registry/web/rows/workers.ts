import type { WorkerRow } from '../../contract.ts'
import { choiceOf, compare, pageOf } from '../address/query.ts'
import { hasWords, wordsOf } from '../text/words.ts'

export const workerStates = ['all', 'serving', 'draining', 'lost'] as const
export type WorkerState = (typeof workerStates)[number]

export const stateOf = ({ live, stats }: WorkerRow): Exclude<WorkerState, 'all'> => {
  if (!live) return 'lost'
  return stats?.draining ? 'draining' : 'serving'
}

export interface WorkerView {
  search: string
  queue: string
  state: WorkerState
  page: string | undefined
}

export const workerView = (query: Readonly<Record<string, string>>): WorkerView => ({
  search: query.q ?? '',
  queue: query.queue ?? '',
  state: choiceOf(workerStates, query.state),
  page: query.page,
})

/** The processes of one host. */
export interface HostGroup {
  host: string
  workers: WorkerRow[]
  /** Of those that are live. */
  busy: number
  slots: number
}

/** About so many processes show at once; hosts are not torn apart, and go on further pages. */
const pageSize = 100

/** Workers that are found, by host, and the hosts on the page that is shown. */
export const workerGroups = (
  rows: Iterable<WorkerRow>,
  view: WorkerView,
): { found: WorkerRow[]; groups: HostGroup[]; page: number; pages: number } => {
  const words = wordsOf(view.search)
  const found = [...rows].filter(
    row =>
      (view.state === 'all' || stateOf(row) === view.state) &&
      (view.queue === '' || row.queue === view.queue) &&
      hasAll(row, words),
  )
  found.sort(
    (a, b) =>
      compare(a.host, b.host, false) || compare(a.queue, b.queue, false) || a.pid - b.pid || compare(a.id, b.id, false),
  )
  const pages = paged(grouped(found))
  const page = pageOf(view.page, pages.length)
  return { found, groups: pages[page - 1] ?? [], page, pages: pages.length }
}

const paged = (groups: HostGroup[]): HostGroup[][] => {
  const pages: HostGroup[][] = []
  let count = 0
  for (const group of groups) {
    if (count === 0 || count + group.workers.length > pageSize) {
      pages.push([])
      count = 0
    }
    pages.at(-1)!.push(group)
    count += group.workers.length
  }
  return pages
}

const grouped = (rows: WorkerRow[]): HostGroup[] => {
  const groups = new Map<string, HostGroup>()
  for (const row of rows) {
    let group = groups.get(row.host)
    if (!group) groups.set(row.host, (group = { host: row.host, workers: [], busy: 0, slots: 0 }))
    group.workers.push(row)
    if (!row.live) continue
    group.busy += row.stats?.busy ?? 0
    group.slots += row.slots
  }
  return [...groups.values()]
}

const hasAll = ({ id, host, pid, queue, tasks, client, build = '' }: WorkerRow, words: string[]): boolean =>
  words.length === 0 ||
  hasWords(`${id} ${host} ${pid} ${queue} ${client} ${build} ${Object.keys(tasks).join(' ')}`, words)
