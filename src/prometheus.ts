import type { Load, Waits } from './load.ts'
import type { Overview, QueueOverview, TaskOverview, WorkerOverview } from './overview.ts'

interface Metric {
  type: 'counter' | 'gauge'
  help: string
  /** In this order in each sample. */
  labels: readonly string[]
}

const ofQueue = ['queue'] as const
const ofTask = ['queue', 'task'] as const
const ofWorker = ['queue', 'worker', 'host', 'pid'] as const

/**
 * All metrics there are; README's table, the dashboard and the alert rules are tested against this one.
 *
 * Counters carry the id of the worker that counted. A sum over all workers would fall when one of them leaves, and
 * Prometheus takes a fall for a restart from 0 and counts what is left as new calls. Under an id a counter never falls; it
 * ends with its worker, and `sum without (worker) (rate(...))` is right all along. Host and pid would not do: in containers
 * all pids are 1, and one process may have several workers.
 */
export const prometheusMetrics = {
  pshub_calls_total: {
    type: 'counter',
    help: "Calls that ended on a worker since it started, by how: 'ok' or the error's code.",
    labels: [...ofTask, 'worker', 'code'],
  },
  pshub_wait_seconds: {
    type: 'gauge',
    help: 'How long calls of the last minute took, by phase: backlog (in Redis), queue (in a worker with a blocked event loop), exec (the handler). Quantile 1 is the longest.',
    labels: [...ofTask, 'phase', 'quantile'],
  },
  pshub_task_workers: { type: 'gauge', help: 'Live workers that provide a task.', labels: ofTask },
  pshub_task_queues: {
    type: 'gauge',
    help: 'Queues with live workers that provide a task; more than 1 is rarely meant.',
    labels: ['task'],
  },
  pshub_task_conflict: {
    type: 'gauge',
    help: '1 when live workers declare a task with different schemas.',
    labels: ofTask,
  },
  pshub_queue_backlog: { type: 'gauge', help: 'Requests that wait in Redis.', labels: ofQueue },
  pshub_queue_oldest_seconds: {
    type: 'gauge',
    help: 'How long the oldest of them has waited; 0 when none waits.',
    labels: ofQueue,
  },
  pshub_queue_paused: { type: 'gauge', help: '1 while the queue is paused.', labels: ofQueue },
  pshub_queue_jobs: { type: 'gauge', help: 'Jobs that wait in Redis.', labels: ofQueue },
  pshub_queue_dead_jobs: { type: 'gauge', help: 'Jobs that were given up.', labels: ofQueue },
  pshub_queue_held: { type: 'gauge', help: 'Requests that workers hold: claimed, not settled yet.', labels: ofQueue },
  pshub_queue_workers: { type: 'gauge', help: 'Live workers that take requests.', labels: ofQueue },
  pshub_queue_slots: { type: 'gauge', help: 'Their slots.', labels: ofQueue },
  pshub_queue_busy: { type: 'gauge', help: 'Slots in use.', labels: ofQueue },
  pshub_queue_busy_ratio: {
    type: 'gauge',
    help: "Share of the slots' time that was used in the last minute, 0 to 1.",
    labels: ofQueue,
  },
  pshub_worker_up: { type: 'gauge', help: '1 while its lease holds; 0 when it died or is cut off.', labels: ofWorker },
  pshub_worker_draining: {
    type: 'gauge',
    help: '1 while it was told to stop and finishes what runs.',
    labels: ofWorker,
  },
  pshub_worker_slots: { type: 'gauge', help: 'Requests it runs at once.', labels: ofWorker },
  pshub_worker_busy: { type: 'gauge', help: 'Requests it runs now.', labels: ofWorker },
  pshub_worker_busy_ratio: {
    type: 'gauge',
    help: "Share of its slots' time that was used in the last minute, 0 to 1.",
    labels: ofWorker,
  },
  pshub_worker_loop_delay_seconds: {
    type: 'gauge',
    help: 'How late its event loop was in the last minute. Quantile 1 is the latest.',
    labels: [...ofWorker, 'quantile'],
  },
  pshub_worker_resident_memory_bytes: { type: 'gauge', help: 'Memory of its process.', labels: ofWorker },
  pshub_worker_last_beat_timestamp_seconds: {
    type: 'gauge',
    help: "When it last gave a sign, on Redis' clock, since 1970.",
    labels: ofWorker,
  },
  pshub_worker_malformed_total: {
    type: 'counter',
    help: 'List elements that it dropped, because they were no requests.',
    labels: ofWorker,
  },
  pshub_worker_unserved_total: {
    type: 'counter',
    help: 'Requests without a deadline that it ended, because no worker has their task.',
    labels: ofWorker,
  },
} as const satisfies Record<string, Metric>

export type PrometheusMetric = keyof typeof prometheusMetrics

/** What an overview says, in Prometheus' text format 0.0.4: serve it as `text/plain; version=0.0.4; charset=utf-8`. */
export const prometheusText = ({ tasks, queues, workers }: Pick<Overview, 'tasks' | 'queues' | 'workers'>): string => {
  const samples = new Samples()
  for (const task of tasks) addTask(samples, task)
  for (const queue of queues) addQueue(samples, queue)
  for (const worker of workers) addWorker(samples, worker)
  return samples.text()
}

const addTask = (samples: Samples, { queue, task, queues, conflict, load }: TaskOverview): void => {
  const live = queues.filter(({ workers }) => workers > 0)
  // A queue that lost its workers to another one is no alarm; a task without any is.
  for (const each of live) samples.add('pshub_task_workers', [each.queue, task], each.workers)
  if (live.length === 0) samples.add('pshub_task_workers', [queue, task], 0)
  samples.add('pshub_task_queues', [task], live.length)
  samples.add('pshub_task_conflict', [queue, task], conflict ? 1 : 0)
  for (const phase of Object.keys(load.us) as (keyof Load['us'])[]) {
    const waits = load.us[phase]
    if (!waits) continue
    for (const [quantile, name] of quantiles)
      samples.add('pshub_wait_seconds', [queue, task, phase, quantile], waits[name] / 1e6)
  }
}

const quantiles: readonly [string, 'p50' | 'p95' | 'p99' | 'max'][] = [
  ['0.5', 'p50'],
  ['0.95', 'p95'],
  ['0.99', 'p99'],
  ['1', 'max'],
] satisfies [string, keyof Waits][]

const addQueue = (samples: Samples, overview: QueueOverview): void => {
  const { queue, backlog, oldestMs, pausedMs, jobs, dead, held, workers, slots, busy, busyShare } = overview
  samples.add('pshub_queue_backlog', [queue], backlog)
  // Where something waits that does not say since when, nothing is known; 0 would be a lie.
  samples.add(
    'pshub_queue_oldest_seconds',
    [queue],
    oldestMs === undefined && backlog > 0 ? undefined : seconds(oldestMs ?? 0),
  )
  samples.add('pshub_queue_paused', [queue], pausedMs === undefined ? 0 : 1)
  samples.add('pshub_queue_jobs', [queue], jobs)
  samples.add('pshub_queue_dead_jobs', [queue], dead)
  samples.add('pshub_queue_held', [queue], held)
  samples.add('pshub_queue_workers', [queue], workers)
  samples.add('pshub_queue_slots', [queue], slots)
  samples.add('pshub_queue_busy', [queue], busy)
  samples.add('pshub_queue_busy_ratio', [queue], busyShare)
}

const addWorker = (samples: Samples, worker: WorkerOverview): void => {
  const { queue, id, host, pid, slots, live, stats, totals } = worker
  const own = [queue, id, host, String(pid)]
  samples.add('pshub_worker_up', own, live ? 1 : 0)
  samples.add('pshub_worker_last_beat_timestamp_seconds', own, seconds(stats?.seen))
  if (!live) return
  samples.add('pshub_worker_slots', own, slots)
  for (const task of Object.keys(worker.tasks)) {
    // From 0 on, because Prometheus does not count what a counter begins with: the first failure would not be seen.
    const { ok, errors } = Object.hasOwn(totals, task) ? totals[task]! : { ok: 0, errors: {} }
    for (const [code, count] of Object.entries({ ok, TaskFailed: 0, ...errors }))
      samples.add('pshub_calls_total', [queue, task, id, code], count)
  }
  if (!stats) return
  const { draining, busy, busyShare, loopMs, rssBytes, counters } = stats
  samples.add('pshub_worker_draining', own, draining ? 1 : 0)
  samples.add('pshub_worker_busy', own, busy)
  samples.add('pshub_worker_busy_ratio', own, busyShare)
  samples.add('pshub_worker_loop_delay_seconds', [...own, '0.99'], seconds(loopMs?.p99))
  samples.add('pshub_worker_loop_delay_seconds', [...own, '1'], seconds(loopMs?.max))
  samples.add('pshub_worker_resident_memory_bytes', own, rssBytes)
  samples.add('pshub_worker_malformed_total', own, counters.malformed)
  samples.add('pshub_worker_unserved_total', own, counters.unserved)
}

const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000)

/** Values by metric and labels. */
class Samples {
  readonly #byMetric = new Map<PrometheusMetric, Map<string, number>>()

  /** Leaves out what is unknown, and a second value under the same labels, for which all would be refused. */
  add(metric: PrometheusMetric, values: readonly string[], value: number | undefined): void {
    if (value === undefined || !Number.isFinite(value)) return
    const samples = this.#byMetric.get(metric) ?? new Map<string, number>()
    this.#byMetric.set(metric, samples)
    const labels = prometheusMetrics[metric].labels.map((name, at) => `${name}="${escaped(values[at]!)}"`).join(',')
    if (!samples.has(labels)) samples.set(labels, value)
  }

  text(): string {
    const lines: string[] = []
    for (const [name, { help, type }] of Object.entries(prometheusMetrics)) {
      const samples = this.#byMetric.get(name as PrometheusMetric)
      if (!samples) continue
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
      for (const [labels, value] of samples) lines.push(`${name}{${labels}} ${value}`)
    }
    return lines.map(line => `${line}\n`).join('')
  }
}

/**
 * Names come from whoever can write to Redis: no quote or line break of theirs may begin another sample, and no control a
 * terminal's command.
 */
const escaped = (value: string): string =>
  value.replace(/[\\"\n]/g, char => (char === '\n' ? '\\n' : `\\${char}`)).replace(/\p{Cc}/gu, '\ufffd')
