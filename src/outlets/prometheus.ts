import type { WorkerStats } from '../catalogue/cards.ts'
import type { Overview, QueueOverview, TaskOverview, WorkerOverview } from '../catalogue/overview.ts'
import { boundsUs } from '../figures/load.ts'
import { MetricTotals, tasksIn } from './metric-totals.ts'

/** What is known under these values of the labels; undefined where nothing is. `part` is behind the name, of a histogram. */
type Sample = readonly [values: readonly string[], value: number | boolean | undefined, part?: string]
type Told = Pick<Overview, 'tasks' | 'queues' | 'workers' | 'unanswered'>

interface Metric {
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  /** In this order in each sample; those of a histogram's buckets have `le`, too. */
  labels: readonly string[]
  samples(told: Told, totals: MetricTotals): Sample[]
}

const metric = (type: Metric['type'], help: string, labels: string[], samples: Metric['samples']): Metric => ({
  type,
  help,
  labels,
  samples,
})

/** Samples of the tasks in this reading alone: the reader may not be allowed to see the others. */
const taskCounter = (help: string, labels: string[], counter: 'calls' | 'jobs' | 'unanswered') =>
  metric('counter', help, labels, (told, totals) => {
    const seen = tasksIn(told)
    return totals
      .counted(counter)
      .flatMap(({ labels, count }): Sample[] => (seen.has(labels[1]!) ? [[labels, count]] : []))
  })

const counter = (help: string, labels: string[], counter: 'jobRuns' | 'malformed' | 'unserved') =>
  metric('counter', help, labels, (_told, totals) =>
    totals.counted(counter).map(({ labels, count }) => [labels, count]),
  )

const ofTasks = (help: string, labels: string[], samples: (task: TaskOverview) => Sample[]) =>
  metric('gauge', help, labels, ({ tasks }) => tasks.flatMap(samples))

const ofQueues = (help: string, value: (queue: QueueOverview) => Sample[1]) =>
  metric('gauge', help, ['queue'], ({ queues }) => queues.map(each => [[each.queue], value(each)]))

/** Of the workers of a queue on one host, which have one series together: their ids are new with each start. */
const ofHosts = (help: string, value: (workers: WorkerOverview[]) => Sample[1]) =>
  metric('gauge', help, ['queue', 'host'], ({ workers }) => {
    const groups = new Map<string, WorkerOverview[]>()
    for (const worker of workers) {
      const key = JSON.stringify([worker.queue, worker.host])
      groups.set(key, [...(groups.get(key) ?? []), worker])
    }
    return [...groups.values()].map(group => [[group[0]!.queue, group[0]!.host], value(group)])
  })

/** What live workers say, as one number; undefined where none says anything. */
const ofLive = (
  help: string,
  value: (stats: WorkerStats, worker: WorkerOverview) => number | undefined,
  together: (values: number[]) => number,
) =>
  ofHosts(help, workers => {
    const values = workers.flatMap(worker => (worker.live && worker.stats ? (value(worker.stats, worker) ?? []) : []))
    return values.length === 0 ? undefined : together(values)
  })

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0)
const largest = (values: number[]): number => Math.max(...values)

const bounds = [...boundsUs.map(us => String(us / 1e6)), '+Inf']

const waitsOf = (told: Told, totals: MetricTotals): Sample[] => {
  const seen = tasksIn(told)
  return totals.waits().flatMap(({ labels, waits: { counts, sumUs } }): Sample[] => {
    if (!seen.has(labels[1]!)) return []
    const buckets = counts.map((count, at): Sample => [[...labels, bounds[at]!], count, '_bucket'])
    return [...buckets, [labels, sumUs / 1e6, '_sum'], [labels, counts.at(-1), '_count']]
  })
}

/** A queue that lost its workers to another one is no alarm; a task without any is. */
const taskWorkersOf = ({ queue, task, queues }: TaskOverview): Sample[] => {
  const live = queues.filter(({ workers }) => workers > 0)
  return live.length === 0 ? [[[queue, task], 0]] : live.map(each => [[each.queue, task], each.workers])
}

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000)

/**
 * All metrics there are; the table in docs/measuring.md, the dashboard and the alert rules are tested against this one.
 * No label has more values than there are queues, tasks, codes and hosts.
 */
export const prometheusMetrics = {
  pshub_calls_total: taskCounter(
    "Calls that ended on a worker, by outcome ('ok', 'rejected', 'failed') and code ('ok' or the error's).",
    ['queue', 'task', 'outcome', 'code'],
    'calls',
  ),
  pshub_job_runs_total: taskCounter(
    'Runs of jobs that ended, in the same way; a job that is retried runs more than once.',
    ['queue', 'task', 'outcome', 'code'],
    'jobs',
  ),
  pshub_unanswered_total: taskCounter(
    "Calls that ended in a hub without a reply from a worker, by outcome ('rejected', 'failed') and code.",
    ['queue', 'task', 'outcome', 'code'],
    'unanswered',
  ),
  pshub_wait_seconds: metric(
    'histogram',
    'How long calls and runs of jobs took, by phase: backlog (in Redis), queue (in a worker with a blocked event loop), exec (the handler).',
    ['queue', 'task', 'phase'],
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
  pshub_worker_up: ofHosts('Live workers of a queue on a host.', workers => workers.filter(({ live }) => live).length),
  pshub_worker_lost: ofHosts(
    'Workers that crashed or are cut off, up to an hour ago: their lease ended before they left.',
    workers => workers.filter(({ live }) => !live).length,
  ),
  pshub_worker_draining: ofLive(
    'Workers that are stopping and finish their running requests.',
    ({ draining }) => Number(draining),
    sum,
  ),
  pshub_worker_slots: ofLive('Requests that the workers run at once.', (_stats, { slots }) => slots, sum),
  pshub_worker_busy: ofLive('Requests that the workers run now.', ({ busy }) => busy, sum),
  pshub_worker_busy_ratio: ofLive(
    "Share of a worker's slots' time that was used in the last minute, 0 to 1; of the busiest.",
    ({ busyShare }) => busyShare,
    largest,
  ),
  pshub_worker_loop_delay_seconds: ofLive(
    'Longest delay of an event loop in the last minute.',
    ({ loopMs }) => seconds(loopMs?.max),
    largest,
  ),
  pshub_worker_resident_memory_bytes: ofLive('Memory of their processes.', ({ rssBytes }) => rssBytes, sum),
  pshub_worker_last_beat_timestamp_seconds: ofHosts('Latest heartbeat, on the clock of Redis, since 1970.', workers => {
    const seen = workers.flatMap(({ stats }) => stats?.seen ?? []).filter(Number.isFinite)
    return seen.length === 0 ? undefined : largest(seen) / 1000
  }),
  pshub_worker_job_lateness_seconds: ofLive(
    'Longest delay between due time and start of a job of the last minute.',
    ({ jobs }) => seconds(jobs?.lateMs?.max),
    largest,
  ),
  pshub_worker_jobs_total: counter(
    "Jobs by outcome: each try 'ran'; some were 'retried', 'put_off' (delayed) or are 'dead'.",
    ['queue', 'outcome'],
    'jobRuns',
  ),
  pshub_worker_malformed_total: counter(
    'List entries that were dropped because they were not requests.',
    ['queue', 'host'],
    'malformed',
  ),
  pshub_worker_unserved_total: counter(
    'Requests without a deadline that were ended because no worker has their task.',
    ['queue', 'host'],
    'unserved',
  ),
} as const satisfies Record<string, Metric>

/**
 * What an overview says, in Prometheus' text format 0.0.4: serve it as `text/plain; version=0.0.4; charset=utf-8`.
 * @param totals to which each overview was added; without them counters are the sum of what live workers counted, which falls when one leaves
 */
export const prometheusText = (told: Told, totals: MetricTotals = totalsOf(told)): string =>
  Object.entries(prometheusMetrics)
    .map(([name, metric]) => textOf(name, metric, told, totals))
    .join('')

const totalsOf = (told: Told): MetricTotals => {
  const totals = new MetricTotals({ fromStart: true })
  totals.add(told)
  return totals
}

const textOf = (name: string, { type, help, labels, samples }: Metric, told: Told, totals: MetricTotals): string => {
  const values = new Map<string, number>()
  for (const [texts, value, part = ''] of samples(told, totals)) {
    const names = part === '_bucket' ? [...labels, 'le'] : labels
    const own = `${name}${part}{${names.map((label, at) => `${label}="${escaped(texts[at]!)}"`).join(',')}}`
    // Not what is unknown, nor a second value under the same labels, for which all would be refused.
    if (value !== undefined && Number.isFinite(Number(value)) && !values.has(own)) values.set(own, Number(value))
  }
  if (values.size === 0) return ''
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
  for (const [own, value] of values) lines.push(`${own} ${value}`)
  return lines.map(line => `${line}\n`).join('')
}

/**
 * Names come from whoever can write to Redis: no quote or line break of theirs may begin another sample, and no control a
 * terminal's command.
 */
const escaped = (value: string): string =>
  value.replace(/[\\"\n]/g, char => (char === '\n' ? '\\n' : `\\${char}`)).replace(/\p{Cc}/gu, '\ufffd')
