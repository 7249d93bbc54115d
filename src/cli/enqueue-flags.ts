import type { EnqueueOptions } from '../jobs/enqueue-options.ts'
import { UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { parseDuration } from './duration.ts'
import { queueOf } from './flag-values.ts'

/** How a job is to be run, as flags. */
export const enqueueFlags: Command['options'] = [
  { flag: 'queue', value: 'name', about: 'queue it goes to', fallback: 'where the task is' },
  { flag: 'forward', value: 'name', about: 'forwarder that takes it out of the hub, in the place of a worker' },
  { flag: 'delay', value: 'time', about: 'not before so long from now: 30s, 5m, 2h, 1d' },
  {
    flag: 'at',
    value: 'when',
    about: 'not before this moment: 2026-12-01T08:00:00Z; without Z or an offset, local time',
  },
  {
    flag: 'retries',
    value: 'n',
    about: 'how often it is tried again when it fails',
    fallback: "the task's own, else 25",
  },
  {
    flag: 'backoff',
    value: 'kind',
    about: 'wait before that: exponential, polynomial, a time, or times with commas',
    fallback: "the task's own, else exponential",
  },
  {
    flag: 'key',
    value: 'text',
    about: 'of a keyed task: jobs with the same key run one after the other, or are merged',
  },
  { flag: 'score', value: 'n', about: 'of a merged task: payloads with lower ones come first', fallback: 'the time' },
  { flag: 'priority', value: 'level', about: 'high, normal or low' },
  {
    flag: 'unique',
    value: 'id',
    isOptional: true,
    about: 'only if none like it is there: of the same id, or of the same arguments',
  },
  { flag: 'expires', value: 'time', about: 'it is not run when it has waited for longer' },
  { flag: 'tracked', about: 'keep a record of how it fares, for pshub job' },
  { flag: 'keep', value: 'time', about: 'keep that for so long after its end', fallback: '1h' },
  { flag: 'durable', about: 'confirmed only when a replica of Redis has it, too' },
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
