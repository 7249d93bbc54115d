import type { Load, Waits } from '../figures/load.ts'
import { callsOf, phaseNames } from '../figures/task-stats.ts'
import type { Phases } from '../wire/phases.ts'
import type { Column } from './table.ts'

/** Figures as tables show them; those of all commands look alike. `-` stands where nothing happened. */

/** Per second: 0.4, 7.2, 48, 12345. */
export const formatRate = (rate: number): string => {
  if (rate > 0 && rate < 0.05) return '<0.1'
  return rate < 9.95 ? String(Math.round(rate * 10) / 10) : String(Math.round(rate))
}

/** A share of 0 to 1: 0%, 0.3%, 12%. */
export const formatShare = (share: number | undefined): string => {
  if (share === undefined) return '-'
  const percent = share * 100
  if (percent > 0 && percent < 0.05) return '<0.1%'
  return `${percent < 9.95 ? Math.round(percent * 10) / 10 : Math.round(percent)}%`
}

/** Microseconds as milliseconds with two digits where it has a fraction: 0.03, 0.41, 2.1, 340. */
export const formatMs = (us: number): string => {
  const ms = us / 1000
  if (ms >= 9.95) return String(Math.round(ms))
  return String(ms < 0.995 ? Math.round(ms * 100) / 100 : Math.round(ms * 10) / 10)
}

/** Median and the two upper percentiles in one cell: 2.1 / 4 / 9. */
const formatWaits = (waits: Waits | undefined): string =>
  waits === undefined ? '-' : [waits.p50, waits.p95, waits.p99].map(formatMs).join(' / ')

/** 12M, 1.4G. */
export const formatBytes = (bytes: number | undefined): string => {
  if (bytes === undefined) return '-'
  const mega = bytes / 2 ** 20
  return mega < 1000 ? `${Math.round(mega)}M` : `${Math.round(mega / 102.4) / 10}G`
}

export const errorRateOf = (load: Load): number | undefined =>
  load.callsPerSecond > 0 || load.errorRate > 0 ? load.errorRate : undefined

/** From here on a share of errors is marked. */
const manyErrors = 0.05

/** Columns of everything that has a load. The waits leave first where a terminal is narrow, the handler's time last. */
export const loadColumns = <Row extends { load: Load }>(): Column<Row>[] => [
  { title: 'CALLS/S', value: ({ load }) => formatRate(load.callsPerSecond), right: true },
  {
    title: 'ERRORS',
    value: ({ load }) => formatShare(errorRateOf(load)),
    right: true,
    style: ({ load }) => (load.errorRate >= manyErrors ? 'red' : undefined),
  },
  ...phaseNames.map(
    (phase): Column<Row> => ({
      title: `${phaseTitles[phase]} ms`,
      value: ({ load }) => formatWaits(load.us[phase]),
      right: true,
      rank: phase === 'exec' ? 1 : phase === 'backlog' ? 2 : 3,
    }),
  ),
]

/** Of tasks and queues: calls of the last minute that were rejected. Left out where there are none. */
export const rejectedColumn = <Row extends { load: Load }>(): Column<Row> & { isWanted(row: Row): boolean } => ({
  title: 'REJECTED',
  value: ({ load }) => callsOf(load.rejected),
  right: true,
  // What handlers reject is no fault.
  style: ({ load }) => (callsOf(load.notRun) > 0 ? 'red' : undefined),
  isWanted: ({ load }) => callsOf(load.rejected) > 0,
})

export const phaseTitles: Record<keyof Phases, string> = { backlog: 'BACKLOG', queue: 'QUEUE WAIT', exec: 'EXEC' }

/** What the columns mean; help of each command that shows them says so. */
export const aboutLoad =
  'Figures cover the last minute, summed over all live workers. The columns in ms are the median, the 95th ' +
  'and the 99th percentile of three waits: BACKLOG in Redis until a worker had an idle slot, QUEUE WAIT from there until the ' +
  'handler started (near 0; more means a blocked event loop), and EXEC, the handler itself. ERRORS is the share of calls that failed. REJECTED, if there are any, counts calls that were not run (red) or that their handlers rejected. A narrow terminal ' +
  'omits columns.'
