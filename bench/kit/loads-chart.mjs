// Calls per second as bars.
import { colourOf, framed, label } from './drawing.mjs'

const width = 860
const left = 160
const barHeight = 18
const gap = 6
const groupGap = 44

const bar = (row, y, scale) => {
  const length = Math.max(1, row['calls/s'] * scale)
  const weight = row.system === 'pshub' ? 'font-weight="600"' : ''
  return [
    label(left - 8, y + 13, row.system, `text-anchor="end" ${weight}`),
    `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="3" fill="${colourOf(row.system)}"/>`,
    label(left + length + 6, y + 13, row['calls/s'].toLocaleString('en-US'), weight),
  ].join('\n')
}

/** @param {{ machine: object, measurements: { loads: { rows: object[] } } }} found */
export const loadsChart = ({ machine, measurements }) => {
  const { rows } = measurements.loads
  const counts = [...new Set(rows.map(row => row['in flight']))].filter(count => count >= 16)
  const parts = []
  let y = 56
  for (const count of counts) {
    const group = rows.filter(row => row['in flight'] === count).sort((a, b) => b['calls/s'] - a['calls/s'])
    const scale = (width - left - 90) / Math.max(...group.map(row => row['calls/s']))
    parts.push(label(left, y + 12, `${count} calls in flight`, 'font-weight="600"'))
    y += 24
    for (const row of group) {
      parts.push(bar(row, y, scale))
      y += barHeight + gap
    }
    y += groupGap - 24
  }
  const title = 'Calls per second, one caller and one worker process'
  return framed({ width, height: y, title, machine }, parts)
}
