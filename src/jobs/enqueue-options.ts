import { createHash } from 'node:crypto'
import { wallMs } from '../wire/clock.ts'
import { HubError } from '../wire/errors.ts'
import {
  type Backoff,
  backoffKinds,
  isBackoff,
  isWait,
  type JobPart,
  type Keyed,
  longestWaitMs,
  maxKeyBytes,
} from '../wire/job-part.ts'
import { forwarderOf, forwardQueue, isForwarderName } from '../wire/keys.ts'
import { namesOf, refuseHubOptions } from '../wire/options.ts'
import { canonicalText } from '../wire/payload.ts'

/** Options of a job. */
export interface EnqueueOptions {
  /** Queue of the job. Default: the queue of its task; required if no worker has declared the task. */
  queue?: string | undefined
  /**
   * Forwarder that delivers the job, instead of a worker. Its task and arguments need not be known here. Jobs with the
   * same key are forwarded one at a time.
   */
  forward?: string | undefined
  /** Run it after this many milliseconds. */
  delayMs?: number | undefined
  /** Run it at this time: a Date, or milliseconds since 1970, on the clock of Redis. */
  at?: Date | number | undefined
  /** How often it is retried when it fails. Default: as declared by its task, else 25. 0: never. */
  retries?: number | undefined
  /** Wait before a retry. Default: as declared by its task, else `exponential`. */
  backoff?: Backoff | undefined
  /**
   * Required for a keyed task: jobs with the same key run one at a time, in the order in which they were enqueued,
   * across all workers; with `keyed: 'merged'` they are merged. A string of 1 to 200 bytes.
   */
  key?: string | undefined
  /** For merged jobs: payloads with lower scores come first. Default: the time of Redis in microseconds. */
  score?: number | undefined
  /** `high` runs before all other jobs of the queue, `low` after them. */
  priority?: 'high' | 'normal' | 'low' | undefined
  /** Do not run it if it has waited this many milliseconds since it was enqueued or due. */
  expiresMs?: number | undefined
  /** True: `status()`, `result()` and `cancel()` work, also in other processes. Its record is kept for an hour after its end. */
  tracked?: boolean | undefined
  /** Like `tracked`, and how long to keep the record with the result. */
  keepResultMs?: number | undefined
  /** Allow at most one such job at a time. Implies `tracked`. */
  unique?: boolean | string | UniqueOptions | undefined
  /**
   * `replica`: the job is acknowledged only when a replica of its Redis has it, so that a failover does not lose it. If
   * no replica confirms it within a second, enqueue() throws OutcomeUnknown: the job is enqueued, but lost if the
   * master fails. Default: acknowledged when its Redis has it.
   */
  durable?: 'replica' | undefined
  /** How long Redis may take to confirm it. Default 5000. */
  timeoutMs?: number | undefined
}

/** Which jobs of a task are duplicates, and for how long. */
export interface UniqueOptions {
  /** Jobs of a task with the same id are duplicates. Default: jobs with the same arguments. */
  id?: string | undefined
  /** Until the job has ended, succeeded or not (default), or only until it starts. */
  until?: 'ended' | 'started' | undefined
  /** At most this long. Default: until a day after it is due. */
  forMs?: number | undefined
}

const hourMs = 3600 * 1000
const dayMs = 24 * hourMs
const maxUniqueId = 100
/** Beyond that they are not told apart any more. */
const maxScore = 2 ** 53
/** 2001-01-01. What is below it was meant to be seconds, as in `new Date(seconds)`. */
const earliestMs = Date.UTC(2001)
export const defaultEnqueueMs = 5000

export const enqueueOptionNames = namesOf<EnqueueOptions>({
  queue: true,
  forward: true,
  delayMs: true,
  at: true,
  retries: true,
  backoff: true,
  key: true,
  score: true,
  priority: true,
  expiresMs: true,
  tracked: true,
  keepResultMs: true,
  unique: true,
  durable: true,
  timeoutMs: true,
})

/** Of one of several jobs: those are acknowledged together. */
export const entryOptionNames: ReadonlySet<string> = new Set([...enqueueOptionNames].filter(name => name !== 'durable'))

/** Options for the jobs of a schedule: the cron entry says when they are due, and workers enqueue them. */
export type ScheduleOptions = Omit<EnqueueOptions, 'delayMs' | 'at' | 'durable'>

/** @throws HubError InvalidArgs */
export const refuseTimes = (schedule: string, options: EnqueueOptions): void => {
  const given = (['delayMs', 'at'] as const).find(name => options?.[name] !== undefined)
  if (given === undefined) return
  const message = `schedule ${schedule}: ${given} is not an option of schedules: the cron entry says when jobs are due. Leave it out.`
  throw new HubError('InvalidArgs', message)
}

const uniqueNames = namesOf<UniqueOptions>({ id: true, until: true, forMs: true })

/** What a job's options come to in its message. */
export interface JobShape {
  /** Undefined for a job that carries nothing but its arguments. */
  part: Partial<JobPart> | undefined
  /** Milliseconds after which it is not wanted any more; 0: never. */
  ttlMs: number
}

const plain: JobShape = { part: undefined, ttlMs: 0 }

/**
 * @param argsJson arguments as they travel
 * @throws HubError InvalidArgs that names the option
 */
export const shapeOf = (
  task: string,
  argsJson: string,
  options: EnqueueOptions,
  how: { keyed?: Keyed | undefined; scores?: 'first' | undefined },
): JobShape => {
  if (options.durable !== undefined && options.durable !== 'replica')
    throw wrong(task, `durable must be 'replica', not ${shown(options.durable)}`)
  const { scores } = how
  const keyed = options.forward === undefined ? how.keyed : options.key === undefined ? undefined : 'ordered'
  let isPlain = keyed === undefined
  for (const name in options) {
    if (options[name as keyof EnqueueOptions] === undefined) continue
    if (name !== 'queue' && name !== 'forward' && name !== 'timeoutMs' && name !== 'durable') isPlain = false
  }
  if (isPlain) return plain
  checkKey(task, options, keyed)
  if (keyed === 'merged') checkMerged(task, options)
  const { delayMs, at, retries, backoff, key, score, priority, expiresMs, tracked, keepResultMs, unique } = options
  if (score !== undefined && keyed !== 'merged')
    throw wrong(task, "score is for merged jobs, and no worker declared the task as keyed: 'merged'. Leave it out")
  if (score !== undefined && !(typeof score === 'number' && Math.abs(score) <= maxScore))
    throw wrong(task, `score must be a number of at most 2^53, not ${shown(score)}`)
  needWait(task, { delayMs, expiresMs, keepResultMs })
  if (delayMs !== undefined && at !== undefined) throw wrong(task, 'give delayMs or at, not both')
  if (retries !== undefined && !isWait(retries, 1_000_000))
    throw wrong(task, `retries must be a whole number of at least 0, not ${shown(retries)}`)
  if (backoff !== undefined && !isBackoff(backoff))
    throw wrong(task, `backoff must be ${backoffKinds}, not ${shown(backoff)}`)
  if (priority !== undefined && priority !== 'high' && priority !== 'normal' && priority !== 'low')
    throw wrong(task, `priority must be 'high', 'normal' or 'low', not ${shown(priority)}`)
  const isTracked = tracked === true || keepResultMs !== undefined || (unique !== undefined && unique !== false)
  const part: Partial<JobPart> = {
    ...(retries === undefined ? {} : { retries }),
    ...(backoff === undefined ? {} : { backoff }),
    ...(delayMs ? { delay: Math.round(delayMs) } : {}),
    ...(at === undefined ? {} : { due: momentOf(task, at) }),
    ...(key === undefined ? {} : { key }),
    ...(keyed === 'merged' ? mergedPart(options, scores) : {}),
    ...(priority === 'high' || priority === 'low' ? { priority } : {}),
    ...(isTracked ? { keep: Math.max(1, Math.round(keepResultMs ?? hourMs)) } : {}),
    ...uniqueOf(task, argsJson, unique, delayMs ?? 0, at),
  }
  return {
    part: Object.keys(part).length === 0 ? undefined : part,
    ttlMs: expiresMs === undefined ? 0 : Math.max(1, Math.round(expiresMs)),
  }
}

/** Options of several, and those of one of them, which win: also as to where it goes. */
export const combined = (common: EnqueueOptions, own: EnqueueOptions | undefined): EnqueueOptions => {
  if (own === undefined) return common
  const { queue, forward, ...others } = common
  const isPlaced = own.queue !== undefined || own.forward !== undefined
  const merged: Record<string, unknown> = isPlaced ? others : { ...common }
  for (const [name, value] of Object.entries(own)) if (value !== undefined) merged[name] = value
  return merged
}

/** Where a job is to go: the queue that is named, if any, and what a route to it is for. @throws HubError InvalidArgs */
export const placeOf = (
  called: string,
  { queue, forward }: EnqueueOptions,
): { queue: string | undefined; purpose: 'jobs' | 'forward' } => {
  if (forward === undefined) {
    const forwarder = typeof queue === 'string' ? forwarderOf(queue) : undefined
    if (forwarder !== undefined)
      throw wrong(called, `queue ${shown(queue)} belongs to a forwarder: use forward instead, ${shown(forwarder)}`)
    return { queue, purpose: 'jobs' }
  }
  if (queue !== undefined) throw wrong(called, 'give queue or forward, not both: a forwarder has a queue of its own')
  if (!isForwarderName(forward))
    throw wrong(
      called,
      `forward must be the name of a forwarder, 1 to 56 letters, digits, and _ . -, not ${shown(forward)}`,
    )
  return { queue: forwardQueue(forward), purpose: 'forward' }
}

const checkKey = (task: string, { key, priority }: EnqueueOptions, keyed: Keyed | undefined): void => {
  if (key === undefined && keyed === undefined) return
  if (key === undefined)
    throw wrong(
      task,
      `its jobs are ${keyed}: give a key, for example { key: 'order-17' } (pshub enqueue --key order-17)`,
    )
  if (keyed === undefined)
    throw wrong(
      task,
      `it has a key, but no worker declared the task as keyed: 'ordered' or 'merged'. Declare it so, or leave out the key`,
    )
  checkKeyText(task, key)
  if (priority !== undefined && priority !== 'normal')
    throw wrong(task, 'jobs with a key have no priority: they run in order. Leave it out')
}

/** @throws HubError InvalidArgs */
export const checkKeyText = (task: string, key: unknown): void => {
  if (typeof key !== 'string' || key === '' || Buffer.byteLength(key) > maxKeyBytes)
    throw wrong(task, `key must be a string of 1 to ${maxKeyBytes} bytes, not ${shown(key)}`)
}

/** What is said of one job has no meaning where several become one. */
const unmergeable = ['retries', 'backoff', 'expiresMs', 'tracked', 'keepResultMs', 'unique'] as const

const checkMerged = (task: string, options: EnqueueOptions): void => {
  for (const name of unmergeable)
    if (options[name] !== undefined && options[name] !== false)
      throw wrong(task, `${name} is not allowed for a merged job, which runs together with others. ${adviceFor(name)}`)
}

const adviceFor = (name: (typeof unmergeable)[number]): string => {
  if (name === 'retries' || name === 'backoff') return 'Set it on the task'
  if (name !== 'tracked') return 'Leave it out'
  return 'Leave it out; a merged job also cannot be a step of a chain or follow a batch'
}

const mergedPart = ({ score }: EnqueueOptions, scores: 'first' | undefined): Partial<JobPart> => ({
  merged: true,
  ...(score === undefined ? {} : { score }),
  ...(scores === undefined ? {} : { scores }),
})

const needWait = (task: string, waits: Record<string, unknown>): void => {
  for (const [name, ms] of Object.entries(waits))
    if (ms !== undefined && !(typeof ms === 'number' && ms >= 0 && ms <= longestWaitMs))
      throw wrong(task, `${name} must be milliseconds, 0 to ten years, not ${shown(ms)}`)
}

const momentOf = (task: string, at: unknown): number => {
  const ms = at instanceof Date ? at.getTime() : at
  if (typeof ms !== 'number' || !(ms >= 0 && ms <= wallMs() + longestWaitMs))
    throw wrong(task, `at must be a Date or milliseconds since 1970, at most ten years from now, not ${shown(at)}`)
  if (ms >= earliestMs) return Math.round(ms)
  const year = new Date(ms).getUTCFullYear()
  throw wrong(task, `at must be milliseconds since 1970; ${ms} is in ${year}: multiply seconds by 1000`)
}

const uniqueOf = (
  task: string,
  argsJson: string,
  unique: EnqueueOptions['unique'],
  delayMs: number,
  at: Date | number | undefined,
): Partial<JobPart> => {
  if (unique === undefined || unique === false) return {}
  const options = typeof unique === 'object' && unique !== null ? unique : { id: unique === true ? undefined : unique }
  refuseHubOptions(`enqueue ${task}, unique`, options, uniqueNames)
  const { id, until = 'ended', forMs } = options
  if (id !== undefined && !(typeof id === 'string' && id.length > 0 && id.length <= maxUniqueId))
    throw wrong(task, `a unique id must be a string of 1 to ${maxUniqueId} characters, not ${shown(id)}`)
  if (until !== 'ended' && until !== 'started')
    throw wrong(task, `unique.until must be 'ended' or 'started', not ${shown(until)}`)
  needWait(task, { 'unique.forMs': forMs })
  const waitMs = at === undefined ? delayMs : Math.max(0, Number(at) - wallMs())
  return {
    unique: id === undefined ? `${task}#${digestOf(argsJson)}` : `${task}:${id}`,
    uniqueMs: Math.max(1, Math.round(forMs ?? waitMs + dayMs)),
    ...(until === 'started' ? { until } : {}),
  }
}

/** The same for arguments that are the same, in whatever order their keys were written and in whatever language. */
const digestOf = (argsJson: string): string =>
  createHash('sha256').update(canonicalText(argsJson)).digest('base64url').slice(0, 22)

const shown = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 80)

const wrong = (task: string, what: string): HubError =>
  new HubError('InvalidArgs', `enqueue ${task}: ${what}.`, { task })
