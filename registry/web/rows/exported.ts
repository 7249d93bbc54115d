import type { Load, QueuedJob, SlowCallOverview } from 'pshub'
import type { QueueRow, TaskRow, WorkerRow } from '../../contract.ts'
import { longestPhase } from '../../contract.ts'
import type { ScheduleRow } from '../../job-contract.ts'
import type { Cell } from '../text/csv.ts'
import type { FailureEntry, FailureGroup } from './failures.ts'
import { pausedSinceMs, rejectedCount } from './queue-state.ts'
import { phaseNames } from './slow-calls.ts'
import { stateOf } from './workers.ts'

/** What a file has of each row: a name, with the unit at its end, and a value. Moments are in UTC. */
export type Exported<Row> = Readonly<Record<string, (row: Row) => Cell>>

/** Undefined for what is no moment. */
const moment = (atMs: number | undefined): string | undefined => {
  const date = new Date(atMs ?? Number.NaN)
  return Number.isNaN(date.getTime()) || atMs === 0 ? undefined : date.toISOString()
}

const loadCells = <Row extends { load: Load }>(): Exported<Row> => ({
  callsPerSecond: ({ load }) => load.callsPerSecond,
  errorRate: ({ load }) => load.errorRate,
  runP50Us: ({ load }) => load.us.exec?.p50,
  runP95Us: ({ load }) => load.us.exec?.p95,
  runP99Us: ({ load }) => load.us.exec?.p99,
  backlogP50Us: ({ load }) => load.us.backlog?.p50,
  backlogP95Us: ({ load }) => load.us.backlog?.p95,
  backlogP99Us: ({ load }) => load.us.backlog?.p99,
})

export const exportedTasks: Exported<TaskRow> = {
  task: row => row.task,
  queue: row => row.queue,
  workers: row => row.workers,
  hosts: row => row.hosts,
  retired: row => row.retired,
  conflict: row => row.conflict,
  idempotent: row => row.idempotent,
  dangerous: row => row.dangerous,
  keyed: row => row.keyed,
  timeoutMs: row => row.timeoutMs,
  ...loadCells<TaskRow>(),
  rejectedLastMinute: rejectedCount,
  summary: row => row.summary,
}

export const exportedQueues: Exported<QueueRow> = {
  queue: row => row.queue,
  pausedAt: row => moment(pausedSinceMs(row)),
  backlog: row => row.backlog,
  oldestMs: row => row.oldestMs,
  drainMs: row => row.drainMs,
  jobs: row => row.jobs,
  oldestJobMs: row => row.oldestJobMs,
  scheduled: row => row.scheduled,
  retrying: row => row.retrying,
  dead: row => row.dead,
  held: row => row.held,
  workers: row => row.workers,
  slots: row => row.slots,
  busy: row => row.busy,
  ...loadCells<QueueRow>(),
  rejectedLastMinute: rejectedCount,
  waitingKeys: row => row.keys?.waiting,
  runningKeys: row => row.keys?.running,
  keyLagMs: row => row.keys?.lagMs,
}

export const exportedWorkers: Exported<WorkerRow> = {
  worker: row => row.id,
  state: stateOf,
  host: row => row.host,
  pid: row => row.pid,
  queue: row => row.queue,
  client: row => row.client,
  build: row => row.build,
  slots: row => row.slots,
  busy: row => row.stats?.busy,
  busyShare: row => row.stats?.busyShare,
  ...loadCells<WorkerRow>(),
  loopP99Ms: row => row.stats?.loopMs?.p99,
  rssBytes: row => row.stats?.rssBytes,
  startedAt: row => moment(row.started * 1000),
  lastBeatAt: row => moment(row.stats?.seen),
  tasks: row => Object.keys(row.tasks).join(' '),
}

/** One call, or what one hub counts, with its group. */
interface FailureRow {
  group: FailureGroup
  entry: FailureEntry
}

/** Each call has its own request: a group would keep those of the others to itself. */
export const eachFailure = (groups: readonly FailureGroup[]): FailureRow[] =>
  groups.flatMap(group => group.entries.map(entry => ({ group, entry })))

export const exportedFailures: Exported<FailureRow> = {
  endedAt: ({ entry }) => moment(entry.atMs),
  task: ({ group }) => group.task,
  code: ({ group }) => group.code,
  message: ({ group }) => group.message,
  times: ({ entry }) => entry.times,
  lastMinute: ({ entry }) => entry.lastMinute,
  request: ({ entry }) => entry.id,
  runUs: ({ entry }) => entry.execUs,
  caller: ({ entry }) => entry.from,
  worker: ({ entry }) => entry.worker,
  hub: ({ entry }) => entry.hub,
  host: ({ entry }) => entry.host,
  pid: ({ entry }) => entry.pid,
}

export const exportedSlowCalls: Exported<SlowCallOverview> = {
  endedAt: ({ at }) => moment(at / 1000),
  task: ({ task }) => task,
  totalUs: ({ totalUs }) => totalUs,
  longest: call => phaseNames[longestPhase(call)],
  backlogUs: ({ us }) => us.backlog,
  queueUs: ({ us }) => us.queue,
  runUs: ({ us }) => us.exec,
  loopMs: ({ loopMs }) => loopMs,
  outcome: ({ code }) => code ?? 'ok',
  request: ({ id }) => id,
  caller: ({ from }) => from,
  worker: ({ worker }) => worker,
  host: ({ host }) => host,
  pid: ({ pid }) => pid,
}

export const exportedJobs: Exported<QueuedJob> = {
  job: row => row.id,
  state: row => row.state,
  task: row => row.task,
  queue: row => row.queue,
  key: row => row.key,
  payloads: row => row.payloads,
  priority: row => row.priority,
  tries: row => row.tries,
  caller: row => row.from,
  enqueuedAt: row => moment(row.enqueuedMs),
  dueAt: row => moment(row.dueMs),
  deadAt: row => moment(row.deadMs),
  endedAt: row => moment(row.endedMs),
  worker: row => row.worker,
  failureCode: row => row.error?.code,
  failureMessage: row => row.error?.message,
}

export const exportedSchedules: Exported<ScheduleRow> = {
  name: row => row.name,
  queue: row => row.queue,
  task: row => row.task,
  cron: row => row.cron,
  timezone: row => row.timezone ?? 'UTC',
  missed: row => row.missed ?? 'once',
  nextAt: row => moment(row.nextMs),
  lastAt: row => moment(row.lastMs),
  pausedAt: row => moment(row.pausedMs),
}
