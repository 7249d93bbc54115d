import type { EnqueueOptions } from '../jobs/enqueue-options.ts'
import { UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { parseDuration } from './duration.ts'
import { queueOf } from './flag-values.ts'

/** How a job is to be run, as flags. */
export const enqueueFlags: Command['options'] = [
  { flag: 'queue', value: 'name', about: 'queue of the job', fallback: 'the queue of the task' },
  { flag: 'forward', value: 'name', about: 'forwarder that delivers it, instead of a worker' },
  { flag: 'delay', value: 'time', about: 'run after this time: 30s, 5m, 2h, 1d' },
  {
    flag: 'at',
    value: 'when',
    about: 'run at this time: 2026-12-01T08:00:00Z; local time without Z or an offset',
  },
  {
    flag: 'retries',
    value: 'n',
    about: 'how often it is retried when it fails',
    fallback: "the task's own, else 25",
  },
  {
    flag: 'backoff',
    value: 'kind',
    about: 'wait before a retry: exponential, polynomial, a time, or times with commas',
    fallback: "the task's own, else exponential",
  },
  {
    flag: 'key',
    value: 'text',
    about: 'for a keyed task: jobs with the same key run one at a time, or are merged',
  },
  { flag: 'score', value: 'n', about: 'for a merged task: lower scores come first', fallback: 'the time' },
  { flag: 'priority', value: 'level', about: 'high, normal or low' },
  {
    flag: 'unique',
    value: 'id',
    isOptional: true,
    about: 'only if no job with the same id, or the same arguments, exists',
  },
  { flag: 'expires', value: 'time', about: 'do not run it after it has waited this long' },
  { flag: 'tracked', about: 'keep a record of its state, for pshub job' },
  { flag: 'keep', value: 'time', about: 'how long to keep the record after its end', fallback: '1h' },
  { flag: 'durable', about: 'confirm it only when a replica of Redis has it too' },
]

const priorities = ['high', 'normal', 'low'] as const

/** @throws UsageError */
export const enqueueOptionsOf = (flags: Invocation['flags']): EnqueueOptions => {
  const { forward, delay, at, retries, backoff, key, score, priority, unique, expires } = flags
  const { tracked, keep, wait, durable } = flags
  const duration = (text: string | undefined, flag: string) => text && parseDuration(text, `--${flag}`)
  const queue = queueOf(flags, 'enqueue')
  if (queue !== undefined && forward !== undefined) throw wrong('Give --queue or --forward, not both.')
  if (delay !== undefined && at !== undefined) throw wrong('Give --delay or --at, not both.')
  const options = {
    queue,
    forward,
    delayMs: duration(delay, 'delay'),
    at: at && momentOf(at),
    retries: retries && retriesOf(retries, 'enqueue'),
    backoff: backoff && backoffOf(backoff, 'enqueue'),
    key,
    score: score === undefined ? undefined : scoreOf(score),
    priority: priority && priorityOf(priority),
    unique: unique === '' ? true : unique,
    expiresMs: duration(expires, 'expires'),
    tracked: tracked !== undefined || wait !== undefined ? true : undefined,
    keepResultMs: duration(keep, 'keep'),
    durable: durable === undefined ? undefined : 'replica',
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** With its time of day: a date alone would be midnight in Greenwich, which few mean. */
const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/

const momentOf = (text: string): Date => {
  const at = new Date(text)
  if (moment.test(text) && !Number.isNaN(at.getTime())) return at
  throw wrong(`--at must be a date and time like 2026-12-01T08:00:00Z; it is '${text}'.`)
}

/** @throws UsageError */
export const retriesOf = (text: string, command: string): number => {
  if (/^\d{1,7}$/.test(text)) return Number(text)
  throw new UsageError(`--retries must be a whole number of at least 0; it is '${text}'.`, command)
}

const scoreOf = (text: string): number => {
  const score = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
  if (Number.isFinite(score)) return score
  throw wrong(`--score must be a number; it is '${text}'.`)
}

/** @throws UsageError */
export const backoffOf = (text: string, command: string): NonNullable<EnqueueOptions['backoff']> => {
  if (text === 'exponential' || text === 'polynomial') return text
  if (!/^[\d.]/.test(text))
    throw new UsageError(
      `--backoff must be exponential, polynomial, a time like 30s, or times like 1s,10s,1m; it is '${text}'.`,
      command,
    )
  const waits = text.split(',').map(part => parseDuration(part, '--backoff'))
  return waits.length === 1 ? waits[0]! : waits
}

const priorityOf = (text: string): (typeof priorities)[number] => {
  const priority = priorities.find(known => known === text)
  if (priority) return priority
  throw wrong(`--priority must be ${priorities.join(', ')}; it is '${text}'.`)
}

const wrong = (message: string): UsageError => new UsageError(message, 'enqueue')
