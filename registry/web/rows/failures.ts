import type { FailureOverview, UnansweredOverview } from 'pshub'
import { compare, sortOf } from '../address/query.ts'
import { callsQuery } from './calls-query.ts'
import { pageOfRows, type RowsPage } from './page.ts'

/** A call that did not end well, as its worker says; or what one hub counts of a code, as of its latest call. */
export interface FailureEntry {
  /** Of the request; undefined where there was none. */
  id: string | undefined
  /** Redis' milliseconds. */
  atMs: number
  times: number
  /** Of `times`; undefined for a single call. */
  lastMinute: number | undefined
  /** How long the handler ran, microseconds; undefined where no worker says it. */
  execUs: number | undefined
  /** The calling service; '' where it gave no name. */
  from: string
  /** Id of the worker that says so; undefined where a hub does. */
  worker: string | undefined
  hub: string | undefined
  host: string
  pid: number
}

/** Failures with equal task, code and message: most likely one cause. */
export interface FailureGroup {
  key: string
  task: string
  code: string
  message: string
  /** Hubs say so: no worker answered these calls. */
  isUnanswered: boolean
  times: number
  lastMinute: number | undefined
  /** When the latest ended. */
  atMs: number
  /** Latest first. */
  entries: FailureEntry[]
}

const failureColumns = ['latest', 'task', 'code', 'times'] as const
export type FailureColumn = (typeof failureColumns)[number]

/** What is shown of the failures, as an address says. */
export interface FailureView {
  task: string
  code: string
  search: string
  sort: { column: FailureColumn; isDown: boolean }
  page: string | undefined
}

export const failureView = (query: Readonly<Record<string, string>>): FailureView => ({
  task: query.task ?? '',
  code: query.code ?? '',
  search: query.q ?? '',
  sort: sortOf(failureColumns, query.sort, '-latest'),
  page: query.page,
})

/** The query that asks the service for them. */
export const failuresQuery = ({ task, code, search }: FailureView): string => callsQuery({ task, code, text: search })

/** What workers and hubs tell, those of one cause together; the latest first. */
export const failureGroups = (
  failures: readonly FailureOverview[],
  unanswered: readonly UnansweredOverview[],
): FailureGroup[] => {
  const groups = new Map<string, FailureGroup>()
  const add = (of: { task: string; code: string; message: string }, isUnanswered: boolean, entry: FailureEntry) => {
    const { task, code, message } = of
    const key = JSON.stringify([task, code, message, isUnanswered])
    let group = groups.get(key)
    if (!group) {
      group = { key, task, code, message, isUnanswered, times: 0, lastMinute: undefined, atMs: entry.atMs, entries: [] }
      groups.set(key, group)
    }
    group.times += entry.times
    if (entry.lastMinute !== undefined) group.lastMinute = (group.lastMinute ?? 0) + entry.lastMinute
    group.atMs = Math.max(group.atMs, entry.atMs)
    group.entries.push(entry)
  }
  for (const failure of failures) add(failure, false, failed(failure))
  for (const calls of unanswered) add(calls, true, toldByHub(calls))
  const all = [...groups.values()]
  for (const { entries } of all) entries.sort((a, b) => b.atMs - a.atMs)
  return all.sort((a, b) => b.atMs - a.atMs)
}

const failed = ({ id, at, execUs, from, worker, host, pid }: FailureOverview): FailureEntry => ({
  id,
  atMs: at / 1000,
  times: 1,
  lastMinute: undefined,
  execUs,
  from: from ?? '',
  worker,
  hub: undefined,
  host,
  pid,
})

const toldByHub = ({ id, atMs, count, lastMinute, from, hub, host, pid }: UnansweredOverview): FailureEntry => ({
  id,
  atMs,
  times: count,
  lastMinute,
  execUs: undefined,
  from,
  worker: undefined,
  hub,
  host,
  pid,
})

/** Their order and the page of them; the service chose them. */
export const failurePage = (groups: readonly FailureGroup[], view: FailureView): RowsPage<FailureGroup> => {
  const of = values[view.sort.column]
  const sorted = [...groups].sort((a, b) => compare(of(a), of(b), view.sort.isDown) || b.atMs - a.atMs)
  return pageOfRows(sorted, view.page)
}

const values: Record<FailureColumn, (group: FailureGroup) => string | number> = {
  latest: ({ atMs }) => atMs,
  task: ({ task }) => task,
  code: ({ code }) => code,
  times: ({ times }) => times,
}

export const timesOf = (groups: readonly FailureGroup[]): number => groups.reduce((sum, { times }) => sum + times, 0)
