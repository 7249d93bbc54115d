import type { Overview, QueueOverview, TaskOverview, WorkerOverview } from '../catalogue/overview.ts'
import type { Load } from '../figures/load.ts'
import { errorRateOf, formatRate, formatShare } from './figures.ts'
import type { Sink } from './output.ts'
import { queueColumns } from './queues.ts'
import { type Column, writeTable } from './table.ts'
import { taskColumns } from './tasks.ts'
import { stateColumn, workerColumns } from './workers.ts'

export const sorts = ['load', 'calls', 'errors', 'waits', 'name'] as const
export type Sort = (typeof sorts)[number]

const columnsOfWorkers = (queues: QueueOverview[]): Column<WorkerOverview>[] => [...workerColumns, stateColumn(queues)]

/** What one line says of all queues together. */
export const summaryOf = ({ queues, workers }: Overview): string => {
  const sum = (value: (queue: QueueOverview) => number) => queues.reduce((all, queue) => all + value(queue), 0)
  const callsPerSecond = sum(({ load }) => load.callsPerSecond)
  const failedPerSecond = sum(({ load }) => load.callsPerSecond * load.errorRate)
  const live = workers.filter(worker => worker.live).length
  return [
    `${formatRate(callsPerSecond)} calls/s`,
    `errors ${formatShare(callsPerSecond > 0 ? failedPerSecond / callsPerSecond : undefined)}`,
    `backlog ${sum(({ backlog }) => backlog)}`,
    `busy ${sum(({ busy }) => busy)} of ${sum(({ slots }) => slots)} slots`,
    `${live} live ${live === 1 ? 'worker' : 'workers'}`,
  ].join(', ')
}

/** A table that shows fewer rows than this, though there are more, says too little. */
const fewestRows = 2

/**
 * Writes queues, tasks and workers as three tables, each sorted; in so many lines at most, shared fairly. Where there are too
 * few, the workers leave first, then the queues.
 *
 * @param lines undefined where there is no end to them
 */
export const writeOverviewTables = (sink: Sink, overview: Overview, sort: Sort, lines?: number): void => {
  const { queues, tasks, workers } = overview
  const tables: Table[] = [
    table(queueColumns(queues), sorted(queues, sort, queueWeight)),
    table(taskColumns(tasks), sorted(tasks, sort, taskWeight)),
    table(columnsOfWorkers(queues), sorted(workers, sort, workerWeight)),
  ]
  const [ofQueues, ofTasks, ofWorkers] = tables as [Table, Table, Table]
  const room = lines ?? Number.POSITIVE_INFINITY
  const choices = [tables, [ofQueues, ofTasks], [ofTasks]].map(choice => choice.filter(({ count }) => count > 0))
  const chosen = choices.find(choice => leastLines(choice) <= room) ?? [ofTasks.count > 0 ? ofTasks : ofWorkers]
  const shares = fairShares(
    chosen.map(({ count }) => count),
    room - titlesAndGaps(chosen),
  )
  chosen.forEach(({ write }, at) => {
    if (at > 0) sink.line()
    write(sink, shares[at]!)
  })
}

const titlesAndGaps = (tables: Table[]): number => 2 * tables.length - 1

const leastLines = (tables: Table[]): number =>
  tables.reduce((sum, { count }) => sum + Math.min(count, fewestRows), titlesAndGaps(tables))

interface Table {
  count: number
  write(sink: Sink, lines: number): void
}

const table = <Row>(columns: Column<Row>[], rows: Row[]): Table => ({
  count: rows.length,
  write(sink, lines) {
    const shown = rows.length <= lines ? rows : rows.slice(0, Math.max(0, lines - 1))
    writeTable(sink, columns, shown)
    if (shown.length < rows.length && lines > 0) sink.line(sink.paint('dim', `${rows.length - shown.length} more`))
  },
})

/** One line to each in turn, as long as there are any and as it wants some. */
const fairShares = (wanted: number[], lines: number): number[] => {
  if (wanted.reduce((sum, want) => sum + want, 0) <= lines) return wanted
  const shares = wanted.map(() => 0)
  for (let left = lines; left > 0; ) {
    for (let at = 0; at < wanted.length && left > 0; at++) {
      if (shares[at]! >= wanted[at]!) continue
      shares[at]!++
      left--
    }
  }
  return shares
}

/** Slots' time that was used, which is what there is only so much of. */
const taskWeight = ({ load }: TaskOverview): number => load.us.exec?.sum ?? 0
const workerWeight = ({ stats }: WorkerOverview): number => stats?.busyShare ?? 0
const queueWeight = ({ backlog, busyShare }: QueueOverview): number => backlog + (busyShare ?? 0)

const sorted = <Row extends { load: Load }>(rows: Row[], sort: Sort, weight: (row: Row) => number): Row[] => {
  // As they come, they are sorted by name.
  if (sort === 'name') return rows
  const value = (row: Row): number => (sort === 'load' ? weight(row) : loadValue[sort](row.load))
  return [...rows].sort((a, b) => value(b) - value(a))
}

const loadValue: Record<Exclude<Sort, 'load' | 'name'>, (load: Load) => number> = {
  calls: load => load.callsPerSecond,
  errors: load => load.callsPerSecond * (errorRateOf(load) ?? 0),
  waits: ({ us }) => (us.backlog?.p95 ?? 0) + (us.queue?.p95 ?? 0),
}
