import type { QueueRow } from '../../contract.ts'
import { percent, plural, span } from '../text/figures.ts'
import { remedyOf } from '../text/remedies.ts'

/** Redis' milliseconds since when a queue is paused; undefined when it is not. */
export const pausedSinceMs = (row: QueueRow): number | undefined => {
  const { pausedMs } = row as { pausedMs?: unknown }
  return typeof pausedMs === 'number' && pausedMs > 0 ? pausedMs : undefined
}

/** A backlog this old, while it lengthens, is no burst any more. */
const oldMs = 1000

/** Clearly longer than some minutes ago, and old: the workers do not keep up. A backlog that goes up and down a little is steady. */
export const isGrowing = ({ backlog, oldestMs, trend }: QueueRow): boolean => {
  if (backlog === 0 || (oldestMs ?? 0) < oldMs) return false
  const before = trend.slice(-6).find(value => value !== null)
  return before !== undefined && before !== null && backlog > before * 1.2 + 1
}

/** Who waits for longer than this waits for nothing: it is the time of calls when nobody says another. */
const tooOldMs = 5000

/** Something that is wrong with a queue, and what to do. */
export interface Trouble {
  kind: 'paused' | 'unserved' | 'old' | 'growing' | 'rejected'
  tone: 'warn' | 'bad'
  text: string
  remedy: string
}

/** What is wrong with a queue: by the age of what waits, by whether anybody serves it, and by which calls were rejected. */
export const troublesOf = (row: QueueRow): Trouble[] => {
  const paused = pausedTrouble(row)
  return [paused, backlogTrouble(row, paused !== undefined), rejectedTrouble(row)].filter(each => each !== undefined)
}

const waitingIn = ({ backlog, jobs, oldestMs, oldestJobMs }: QueueRow): string => {
  const ages = [oldestMs, oldestJobMs].filter(age => age !== undefined)
  const oldest = ages.length === 0 ? '' : `, the oldest for ${span(Math.max(...ages))}`
  return `${plural(backlog + jobs, 'request')} ${backlog + jobs === 1 ? 'waits' : 'wait'}${oldest}`
}

const pausedTrouble = (row: QueueRow): Trouble | undefined => {
  const sinceMs = pausedSinceMs(row)
  if (sinceMs === undefined) return undefined
  const waits = row.backlog + row.jobs === 0 ? 'Nothing waits.' : `${waitingIn(row)}.`
  const text = `It is paused: its workers claim nothing. ${waits}`
  return { kind: 'paused', tone: 'warn', text, remedy: 'If you resume it, its workers continue within a second.' }
}

const backlogTrouble = (row: QueueRow, isPaused: boolean): Trouble | undefined => {
  const waits = waitingIn(row)
  if (row.workers === 0 && row.backlog + row.jobs > 0) {
    const remedy = `Start a worker: pshub worker <module> --queue ${row.queue}`
    return { kind: 'unserved', tone: 'bad', text: `No worker: ${waits}.`, remedy }
  }
  if (isPaused) return undefined
  if ((row.oldestMs ?? 0) > tooOldMs) {
    const remedy = 'Start more workers, or check what they run.'
    return { kind: 'old', tone: 'bad', text: `${waits}: its workers do not keep up, or hang.`, remedy }
  }
  if (!isGrowing(row)) return undefined
  return { kind: 'growing', tone: 'bad', text: `The backlog grows: ${waits}.`, remedy: 'Start more workers.' }
}

const rejectedTrouble = (row: QueueRow): Trouble | undefined => {
  const most = mostOf(row.load.notRun)
  if (most === undefined) return undefined
  return { kind: 'rejected', tone: 'bad', text: rejectedText(row, most), remedy: remedyOf(most) }
}

/** How many calls were rejected, and why most of them were. */
export const rejectedText = (of: Pick<QueueRow, 'load'>, most: string): string => {
  const rejected = callsOf(of.load.notRun)
  const why = rejected === 1 ? `was rejected: ${most}` : `were rejected, most of them as ${most}`
  return `${plural(rejected, 'call')} of the last minute (${percent(notRunShare(of))}) ${why}.`
}

/** Of all these codes. */
export const callsOf = (byCode: Record<string, number>): number =>
  Object.values(byCode).reduce((sum, calls) => sum + calls, 0)

/** The most frequent code. */
export const mostOf = (byCode: Record<string, number>): string | undefined =>
  Object.entries(byCode).sort(([, a], [, b]) => b - a)[0]?.[0]

/** Calls of the last minute that were rejected, by handlers too. */
export const rejectedCount = ({ load }: Pick<QueueRow, 'load'>): number => callsOf(load.rejected)

/** Calls that were not run, of all of the last minute, 0 to 1. */
export const notRunShare = ({ load }: Pick<QueueRow, 'load'>): number => {
  const calls = callsOf(load.notRun)
  return calls === 0 ? 0 : calls / (calls + load.callsPerSecond * 60)
}
