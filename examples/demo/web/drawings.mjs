// Small drawings, as SVG without style attributes, which the content security policy does not allow.
import { html } from './html.mjs'

/** The map leaves out the empty ends: from 84° north to 58° south. */
const window = { top: 6, height: 142 }

const classes = [
  { from: 1, opacity: 0.3 },
  { from: 4, opacity: 0.5 },
  { from: 20, opacity: 0.75 },
  { from: 80, opacity: 1 },
]

/** The world as dots, one for each cell with cities in it. A grey that can be read on light and on dark. */
export const worldSvg = ({ cellDegrees, cells }) => {
  const paths = classes.map(({ from, opacity }, index) => {
    const below = classes[index + 1]?.from ?? Infinity
    const dots = cells
      .filter(([, , count]) => count >= from && count < below)
      .map(([column, row]) => `M${(column + 0.5) * cellDegrees} ${(row + 0.5) * cellDegrees}h0`)
    return html`<path d="${dots.join('')}" stroke-opacity="${opacity}"/>`
  })
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 ${window.top} 360 ${window.height}">
<g fill="none" stroke="#7c8aa0" stroke-width="${cellDegrees * 0.72}" stroke-linecap="round">${paths}</g></svg>`
}

/** @param {import('../places/cities.mjs').City} [city] */
export const worldMap = city => {
  const [x, y] = city ? [city.longitude + 180, 90 - city.latitude] : []
  const label = city ? `${city.name} on a map of the world` : 'A map of the world, drawn by its cities'
  const mark =
    city && html`<circle class="halo" cx="${x}" cy="${y}" r="7"/><circle class="mark" cx="${x}" cy="${y}" r="2.4"/>`
  return html`<svg class="world" viewBox="0 ${window.top} 360 ${window.height}" role="img" aria-label="${label}">
<image href="/world.svg" x="0" y="${window.top}" width="360" height="${window.height}"/>${mark}</svg>`
}

const minutesOf = clock => {
  const [hours, minutes] = clock.split(':').map(Number)
  return hours * 60 + minutes
}

/** A stretch of the day; one that goes past midnight comes as two. */
const band = (kind, from, to) => {
  if (to >= from) return html`<rect class="${kind}" x="${from}" y="0" width="${to - from}" height="60"/>`
  return [band(kind, from, 1440), band(kind, 0, to)]
}

const bandOf = (kind, from, to) => from && to && band(kind, minutesOf(from.local), minutesOf(to.local))

/** The day from midnight to midnight: night, twilight, day, and a line for now. */
export const dayBar = (sun, time) => {
  const now = time && minutesOf(time.time)
  const day = sun.state === 'polar day' ? band('day', 0, 1440) : bandOf('day', sun.sunrise, sun.sunset)
  return html`<svg class="daybar" viewBox="0 0 1440 60" preserveAspectRatio="none" aria-hidden="true">
<rect class="night" x="0" y="0" width="1440" height="60"/>${bandOf('twilight', sun.dawn, sun.dusk)}${day}
${now !== undefined && html`<rect class="now" x="${now - 4}" y="0" width="8" height="60"/>`}</svg>
<p class="scale" aria-hidden="true"><span>0:00</span><span>6:00</span><span>12:00</span><span>18:00</span><span>24:00</span></p>`
}

/** The moon's disc: the lit half of its edge, closed by the line between light and dark, which is half an ellipse. */
export const moonDisc = ({ litPart, litSide }) => {
  const width = Math.abs(1 - 2 * litPart) * 20
  const bulge = litPart < 0.5 ? 0 : 1
  const turn = { right: 0, lower: 90, left: 180 }[litSide]
  return html`<svg class="moondisc" viewBox="-22 -22 44 44" aria-hidden="true"><circle class="night" r="20"/>
<path class="lit" transform="rotate(${turn})" d="M0-20A20 20 0 0 1 0 20A${width.toFixed(1)} 20 0 0 ${bulge} 0-20Z"/></svg>`
}

/** The neighbours as they lie around the city; the outer circle is the distance of the farthest. */
export const compassRose = neighbours => {
  const farthest = Math.max(...neighbours.map(({ km }) => km)) || 1
  const dots = neighbours.map(({ km, bearingDegrees }) => {
    const angle = (bearingDegrees * Math.PI) / 180
    const [x, y] = [Math.sin(angle), -Math.cos(angle)].map(part => ((part * km * 46) / farthest).toFixed(1))
    return html`<circle class="mark" cx="${x}" cy="${y}" r="3"/>`
  })
  return html`<svg class="rose" viewBox="-60 -60 120 120" aria-hidden="true">
<circle class="ring" r="46"/><circle class="ring" r="23"/><path class="ring" d="M0-50V50M-50 0H50"/>
<text y="-52">N</text>${dots}<circle class="here" r="2.5"/></svg>`
}

/** How long each task took, as a bar on a common scale. */
export const timeBar = (ms, scaleMs) =>
  html`<svg class="timebar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
<rect x="0" y="0" width="${Math.max(0.5, Math.min(100, (ms / scaleMs) * 100)).toFixed(1)}" height="8"/></svg>`
