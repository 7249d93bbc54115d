import type { EnqueueChoices, ScheduleRequest } from '../../../job-contract.ts'
import { momentOf } from '../../text/zone.ts'

/** How a job is to be run, as it was written into the form. */
export interface JobChoices {
  when: 'now' | 'in' | 'at'
  /** For `in`. */
  delay: string
  unit: keyof typeof unitMs
  /** For `at`: as an input of the type datetime-local has it, in the chosen zone. */
  at: string
  retries: string
  /** Of a task whose jobs have keys. */
  key: string
  /** Of a task whose jobs are merged. */
  score: string
  priority: 'normal' | 'high' | 'low'
  unique: 'no' | 'args' | 'id'
  uniqueId: string
  keep: keyof typeof keepMs
}

const unitMs = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const
/** How long the record of the job is kept. */
const keepMs = { no: 0, hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const

export const noChoices: JobChoices = {
  when: 'now',
  delay: '',
  unit: 'min',
  at: '',
  retries: '',
  key: '',
  score: '',
  priority: 'normal',
  unique: 'no',
  uniqueId: '',
  keep: 'hour',
}

const longestMs = 10 * 365 * 24 * 3_600_000

/** The same for the service, or what is wrong. */
export const optionsOf = (
  choices: JobChoices,
  nowMs: number,
  isMerged = false,
): { options: EnqueueChoices } | { wrong: string } => {
  const { when, delay, unit, at, retries, key, score, priority, unique, uniqueId, keep } = choices
  const options: EnqueueChoices = {}
  if (when === 'in') {
    const number = Number(delay.replace(',', '.'))
    const delayMs = Math.round(number * unitMs[unit])
    if (delay.trim() === '' || !(delayMs >= 0)) return { wrong: 'The delay must be a number.' }
    if (delayMs > longestMs) return { wrong: 'The delay must be at most ten years.' }
    options.delayMs = delayMs
  }
  if (when === 'at') {
    const atMs = momentOf(at)
    if (Number.isNaN(atMs)) return { wrong: 'Choose the day and the time.' }
    if (atMs > nowMs + longestMs) return { wrong: 'The time must be at most ten years from now.' }
    options.atMs = Math.max(0, atMs)
  }
  if (key !== '') options.key = key
  // What is said of one job has no meaning where several become one.
  if (isMerged) {
    const number = Number(score.replace(',', '.'))
    if (score.trim() !== '' && !Number.isFinite(number)) return { wrong: 'The score must be a number.' }
    return { options: score.trim() === '' ? options : { ...options, score: number } }
  }
  if (retries.trim() !== '') {
    if (!/^\d{1,6}$/.test(retries.trim())) return { wrong: 'The retries must be a whole number.' }
    options.retries = Number(retries)
  }
  if (priority !== 'normal') options.priority = priority
  if (unique === 'args') options.unique = true
  if (unique === 'id') {
    if (uniqueId === '' || uniqueId.length > 100) return { wrong: 'The unique id must have 1 to 100 characters.' }
    options.unique = uniqueId
  }
  if (keep !== 'no') options.keepResultMs = keepMs[keep]
  return { options }
}

/** Whether somebody can look at the job later: its record is kept. */
export const isTracked = ({ keepResultMs, unique }: EnqueueChoices): boolean =>
  keepResultMs !== undefined || unique !== undefined

/** A schedule, as it was written into the form. */
export interface ScheduleChoices {
  name: string
  cron: string
  timezone: string
  missed: 'once' | 'skip'
}

export const scheduleOf = (
  { name, cron, timezone, missed }: ScheduleChoices,
  task: string,
  args: unknown,
  key: string,
): { schedule: ScheduleRequest } | { wrong: string } => {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name))
    return { wrong: 'The name must be 1 to 64 letters, digits, dots, dashes and underscores.' }
  if (cron.trim() === '')
    return { wrong: 'Enter a cron entry such as 0 3 * * *: minute, hour, day, month, day of the week.' }
  const zone = timezone.trim()
  const chosen = { ...(zone === '' ? {} : { timezone: zone }), ...(key === '' ? {} : { key }) }
  return { schedule: { name, cron: cron.trim(), ...chosen, missed, task, args } }
}

/** This browser's own time zone, and all that it knows. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC'
export const zones = (): string[] => ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')]
