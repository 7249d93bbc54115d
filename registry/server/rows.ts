import type { Overview, QueueOverview, TaskOverview, WorkerOverview } from 'pshub'
import type { QueueRow, Summary, TaskRow, WorkerRow } from '../contract.ts'
import type { Trends } from './history.ts'

/** A row with its key, and its JSON: made once per reading, compared once per stream. */
export interface KeyedRow<Row> {
  key: string
  row: Row
  json: string
}

const maxSummaryLength = 160

const keyed =
  <Row>(keyOf: (row: Row) => string) =>
  (row: Row): KeyedRow<Row> => ({ key: keyOf(row), row, json: JSON.stringify(row) })

export const taskRow = (task: TaskOverview, hostOf: ReadonlyMap<string, string>, trends: Trends): TaskRow => {
  const { queue, queues, retired, conflict, idempotent, dangerous, keyed: keyedAs, timeoutMs, load } = task
  const at = task.task.lastIndexOf(':')
  return {
    task: task.task,
    name: at < 0 ? task.task : task.task.slice(0, at),
    version: at < 0 ? '' : task.task.slice(at + 1),
    queue,
    summary: (/\S.*/.exec(task.description)?.[0] ?? '').slice(0, maxSummaryLength),
    workers: task.workers.length,
    hosts: new Set(task.workers.map(id => hostOf.get(id))).size,
    queues,
    retired,
    conflict,
    idempotent,
    ...(dangerous === undefined ? {} : { dangerous }),
    keyed: keyedAs,
    timeoutMs,
    load,
    trend: trends.of('task', task.task, 'callsPerSecond'),
  }
}

export const hostsOf = ({ workers }: Overview): Map<string, string> =>
  new Map(workers.map(({ id, host }) => [id, host]))

export const taskRows = (overview: Overview, trends: Trends): KeyedRow<TaskRow>[] => {
  const hosts = hostsOf(overview)
  return overview.tasks.map(task => taskRow(task, hosts, trends)).map(keyed(({ task }) => task))
}

export const workerRow = ({ totals: _, jobs: __, ...worker }: WorkerOverview): WorkerRow => worker

export const workerRows = ({ workers }: Overview): KeyedRow<WorkerRow>[] =>
  workers.map(workerRow).map(keyed(({ id }) => id))

export const queueRow = (queue: QueueOverview, trends: Trends): QueueRow => {
  const { backlog, load } = queue
  const isDraining = backlog > 0 && load.callsPerSecond > 0
  return {
    ...queue,
    drainMs: isDraining ? Math.round((backlog / load.callsPerSecond) * 1000) : undefined,
    trend: trends.of('queue', queue.queue, 'backlog'),
    deadBefore: trends.earliest('queue', queue.queue, 'dead'),
  }
}

export const queueRows = ({ queues }: Overview, trends: Trends): KeyedRow<QueueRow>[] =>
  queues.map(queue => queueRow(queue, trends)).map(keyed(({ queue }) => queue))

const sum = <T>(rows: readonly T[], value: (row: T) => number): number =>
  rows.reduce((total, row) => total + value(row), 0)

export const summaryOf = ({ tasks, workers, queues, load, memory, unreadable }: Overview): Summary => {
  const live = workers.filter(worker => worker.live)
  const ages = queues.flatMap(({ oldestMs }) => oldestMs ?? [])
  const jobAges = queues.flatMap(({ oldestJobMs }) => oldestJobMs ?? [])
  return {
    tasks: tasks.length,
    unserved: tasks.filter(task => task.workers.length === 0 && !task.retired).length,
    conflicts: tasks.filter(task => task.conflict).length,
    doubled: tasks.filter(task => task.queues.filter(queue => queue.workers > 0).length > 1).length,
    workers: live.length,
    draining: live.filter(({ stats }) => stats?.draining).length,
    lost: workers.length - live.length,
    queues: queues.length,
    paused: queues.filter(({ pausedMs }) => pausedMs !== undefined).length,
    backlog: sum(queues, ({ backlog }) => backlog),
    oldestMs: ages.length > 0 ? Math.max(...ages) : undefined,
    oldestJobMs: jobAges.length > 0 ? Math.max(...jobAges) : undefined,
    jobs: sum(queues, ({ jobs }) => jobs),
    scheduled: sum(queues, ({ scheduled = 0 }) => scheduled),
    retrying: sum(queues, ({ retrying = 0 }) => retrying),
    dead: sum(queues, ({ dead }) => dead),
    busy: sum(queues, ({ busy }) => busy),
    slots: sum(queues, ({ slots }) => slots),
    load,
    memory,
    unreadable,
  }
}
