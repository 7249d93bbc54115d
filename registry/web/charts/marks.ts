import type uPlot from 'uplot'

/** Something that happened, as a line across a chart. */
export interface ChartMark {
  atMs: number
  text: string
}

/** Marks that are closer are one line, and labels that are closer are left to the lines' titles. */
const lineGap = 6
const labelGap = 90

/** Draws them over the plot, which was drawn just now; those of before go. */
export const drawMarks = (plot: uPlot, marks: readonly ChartMark[]): void => {
  for (const old of plot.over.querySelectorAll('.chart-mark')) old.remove()
  let line: HTMLElement | undefined
  let lineX = Number.NEGATIVE_INFINITY
  let labelX = Number.NEGATIVE_INFINITY
  for (const { atMs, text } of marks) {
    // The last step is drawn at its beginning: what came after that is at the edge.
    const x = Math.min(plot.valToPos(atMs / 1000, 'x'), plot.over.clientWidth - 1)
    if (!(x >= 0)) continue
    if (line && x - lineX < lineGap) {
      line.title += `, ${text}`
      continue
    }
    line = document.createElement('div')
    line.className = 'chart-mark'
    line.title = text
    line.style.left = `${Math.round(x)}px`
    lineX = x
    if (x - labelX >= labelGap) line.append(labelOf(text, x > plot.over.clientWidth / 2))
    if (line.firstChild) labelX = x
    plot.over.append(line)
  }
}

const labelOf = (text: string, isAtLeft: boolean): HTMLElement => {
  const label = document.createElement('span')
  label.className = isAtLeft ? 'chart-mark-label at-left' : 'chart-mark-label'
  label.textContent = text
  return label
}
