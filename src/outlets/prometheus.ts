import type { WorkerStats } from '../catalogue/cards.ts'
import type { Overview, QueueOverview, TaskOverview, WorkerOverview } from '../catalogue/overview.ts'
import { noCounts } from '../figures/task-stats.ts'
import { outcomeOf } from '../wire/errors.ts'

/** What is known under these values of the labels; undefined where nothing is. */
type Sample = readonly [values: readonly string[], value: number | boolean | undefined]
type Told = Pick<Overview, 'tasks' | 'queues' | 'workers' | 'unanswered'>

interface Metric {
  type: 'counter' | 'gauge'
  help: string
  /** In this order in each sample. */
  labels: readonly string[]
  samples(told: Told): Sample[]
}

const metric = (type: Metric['type'], help: string, labels: string[], samples: Metric['samples']): Metric => ({
  type,
  help,
  labels,
  samples,
})

const ofTasks = (help: string, labels: string[], samples: (task: TaskOverview) => Sample[]) =>
  metric('gauge', help, labels, ({ tasks }) => tasks.flatMap(samples))

const ofQueues = (help: string, value: (queue: QueueOverview) => Sample[1]) =>
  metric('gauge', help, ['queue'], ({ queues }) => queues.map(each => [[each.queue], value(each)]))

const workerLabels = ['queue', 'worker', 'host', 'pid']
const labelsOf = ({ queue, id, host, pid }: WorkerOverview) => [queue, id, host, String(pid)]

const ofWorkers = (type: Metric['type'], help: string, value: (worker: WorkerOverview) => Sample[1]) =>
  metric(type, help, workerLabels, ({ workers }) => workers.map(each => [labelsOf(each), value(each)]))

const ofLiveWorkers = (type: Metric['type'], help: string, value: (stats: WorkerStats) => Sample[1]) =>
  ofWorkers(type, help, ({ live, stats }) => (live && stats ? value(stats) : undefined))

const quantiles = [
  ['0.5', 'p50'],
  ['0.95', 'p95'],
  ['0.99', 'p99'],
  ['1', 'max'],
] as const

const waitsOf = ({ queue, task, load }: TaskOverview): Sample[] =>
  Object.entries(load.us).flatMap(([phase, waits]) =>
    quantiles.map(([quantile, name]): Sample => [[queue, task, phase, quantile], waits && waits[name] / 1e6]),
  )

/** A queue that lost its workers to another one is no alarm; a task without any is. */
const taskWorkersOf = ({ queue, task, queues }: TaskOverview): Sample[] => {
  const live = queues.filter(({ workers }) => workers > 0)
  return live.length === 0 ? [[[queue, task], 0]] : live.map(each => [[each.queue, task], each.workers])
}

const callsOf = ({ live, queue, id, tasks, totals }: WorkerOverview): Sample[] =>
  Object.keys(live ? tasks : {}).flatMap(task => {
    // From 0 on, because Prometheus does not count what a counter begins with: the first failure would not be seen.
    const { ok, rejected, failed } = Object.hasOwn(totals, task) ? totals[task]! : noCounts()
    const byOutcome = { ok: { ok }, rejected, failed: { TaskFailed: 0, ...failed } }
    return Object.entries(byOutcome).flatMap(([outcome, counts]) =>
      Object.entries(counts).map(([code, count]): Sample => [[queue, task, id, outcome, code], count]),
    )
  })

const loopDelayOf = (worker: WorkerOverview): Sample[] => {
  const { p99, max } = (worker.live ? worker.stats?.loopMs : undefined) ?? {}
  return [
    [[...labelsOf(worker), '0.99'], seconds(p99)],
    [[...labelsOf(worker), '1'], seconds(max)],
  ]
}

const jobsOf = (worker: WorkerOverview): Sample[] => {
  const { ran, retried, dead, putOff } = (worker.live ? worker.stats?.jobs : undefined) ?? {}
  const counts = { ran, retried, dead, put_off: putOff }
  return Object.entries(counts).map(([outcome, count]): Sample => [[worker.queue, worker.id, outcome], count])
}

const latenessOf = (worker: WorkerOverview): Sample[] => {
  const { p50, p99, max } = (worker.live ? worker.stats?.jobs?.lateMs : undefined) ?? {}
  const quantiles = { '0.5': p50, '0.99': p99, '1': max }
  return Object.entries(quantiles).map(([quantile, ms]) => [[...labelsOf(worker), quantile], seconds(ms)])
}

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000)

/**
 * All metrics there are; the table in docs/measuring.md, the dashboard and the alert rules are tested against this one.
 *
 * Counters carry the id of the worker that counted. A sum over all workers would fall when one of them leaves, and
 * Prometheus takes a fall for a restart from 0 and counts what is left as new calls. Under an id a counter never falls; it
 * ends with its worker, and `sum without (worker) (rate(...))` is right all along. Host and pid would not do: in containers
 * all pids are 1, and one process may have several workers.
 */
export const prometheusMetrics = {
  pshub_calls_total: metric(
    'counter',
    "Calls that ended on a worker since it started, by outcome ('ok', 'rejected', 'failed') and code ('ok' or the error's).",
    ['queue', 'task', 'worker', 'outcome', 'code'],
    ({ workers }) => workers.flatMap(callsOf),
  ),
  pshub_unanswered_total: metric(
    'counter',
    "Calls that ended in a hub without a reply from a worker, by outcome ('rejected', 'failed') and code.",
    ['queue', 'task', 'hub', 'outcome', 'code'],
    ({ unanswered }) =>
      unanswered.map(({ queue = '', task, hub, code, count }) => [
        [queue, task, hub, outcomeOf({ code }), code],
        count,
      ]),
  ),
  pshub_wait_seconds: ofTasks(
    'Duration of calls of the last minute by phase: backlog (in Redis), queue (in a worker with a blocked event loop), exec (the handler). Quantile 1 is the longest.',
    ['queue', 'task', 'phase', 'quantile'],
    waitsOf,
  ),
  pshub_task_workers: ofTasks('Live workers that provide a task.', ['queue', 'task'], taskWorkersOf),
  pshub_task_queues: ofTasks(
    'Queues with live workers that provide a task; more than 1 is rarely meant.',
    ['task'],
    ({ task, queues }) => [[[task], queues.filter(({ workers }) => workers > 0).length]],
  ),
  pshub_task_conflict: ofTasks(
    '1 when live workers declare a task with different schemas.',
    ['queue', 'task'],
    ({ queue, task, conflict }) => [[[queue, task], conflict]],
  ),
  pshub_queue_backlog: ofQueues('Requests waiting in Redis.', ({ backlog }) => backlog),
  pshub_queue_oldest_seconds: ofQueues(
    'Wait of the oldest waiting request; 0 when none waits.',
    // Where something waits that does not say since when, nothing is known; 0 would be a lie.
    ({ backlog, oldestMs }) => seconds(oldestMs ?? (backlog > 0 ? undefined : 0)),
  ),
  pshub_queue_paused: ofQueues('1 while the queue is paused.', ({ pausedMs }) => pausedMs !== undefined),
  pshub_queue_jobs: ofQueues('Jobs waiting in Redis.', ({ jobs }) => jobs),
  pshub_queue_oldest_job_seconds: ofQueues(
    'Time since the first waiting job was due; 0 when none is due.',
    ({ jobs, oldestJobMs }) => seconds(oldestJobMs ?? (jobs > 0 ? undefined : 0)),
  ),
  pshub_queue_scheduled_jobs: ofQueues('Jobs scheduled for later.', ({ scheduled }) => scheduled),
  pshub_queue_retrying_jobs: ofQueues('Jobs that failed and will be retried.', ({ retrying }) => retrying),
  pshub_queue_dead_jobs: ofQueues('Dead jobs.', ({ dead }) => dead),
  // Of a queue without keys there are none of these.
  pshub_queue_waiting_keys: ofQueues('Keys with waiting jobs, due or scheduled.', ({ keys }) => keys?.waiting),
  pshub_queue_running_keys: ofQueues('Keys with a running job.', ({ keys }) => keys?.running),
  pshub_queue_key_lag_seconds: ofQueues('Time since the first due key was due; 0 when none is due.', ({ keys }) =>
    seconds(keys?.lagMs),
  ),
  pshub_queue_longest_key_seconds: ofQueues(
    'Run time of the longest-running key; 0 when none is running.',
    ({ keys }) => seconds(keys?.longestMs),
  ),
  pshub_queue_held: ofQueues('Requests held by workers: claimed, not settled yet.', ({ held }) => held),
  pshub_queue_workers: ofQueues('Live workers that claim requests.', ({ workers }) => workers),
  pshub_queue_slots: ofQueues('Slots of these workers.', ({ slots }) => slots),
  pshub_queue_busy: ofQueues('Slots in use.', ({ busy }) => busy),
  pshub_queue_busy_ratio: ofQueues(
    "Share of the slots' time that was used in the last minute, 0 to 1.",
    ({ busyShare }) => busyShare,
  ),
  pshub_worker_up: ofWorkers('gauge', '1 while its lease holds; 0 when it crashed or is cut off.', ({ live }) => live),
  pshub_worker_draining: ofLiveWorkers(
    'gauge',
    '1 while it is stopping and finishes its running requests.',
    ({ draining }) => draining,
  ),
  pshub_worker_slots: ofWorkers('gauge', 'Requests it runs at once.', ({ live, slots }) => (live ? slots : undefined)),
  pshub_worker_busy: ofLiveWorkers('gauge', 'Requests it runs now.', ({ busy }) => busy),
  pshub_worker_busy_ratio: ofLiveWorkers(
    'gauge',
    "Share of its slots' time that was used in the last minute, 0 to 1.",
    ({ busyShare }) => busyShare,
  ),
  pshub_worker_loop_delay_seconds: metric(
    'gauge',
    'Delay of its event loop in the last minute. Quantile 1 is the longest.',
    [...workerLabels, 'quantile'],
    ({ workers }) => workers.flatMap(loopDelayOf),
  ),
  pshub_worker_resident_memory_bytes: ofLiveWorkers('gauge', 'Memory of its process.', ({ rssBytes }) => rssBytes),
  pshub_worker_last_beat_timestamp_seconds: ofWorkers(
    'gauge',
    'Last heartbeat, on the clock of Redis, since 1970.',
    ({ stats }) => seconds(stats?.seen),
  ),
  pshub_worker_jobs_total: metric(
    'counter',
    "Jobs since it started, by outcome: each try 'ran'; some were 'retried', 'put_off' (delayed) or are 'dead'.",
    ['queue', 'worker', 'outcome'],
    ({ workers }) => workers.flatMap(jobsOf),
  ),
  pshub_worker_job_lateness_seconds: metric(
    'gauge',
    'Delay between due time and start of its jobs of the last minute. Quantile 1 is the longest.',
    [...workerLabels, 'quantile'],
    ({ workers }) => workers.flatMap(latenessOf),
  ),
  pshub_worker_malformed_total: ofLiveWorkers(
    'counter',
    'List entries that it dropped because they were not requests.',
    ({ counters }) => counters.malformed,
  ),
  pshub_worker_unserved_total: ofLiveWorkers(
    'counter',
    'Requests without a deadline that it ended because no worker has their task.',
    ({ counters }) => counters.unserved,
  ),
} as const satisfies Record<string, Metric>

/** What an overview says, in Prometheus' text format 0.0.4: serve it as `text/plain; version=0.0.4; charset=utf-8`. */
export const prometheusText = (told: Told): string =>
  Object.entries(prometheusMetrics)
    .map(([name, metric]) => textOf(name, metric, told))
    .join('')

const textOf = (name: string, { type, help, labels, samples }: Metric, told: Told): string => {
  const values = new Map<string, number>()
  for (const [texts, value] of samples(told)) {
    const own = labels.map((label, at) => `${label}="${escaped(texts[at]!)}"`).join(',')
    // Not what is unknown, nor a second value under the same labels, for which all would be refused.
    if (value !== undefined && Number.isFinite(Number(value)) && !values.has(own)) values.set(own, Number(value))
  }
  if (values.size === 0) return ''
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
  for (const [own, value] of values) lines.push(`${name}{${own}} ${value}`)
  return lines.map(line => `${line}\n`).join('')
}

/**
 * Names come from whoever can write to Redis: no quote or line break of theirs may begin another sample, and no control a
 * terminal's command.
 */
const escaped = (value: string): string =>
  value.replace(/[\\"\n]/g, char => (char === '\n' ? '\\n' : `\\${char}`)).replace(/\p{Cc}/gu, '\ufffd')
