// SVG files that are readable on a light and on a dark page: they bring their own background.

const font = 'font-family="system-ui, sans-serif" font-size="13"'
const escaped = words => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

export const colourOf = system =>
  system === 'pshub' ? '#0f766e' : /floor/.test(system) ? '#9ca3af' : /* a peer */ '#64748b'

export const label = (x, y, words, more = '') =>
  `<text x="${x}" y="${y}" ${font} fill="#1f2937" ${more}>${escaped(words)}</text>`

/** A whole file: title on the left, on what it was measured on the right. */
export const framed = ({ width, height, title, machine }, parts) =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">`,
    `<rect width="${width}" height="${height}" rx="8" fill="#ffffff" stroke="#d1d5db"/>`,
    label(24, 30, title, 'style="font-size: 15px; font-weight: 600"'),
    label(width - 24, 30, `${machine.processor}, Node ${machine.node}`, 'text-anchor="end" style="font-size: 11px"'),
    ...parts,
    '</svg>\n',
  ].join('\n')
