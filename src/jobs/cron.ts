import { Cron } from 'croner'
import { wallMs } from '../wire/clock.ts'
import { HubError, messageOf } from '../wire/errors.ts'
import { isCount, isObject, objectOf, textOf } from '../wire/foreign.ts'
import { newId } from '../wire/ids.ts'
import { type JobPart, readJobPart } from '../wire/job-part.ts'
import { isQueueName } from '../wire/keys.ts'
import type { TraceContext } from '../wire/message.ts'
import { namesOf, refuseHubOptions } from '../wire/options.ts'
import { type Step, stepMessage } from './chain.ts'
import { isZoneName, readPattern } from './cron-pattern.ts'

/** When a schedule enqueues its jobs. */
export interface ScheduleTimes {
  /** Five fields (minute, hour, day of month, month, day of week), or six with seconds first; or `@daily` and similar. */
  cron: string
  /**
   * IANA name such as Europe/Berlin. Default UTC. A time of day that a clock change skips runs at the end of the gap;
   * one that it repeats runs once. Patterns with several times of the day follow the clock.
   */
  timezone?: string | undefined
  /** What happens to times without a live worker or Redis: `once` runs one job for all of them (default), `skip` runs none. */
  missed?: 'once' | 'skip' | undefined
}

/** An entry as it is in Redis. */
export interface ScheduleEntry extends ScheduleTimes {
  task: string
  /** JSON. */
  args: string
  job: Partial<JobPart> | undefined
  ttlMs: number
  /** Since when it is paused, milliseconds since 1970; undefined: it is not. */
  pausedMs: number | undefined
  /** Name of the service that made it. */
  from: string | undefined
}

/** A time that is this late was missed. */
const missedMs = 60_000
/** No entry is longer, but for its arguments. */
const maxEntry = 2 * 1024 * 1024

const timesNames = namesOf<ScheduleTimes>({ cron: true, timezone: true, missed: true })

/** @throws HubError InvalidArgs that says what is wrong with them */
export const checkTimes = (name: string, times: ScheduleTimes): void => {
  const wrong = (what: string) => new HubError('InvalidArgs', `schedule ${String(name).slice(0, 80)}: ${what}.`)
  if (!isQueueName(name)) throw wrong('its name must be 1 to 64 letters, digits, dots, dashes and underscores')
  refuseHubOptions(`schedule ${name}`, times, timesNames)
  const { cron, timezone, missed } = times
  if (typeof cron !== 'string') throw wrong("cron must be a string like '0 3 * * *'")
  if (missed !== undefined && missed !== 'once' && missed !== 'skip') throw wrong("missed must be 'once' or 'skip'")
  try {
    // Any worker must be able to keep it up, and other languages look for a file of that name, in just these letters.
    if (timezone !== undefined && !(isZone(timezone) && isZoneName(timezone)))
      throw new Error('there is no such time zone; use a name such as Europe/Berlin')
    if (nextOf(times, wallMs()) === undefined) throw new Error('it has no run time in the future')
  } catch (error) {
    throw wrong(
      `cron '${cron.slice(0, 80)}'${timezone === undefined ? '' : ` in ${String(timezone).slice(0, 80)}`}: ${messageOf(error).replace(/\.$/, '')}`,
    )
  }
}

/** A time zone that cannot be read here. Somebody else may know it. */
export class UnknownZone extends Error {
  constructor(name: string) {
    const { node, tz } = process.versions
    super(`${name.slice(0, 80)} is not among the time zones of Node ${node} (${tz})`)
  }
}

/** The first time behind this moment, milliseconds since 1970; undefined when there is none. @throws UnknownZone, Error */
export const nextOf = ({ cron, timezone = 'UTC' }: ScheduleTimes, afterMs: number): number | undefined => {
  const pattern = readPattern(cron)
  if (!isZone(timezone)) throw new UnknownZone(String(timezone))
  return new Cron(pattern, { timezone, paused: true, mode: 'auto' }).nextRun(new Date(afterMs))?.getTime()
}

const isZone = (name: unknown): name is string => {
  if (typeof name !== 'string' || !/^[A-Z][\w+-]*(?:\/[A-Z][\w+-]*)*$/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

export const entryText = ({ task, args, job, ttlMs, pausedMs, from, cron, timezone, missed }: ScheduleEntry): string =>
  JSON.stringify({ cron, timezone, missed, task, args, job, ttl: ttlMs, pausedMs, from })

/** Undefined for what cannot be used. */
export const readEntry = (text: string | null): ScheduleEntry | undefined => {
  try {
    const entry = objectOf(text ?? '', maxEntry)
    const { cron, timezone, missed, task, args, job, ttl, pausedMs, from } = entry
    if (typeof cron !== 'string' || typeof task !== 'string' || typeof args !== 'string') return undefined
    return {
      cron,
      timezone: typeof timezone === 'string' ? timezone : undefined,
      missed: missed === 'skip' ? 'skip' : 'once',
      task: textOf(task, 128),
      args,
      job: isObject(job) ? readJobPart(job) : undefined,
      ttlMs: isCount(ttl) ? ttl : 0,
      pausedMs: isCount(pausedMs, 8.64e15) ? pausedMs : undefined,
      from: typeof from === 'string' ? from.slice(0, 64) : undefined,
    }
  } catch {
    return undefined
  }
}

/** What is to be done at a time that has come: its job, unless that time is passed over, and the next time. */
export const tickOf = (
  entry: ScheduleEntry,
  tickMs: number,
  nowMs: number,
  queue: string,
): { message: string; nextMs: number | undefined } => {
  const isSkipped = entry.missed === 'skip' && nowMs - tickMs > missedMs
  return { message: isSkipped ? '' : runMessage(entry, queue, tickMs), nextMs: nextOf(entry, Math.max(nowMs, tickMs)) }
}

/** Its job, due at this moment. */
export const runMessage = (
  { task, args, job, ttlMs, from }: ScheduleEntry,
  queue: string,
  dueMs: number,
  { traceparent, tracestate }: TraceContext = {},
): string => {
  const step: Step = { id: newId(), task, queue, args, job: { ...job, due: dueMs }, ttlMs, pass: undefined }
  return stepMessage([step], { from, traceparent, tracestate })
}
