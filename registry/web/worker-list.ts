import type { WorkerRow } from '../contract.ts'
import { choiceOf, pageOf } from './query.ts'

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

/** Processes that show at once; more go on further pages. */
const pageSize = 100

/** Workers that are found, by host, and the part of them on the page that is shown. */
export const workerGroups = (
  rows: Iterable<WorkerRow>,
  view: WorkerView,
): { found: number; groups: HostGroup[]; page: number; pages: number } => {
  const words = view.search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = [...rows].filter(
    row =>
      (view.state === 'all' || stateOf(row) === view.state) &&
      (view.queue === '' || row.queue === view.queue) &&
      hasAll(row, words),
  )
  found.sort((a, b) => order(a.host, b.host) || order(a.queue, b.queue) || a.pid - b.pid || order(a.id, b.id))
  const pages = Math.max(1, Math.ceil(found.length / pageSize))
  const page = pageOf(view.page, pages)
  return { found: found.length, groups: grouped(found.slice((page - 1) * pageSize, page * pageSize)), page, pages }
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

const hasAll = ({ id, host, pid, queue, tasks, client }: WorkerRow, words: string[]): boolean => {
  if (words.length === 0) return true
  const text = `${id} ${host} ${pid} ${queue} ${client} ${Object.keys(tasks).join(' ')}`.toLowerCase()
  return words.every(word => text.includes(word))
}

const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)
