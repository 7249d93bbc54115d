// Calls per second as bars in an SVG file, readable on a light and on a dark page: it brings its own background.

const width = 860
const left = 160
const barHeight = 18
const gap = 6
const groupGap = 44
const text = 'font-family="system-ui, sans-serif" font-size="13" fill="#1f2937"'

const escaped = words => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const label = (x, y, words, more = '') => `<text x="${x}" y="${y}" ${text} ${more}>${escaped(words)}</text>`

const bar = (row, y, scale) => {
  const length = Math.max(1, row['calls/s'] * scale)
  const colour = row.system === 'pshub' ? '#0f766e' : /floor/.test(row.system) ? '#9ca3af' : '#64748b'
  const weight = row.system === 'pshub' ? 'font-weight="600"' : ''
  return [
    label(left - 8, y + 13, row.system, `text-anchor="end" ${weight}`),
    `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="3" fill="${colour}"/>`,
    label(left + length + 6, y + 13, row['calls/s'].toLocaleString('en-US'), weight),
  ].join('\n')
}

/** @param {{ machine: object, measurements: { loads: { rows: object[] } } }} found */
export const chart = ({ machine, measurements }) => {
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
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" role="img" aria-label="${title}">`,
    `<rect width="${width}" height="${y}" rx="8" fill="#ffffff" stroke="#d1d5db"/>`,
    label(24, 30, title, 'style="font-size: 15px; font-weight: 600"'),
    label(width - 24, 30, `${machine.processor}, Node ${machine.node}`, 'text-anchor="end" style="font-size: 11px"'),
    ...parts,
    '</svg>\n',
  ].join('\n')
}
