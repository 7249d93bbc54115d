import type { CallPhases } from '../wire/phases.ts'
import type { Measured } from './bench-load.ts'
import { formatMs } from './figures.ts'
import type { Sink } from './output.ts'

const shares = [0.5, 0.9, 0.99, 0.999, 1] as const
const parts = ['backlog', 'queue', 'exec', 'reply'] as const
/** Told apart by their marks, so that no colours are needed. */
const looks = {
  backlog: { mark: '▒', colour: 'yellow' },
  queue: { mark: '▓', colour: 'red' },
  exec: { mark: '█', colour: 'green' },
  reply: { mark: '░', colour: 'cyan' },
} as const
const barWidth = 50

export interface Percentile extends CallPhases {
  /** `p50`, `max` */
  name: string
}

/** How long calls of that rank waited, and where: the mean of the parts of those around it. Microseconds. */
export const percentilesOf = (waits: readonly CallPhases[]): Percentile[] => {
  const sorted = [...waits].sort((a, b) => a.total - b.total)
  const around = Math.floor(sorted.length / 200)
  return shares.flatMap(share => {
    if (sorted.length === 0) return []
    const at = Math.max(0, Math.ceil(share * sorted.length) - 1)
    const near = sorted
      .slice(Math.max(0, at - around), share === 1 ? undefined : at + around + 1)
      .slice(share === 1 ? -1 : 0)
    const mean = (part: keyof CallPhases) => Math.round(near.reduce((sum, each) => sum + each[part], 0) / near.length)
    const name = share === 1 ? 'max' : `p${share * 100}`
    const [backlog, queue, exec, reply] = parts.map(mean) as [number, number, number, number]
    return [{ name, backlog, queue, exec, reply, total: sorted[at]!.total }]
  })
}

/** Writes rates, and a bar for each percentile with the parts of the wait. */
export const writeBench = (measured: Measured, sink: Sink): void => {
  const { ok, errors, waits, elapsedMs } = measured
  const failed = Object.entries(errors).map(([code, count]) => `${count} ${code}`)
  const perSecond = elapsedMs > 0 ? (ok * 1000) / elapsedMs : 0
  sink.line(
    `${ok} ok in ${(elapsedMs / 1000).toFixed(1)} s, ${perSecond.toFixed(perSecond < 10 ? 1 : 0)} calls/s; ${failed.length === 0 ? 'none failed' : `failed: ${failed.join(', ')}`}`,
  )
  const rows = percentilesOf(waits)
  if (rows.length === 0) return
  const longest = Math.max(1, ...rows.map(({ total }) => total))
  sink.line()
  for (const row of rows)
    sink.line(`${row.name.padEnd(6)} ${`${formatMs(row.total)} ms`.padStart(12)}  ${barOf(row, longest, sink)}`)
  sink.line()
  const means = parts.map(part => {
    const mean = waits.reduce((sum, each) => sum + each[part], 0) / waits.length
    return `${sink.paint(looks[part].colour, looks[part].mark)} ${part} ${formatMs(mean)} ms`
  })
  sink.line(`mean   ${means.join('   ')}`)
}

const barOf = (row: Percentile, longest: number, sink: Sink): string => {
  const sum = parts.reduce((total, part) => total + row[part], 0) || 1
  const width = Math.max(1, Math.round((row.total / longest) * barWidth))
  let from = 0
  return parts
    .map(part => {
      const to = from + (row[part] / sum) * width
      const cells = Math.round(to) - Math.round(from)
      from = to
      return sink.paint(looks[part].colour, looks[part].mark.repeat(cells))
    })
    .join('')
}
