import { memo } from '../parts/memo.ts'
import { linePaths } from './line-paths.ts'

export interface SparklineProps {
  values: readonly (number | null)[]
  /** What it shows, for who does not see it. */
  name: string
  format(value: number): string
}

const width = 96
const height = 22

/** A small line without axes; gaps where nothing is known. */
export const Sparkline = memo(({ values, name, format }: SparklineProps) => {
  const known = values.filter(value => value !== null)
  const highest = Math.max(0, ...known)
  const last = known.at(-1)
  const text =
    last === undefined
      ? `${name}: no data yet`
      : `${name}, 15 minutes: highest ${format(highest)}, last ${format(last)}`
  const { line, area } = linePaths(values, { width, height, highest, pad: 2 })
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      role="img"
      aria-label={text}
    >
      <title>{text}</title>
      <path class="sparkline-base" d={`M0 ${height - 1.5}H${width}`} />
      <path class="sparkline-area" d={area} />
      <path class="sparkline-line" d={line} />
    </svg>
  )
})
