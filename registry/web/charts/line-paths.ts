export interface LineBox {
  width: number
  height: number
  /** The value at the upper edge; 0 is at the lower one. */
  highest: number
  /** Room left above and below, so that a line at the edge is not cut. */
  pad: number
}

/** SVG paths of a line over evenly spaced values, and of the area under it; interrupted where a value is not known. */
export const linePaths = (values: readonly (number | null)[], box: LineBox): { line: string; area: string } => {
  const step = values.length > 1 ? box.width / (values.length - 1) : box.width
  const bottom = box.height - box.pad
  const y = (value: number) =>
    bottom - (box.highest > 0 ? Math.min(1, Math.max(0, value / box.highest)) : 0) * (box.height - 2 * box.pad)
  const line: string[] = []
  const area: string[] = []
  for (const { from, run } of runsOf(values)) {
    const points = run.map((value, at) => `${round((from + at) * step)} ${round(y(value))}`)
    // A lone value is a short dash: a line of one point is nothing to see.
    if (points.length === 1) points.push(`${round((from + 0.5) * step)} ${round(y(run[0]!))}`)
    line.push(`M${points.join('L')}`)
    const end = points.at(-1)!.split(' ')[0]
    area.push(`M${round(from * step)} ${bottom}L${points.join('L')}L${end} ${bottom}Z`)
  }
  return { line: line.join(''), area: area.join('') }
}

const round = (value: number): number => Math.round(value * 10) / 10

const runsOf = (values: readonly (number | null)[]): { from: number; run: number[] }[] => {
  const runs: { from: number; run: number[] }[] = []
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    if (at > 0 && values[at - 1] !== null && runs.length > 0) runs.at(-1)!.run.push(value)
    else runs.push({ from: at, run: [value] })
  }
  return runs
}
