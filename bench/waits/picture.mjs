// Points over time as an SVG file, readable on a light and on a dark page: it brings its own background.

const width = 860
const panel = { left: 70, width: 770, height: 90, gap: 34, top: 62 }
const colours = ['#c2410c', '#1d4ed8', '#4d7c0f']
const text = 'font-family="system-ui, sans-serif" font-size="13" fill="#1f2937"'

/** A round number that is a little more than the largest value. */
const roundUp = value => {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)))
  return [1, 2, 3, 4, 6, 8, 10].map(step => step * power).find(step => step >= value)
}

const escaped = words => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const label = (x, y, words, more = '') => `<text x="${x}" y="${y}" ${text} ${more}>${escaped(words)}</text>`

const panelOf = ({ name, about, points }, index, { seconds, mostMs }) => {
  const top = panel.top + index * (panel.height + panel.gap)
  const bottom = top + panel.height
  const x = second => (panel.left + (second / seconds) * panel.width).toFixed(1)
  const y = ms => (bottom - (ms / mostMs) * panel.height).toFixed(1)
  const lines = [0, mostMs / 2, mostMs].map(
    ms =>
      `<path d="M${panel.left} ${y(ms)}h${panel.width}" stroke="#d1d5db"/>${label(panel.left - 8, Number(y(ms)) + 4, `${ms} ms`, 'text-anchor="end"')}`,
  )
  const dots = points.map(([second, ms]) => `M${x(second)} ${y(ms)}h.01`).join('')
  return [
    label(panel.left, top - 8, name, 'font-weight="600"'),
    label(panel.left + 110, top - 8, about),
    ...lines,
    `<path d="${dots}" stroke="${colours[index]}" stroke-width="5" stroke-linecap="round" stroke-opacity=".55"/>`,
  ].join('\n')
}

/**
 * One panel above the other with the same scales.
 * @param {{ title: string, seconds: number, panels: { name: string, about: string, points: [number, number][] }[] }} of
 *   points are seconds and milliseconds
 */
export const picture = ({ title, seconds, panels }) => {
  const mostMs = roundUp(Math.max(...panels.flatMap(({ points }) => points.map(([, ms]) => ms))))
  const height = panel.top + panels.length * (panel.height + panel.gap) + 8
  const bottom = height - panel.gap - 8
  const marks = Array.from({ length: seconds + 1 }, (_, second) =>
    label(panel.left + (second / seconds) * panel.width, bottom + 20, `${second} s`, 'text-anchor="middle"'),
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="#ffffff" stroke="#d1d5db"/>`,
    label(panel.left, 28, title, 'style="font-size: 15px; font-weight: 600"'),
    ...panels.map((each, index) => panelOf(each, index, { seconds, mostMs })),
    ...marks,
    '</svg>\n',
  ].join('\n')
}
