import type { EventMap, EventName, Events } from '../../figures/events.ts'
import { type Counts, countCall, noCounts } from '../../figures/task-stats.ts'
import { parseStatsdAddress } from '../../settings/statsd-address.ts'
import { errorTable, isErrorCode, kindOf } from '../../wire/errors.ts'
import { detached } from '../../wire/timers.ts'
import { type Metric, metrics } from '../metrics.ts'
import { Meter, type StatsdOptions } from './meter.ts'
import { Outlet } from './outlet.ts'
import { wireTo } from './wire.ts'

/** How many of this process had gauges of their own, to tell them apart. */
let workers = 0

/**
 * Sends the metrics of one hub or worker to a StatsD daemon. A daemon that is away delays and fails nothing: its metrics
 * are dropped, and there is one `problem` event per outage.
 *
 * @returns the end of the subscription, which resolves when the last metrics have left
 * @throws ConfigError when the address needs a package that is not installed
 */
export const subscribeStatsd = (events: Events, options: StatsdOptions): (() => Promise<void>) => {
  const wire = wireTo(parseStatsdAddress(options.statsd)!)
  const outlet = new Outlet(wire, reason =>
    events.emit('problem', { where: 'statsd', reason: `No metrics reach ${options.statsd}: ${reason}` }),
  )
  const meter = detached(() => new Meter(outlet, options))
  const codeFor = boundedCodes()
  const subscriptions = [
    ...measureCounts(events, meter),
    measureCalls(events, meter, codeFor),
    ...measureRequests(events, meter, codeFor),
    ...measureWorker(events, meter, options.name),
  ]
  return () => {
    for (const end of subscriptions) end()
    return meter.close()
  }
}

/** The code as a tag: of a task at most as many as its counts have. */
type Bounded = (task: string, code: string | undefined) => string | undefined

const boundedCodes = (): Bounded => {
  const counts = new Map<string, Counts>()
  return (task, code) => {
    // Of these there are only so many.
    if (code === undefined || isErrorCode(code)) return code
    const counted = counts.get(task) ?? noCounts()
    counts.set(task, counted)
    return countCall(counted, 'failed', code)
  }
}

/** Each of these events is one more of its metric, with those of its members as tags that the metric names. */
const counted = {
  'call:retried': metrics.callRetried,
  'reply:late': metrics.lateReply,
  'request:malformed': metrics.malformed,
  'request:redelivered': metrics.redelivered,
  'task:elsewhere': metrics.elsewhere,
  'job:putoff': metrics.jobPutOff,
  'job:dead': metrics.jobDead,
  'schedule:tick': metrics.jobTick,
} as const satisfies Partial<Record<EventName, Metric>>

const measureCounts = (events: Events, meter: Meter) =>
  Object.entries(counted).map(([name, metric]) =>
    events.on(name as keyof typeof counted, (event: object) => meter.count(metric, event)),
  )

const measureCalls = (events: Events, meter: Meter, codeFor: Bounded) =>
  events.on('call:settled', ({ task, outcome, code, ms }) => {
    // Without the name of what does not exist: it may be anything, each time another one.
    const tags = code === 'NoSuchTask' ? { code } : { task, code: codeFor(task, code) }
    meter.count(callMetrics[outcome], tags)
    if (!wasNotRun(code)) meter.timing(metrics.callTime, tags, ms)
  })

const callMetrics = { ok: metrics.callOk, rejected: metrics.callRejected, failed: metrics.callFailed } as const

const measureRequests = (events: Events, meter: Meter, codeFor: Bounded) => [
  events.on('task:settled', ({ task, queue, outcome, code, us, keyUs, isJob }) => {
    const tags = { queue, task, code: codeFor(task, code) }
    meter.timing(metrics.backlogWait, tags, us.backlog / 1000)
    meter.timing(metrics.queueWait, tags, us.queue / 1000)
    if (keyUs !== undefined) meter.timing(metrics.keyWait, tags, keyUs / 1000)
    if (outcome !== 'ok') meter.count(metrics[outcome], tags)
    if (wasNotRun(code)) return
    if (isJob) meter.timing(metrics.jobLateness, tags, (us.backlog + us.queue) / 1000)
    meter.timing(metrics.exec, tags, us.exec / 1000)
  }),
  events.on('job:retried', ({ queue, task, code }) =>
    meter.count(metrics.jobRetried, { queue, task, code: codeFor(task, code) }),
  ),
  // Without the task: anything may be written into a request, each time another name.
  events.on('request:unserved', ({ queue, code }) => meter.count(metrics.rejected, { queue, code })),
  events.on('request:expired', ({ queue }) => meter.count(metrics.rejected, { queue, code: 'Expired' })),
  events.on('jobs:enqueued', ({ queue, count }) => {
    if (count > 0) meter.count(metrics.jobEnqueued, { queue }, count)
  }),
  events.on('claim:taken', ({ queue, expired }) => {
    if (expired > 0) meter.count(metrics.rejected, { queue, code: 'Expired' }, expired)
  }),
  events.on('worker:lost', ({ queue, adopted }) => {
    if (adopted > 0) meter.count(metrics.adopted, { queue }, adopted)
  }),
  // Real figures of the list, from the worker that reports it; nobody else knows them at the right moments.
  events.on('queue:measured', ({ queue, length, oldestMs, jobs, keys }) => {
    meter.gauge(metrics.backlog, { queue }, length)
    if (oldestMs !== undefined) meter.gauge(metrics.oldest, { queue }, oldestMs)
    if (jobs.oldestMs !== undefined) meter.gauge(metrics.jobsOldest, { queue }, jobs.oldestMs)
    meter.gauge(metrics.jobsWaiting, { queue }, jobs.waiting)
    meter.gauge(metrics.jobsScheduled, { queue }, jobs.scheduled)
    meter.gauge(metrics.jobsRetrying, { queue }, jobs.retrying)
    meter.gauge(metrics.jobsDead, { queue }, jobs.dead)
    meter.gauge(metrics.keysWaiting, { queue }, keys.waiting)
    meter.gauge(metrics.keysRunning, { queue }, keys.running)
    meter.gauge(metrics.keysLag, { queue }, keys.lagMs)
    meter.gauge(metrics.keysLongest, { queue }, keys.longestMs)
  }),
]

const measureWorker = (events: Events, meter: Meter, name: string) => {
  let worker: string | undefined
  const send = (queue: string, slots: number, busy: number, { mean, max }: { mean: number; max: number }) => {
    worker ??= `${name}-${process.pid}${++workers > 1 ? `-${workers}` : ''}`
    const tags = { queue, worker }
    meter.gauge(metrics.slots, tags, slots)
    meter.gauge(metrics.busy, tags, busy)
    meter.gauge(metrics.loopDelayMean, tags, mean)
    meter.gauge(metrics.loopDelayMax, tags, max)
  }
  return [
    events.on('worker:beat', ({ queue, slots, busy, loopDelayMs }) => send(queue, slots, busy, loopDelayMs)),
    // A daemon repeats a gauge until it hears another one.
    events.on('worker:stopped', ({ queue }) => send(queue, 0, 0, { mean: 0, max: 0 })),
  ]
}

const wasNotRun = (code: EventMap['call:settled']['code']): boolean =>
  code !== undefined && errorTable[kindOf(code)].ran === 'no'
