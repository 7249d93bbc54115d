import type uPlot from 'uplot'
import { type ChartMark, linesOf, type Placed, placedLabels } from './mark-places.ts'

/** Draws them over the plot, which was drawn just now; those of before go. */
export const drawMarks = (plot: uPlot, marks: readonly ChartMark[]): void => {
  for (const old of plot.over.querySelectorAll('.chart-mark')) old.remove()
  const width = plot.over.clientWidth
  // The last step is drawn at its beginning: what came after that is at the edge.
  const lines = linesOf(marks, atMs => Math.min(plot.valToPos(atMs / 1000, 'x'), width - 1))
  const labels = placedLabels(lines, width)
  for (const [at, { x, text }] of lines.entries()) {
    const line = document.createElement('div')
    line.className = 'chart-mark'
    line.title = text
    line.style.left = `${Math.round(x)}px`
    const label = labels[at]
    if (label) line.append(labelOf(text, label))
    plot.over.append(line)
  }
}

const labelOf = (text: string, { isAtLeft, room }: Placed): HTMLElement => {
  const label = document.createElement('span')
  label.className = isAtLeft ? 'chart-mark-label at-left' : 'chart-mark-label'
  label.style.maxWidth = `${Math.floor(room) - 6}px`
  label.textContent = text
  return label
}
