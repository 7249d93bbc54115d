import type { TaskQueue } from 'pshub'
import type { TaskRow } from '../../contract.ts'
import { choiceOf, compare, sortOf } from '../address/query.ts'
import { printable } from '../text/printable.ts'
import { hasWords, wordsOf } from '../text/words.ts'
import { pageOfRows, type RowsPage } from './page.ts'
import { rejectedCount } from './queue-state.ts'

export const taskStates = [
  'all',
  'serving',
  'unserved',
  'retired',
  'doubled',
  'conflict',
  'failing',
  'rejected',
] as const
export type TaskState = (typeof taskStates)[number]

const taskColumns = ['task', 'version', 'queue', 'workers', 'rate', 'p50', 'p95', 'p99', 'errors', 'rejected'] as const
export type TaskColumn = (typeof taskColumns)[number]

/** Which times the percentiles are of: the handler's, or those in the backlog. */
const taskTimes = ['run', 'wait'] as const
export type TaskTimes = (typeof taskTimes)[number]

/** What the page of tasks shows, as its address says. */
export interface TaskView {
  search: string
  queue: string
  state: TaskState
  times: TaskTimes
  sort: { column: TaskColumn; isDown: boolean }
  page: string | undefined
}

export const taskView = (query: Readonly<Record<string, string>>): TaskView => ({
  search: query.q ?? '',
  queue: query.queue ?? '',
  state: choiceOf(taskStates, query.state),
  times: choiceOf(taskTimes, query.times),
  sort: sortOf(taskColumns, query.sort, 'task'),
  page: query.page,
})

const isInState: Record<TaskState, (row: TaskRow) => boolean> = {
  all: () => true,
  serving: row => row.workers > 0,
  unserved: row => row.workers === 0 && !row.retired,
  retired: row => row.retired,
  doubled: row => liveQueues(row).length > 1,
  conflict: row => row.conflict,
  failing: row => row.load.errorRate > 0,
  rejected: row => rejectedCount(row) > 0,
}

/** Queues whose live workers provide it; more than one is rarely meant. */
export const liveQueues = ({ queues }: TaskRow): TaskQueue[] => queues.filter(({ workers }) => workers > 0)

/** `prod (first), default` */
export const queueNames = (queues: readonly TaskQueue[]): string =>
  queues.map(({ queue, first }) => printable(first ? `${queue} (first)` : queue)).join(', ')

/** What is found of all rows, sorted, and the rows of the page that is shown. */
export const taskPage = (rows: Iterable<TaskRow>, view: TaskView): RowsPage<TaskRow> => {
  const words = wordsOf(view.search)
  const found = [...rows].filter(
    row =>
      isInState[view.state](row) &&
      (view.queue === '' || row.queues.some(({ queue }) => queue === view.queue)) &&
      hasAll(row, words),
  )
  const { column, isDown } = view.sort
  const of = values(view.times)[column]
  found.sort((a, b) => compare(of(a), of(b), isDown) || compare(a.task, b.task, false))
  return pageOfRows(found, view.page)
}

const hasAll = ({ task, queue, summary }: TaskRow, words: string[]): boolean =>
  words.length === 0 || hasWords(`${task} ${queue} ${summary}`, words)

const values = (times: TaskTimes): Record<TaskColumn, (row: TaskRow) => string | number | undefined> => {
  const us = ({ load }: TaskRow) => (times === 'run' ? load.us.exec : load.us.backlog)
  return {
    task: row => row.task,
    version: row => row.version,
    queue: row => row.queue,
    workers: row => row.workers,
    rate: row => row.load.callsPerSecond,
    p50: row => us(row)?.p50,
    p95: row => us(row)?.p95,
    p99: row => us(row)?.p99,
    errors: row => row.load.errorRate,
    rejected: rejectedCount,
  }
}

/** The first line of a description without the marks of Markdown. */
export const plainSummary = (text: string): string =>
  text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/^#+\s*|\*\*|`/g, '')
