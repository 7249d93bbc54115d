/** A metric as a StatsD daemon gets it. Timings are milliseconds. */
export interface Metric {
  readonly name: string
  readonly type: 'timing' | 'counter' | 'gauge'
  /** In the order in which Graphite names carry them. */
  readonly tags: readonly ('queue' | 'task' | 'code' | 'worker')[]
}

const timing = (name: string, ...tags: Metric['tags']): Metric => ({ name, type: 'timing', tags })
const counter = (name: string, ...tags: Metric['tags']): Metric => ({ name, type: 'counter', tags })
const gauge = (name: string, ...tags: Metric['tags']): Metric => ({ name, type: 'gauge', tags })

/** Every metric there is; nobody else writes a name. docs/measuring.md says what they mean, and is tested against this. */
export const metrics = {
  callTime: timing('call.time', 'task'),
  callOk: counter('call.ok', 'task'),
  callFailed: counter('call.failed', 'task', 'code'),
  callRejected: counter('call.rejected', 'task', 'code'),
  callRetried: counter('call.retried', 'task', 'code'),
  lateReply: counter('call.late_reply'),
  backlog: gauge('queue.backlog', 'queue'),
  oldest: gauge('queue.oldest', 'queue'),
  backlogWait: timing('queue.backlog_wait', 'queue', 'task'),
  queueWait: timing('worker.queue_wait', 'queue', 'task'),
  exec: timing('worker.exec', 'queue', 'task'),
  failed: counter('worker.failed', 'queue', 'task', 'code'),
  rejected: counter('worker.rejected', 'queue', 'task', 'code'),
  malformed: counter('worker.malformed', 'queue'),
  elsewhere: counter('worker.task_elsewhere', 'queue', 'task'),
  adopted: counter('worker.adopted', 'queue'),
  redelivered: counter('worker.redelivered', 'queue', 'task'),
  jobsWaiting: gauge('queue.jobs', 'queue'),
  jobsOldest: gauge('queue.jobs_oldest', 'queue'),
  jobsScheduled: gauge('queue.jobs_scheduled', 'queue'),
  jobsRetrying: gauge('queue.jobs_retrying', 'queue'),
  jobsDead: gauge('queue.jobs_dead', 'queue'),
  keysWaiting: gauge('queue.keys', 'queue'),
  keysRunning: gauge('queue.keys_running', 'queue'),
  keysLag: gauge('queue.keys_lag', 'queue'),
  keysLongest: gauge('queue.keys_longest', 'queue'),
  jobLateness: timing('job.lateness', 'queue', 'task'),
  keyWait: timing('job.key_wait', 'queue', 'task'),
  jobEnqueued: counter('job.enqueued', 'queue'),
  jobRetried: counter('job.retried', 'queue', 'task', 'code'),
  jobPutOff: counter('job.put_off', 'queue', 'task'),
  jobDead: counter('job.dead', 'queue', 'task'),
  jobTick: counter('job.schedule', 'queue', 'task'),
  busy: gauge('worker.busy', 'queue', 'worker'),
  slots: gauge('worker.slots', 'queue', 'worker'),
  loopDelayMean: gauge('worker.loop_delay.mean', 'queue', 'worker'),
  loopDelayMax: gauge('worker.loop_delay.max', 'queue', 'worker'),
} as const satisfies Record<string, Metric>

export type Tags = { readonly [K in Metric['tags'][number]]?: string | undefined }

/** One metric with the values of its tags, as the beginning and the end of each of its lines. */
export interface Line {
  /** Up to the value, colon included. */
  head: string
  /** What follows type and sample rate. */
  tail: string
}

/** How names and tags are written. `global`: tags of this process, which Graphite names do without. */
type Format = (prefix: string, metric: Metric, tags: Tags, global: string) => Line

/** DogStatsD's: `pshub.worker.exec:12|ms|#queue:images,task:resize:1.0,name:web-1` */
const tagged: Format = (prefix, { name, tags: keys }, tags, global) => {
  const own = keys.flatMap(key => (tags[key] === undefined ? [] : [`${key}:${tagSafe(tags[key])}`]))
  return { head: `${prefix}${name}:`, tail: `|#${[...own, `name:${tagSafe(global)}`].join(',')}` }
}

/** Values become parts of the name: `pshub.worker.exec.images.resize_1_0:12|ms`. A tag without a value is left out. */
const graphite: Format = (prefix, { name, tags: keys }, tags) => {
  const parts = keys.flatMap(key => (tags[key] === undefined ? [] : [partSafe(tags[key])]))
  return { head: `${prefix}${[name, ...parts].join('.')}:`, tail: '' }
}

export const formats = { tags: tagged, graphite } as const

/** What ends a tag, a line or a field goes; a colon may stay. */
const tagSafe = (value: string): string => value.replace(/[|,#@\p{Cc}\p{Z}]/gu, '_')
const partSafe = (value: string): string => value.replace(/[^A-Za-z0-9_-]/g, '_')
