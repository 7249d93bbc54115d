// Goodput by load as lines: what was answered in time, as a part of what the same processes serve when nobody waits.
import { systems } from '../systems/index.mjs'
import { colourOf, framed, label } from './drawing.mjs'

const width = 860
const height = 360
const plot = { left: 70, right: 740, top: 60, bottom: 300 }
/** Of the capacity; what is above is drawn at the top. */
const most = 1.2

const yOf = share => plot.bottom - (Math.min(share, most) / most) * (plot.bottom - plot.top)

const axes = (loads, xOf) => [
  ...[0, 0.25, 0.5, 0.75, 1].flatMap(share => [
    `<path d="M${plot.left} ${yOf(share)}H${plot.right}" stroke="#e5e7eb"/>`,
    label(plot.left - 8, yOf(share) + 4, `${share * 100} %`, 'text-anchor="end"'),
  ]),
  ...loads.map(load => label(xOf(load), plot.bottom + 20, `${load}x`, 'text-anchor="middle"')),
  label((plot.left + plot.right) / 2, plot.bottom + 44, 'offered, times the capacity', 'text-anchor="middle"'),
]

const line = (points, title, colour) => [
  `<path d="M${points.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L')}" fill="none" stroke="${colour}" stroke-width="2.5"/>`,
  ...points.map(({ x, y }) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3.5" fill="${colour}"/>`),
  label(plot.right + 12, points.at(-1).y + 4, title, `style="fill: ${colour}; font-weight: 600"`),
]

/** @param {{ machine: object, measurements: { overload: { results: object[] } } }} found */
export const goodputChart = ({ machine, measurements }) => {
  const { results } = measurements.overload
  const loads = [...new Set(results.map(({ load }) => load))]
  const [least, last] = [Math.log(Math.min(...loads)), Math.log(Math.max(...loads))]
  const xOf = load => plot.left + 20 + ((Math.log(load) - least) / (last - least || 1)) * (plot.right - plot.left - 40)
  const lines = [...new Set(results.map(({ system }) => system))].flatMap(system => {
    const own = results.filter(result => result.system === system)
    const points = own.map(({ load, goodput, capacity }) => ({ x: xOf(load), y: yOf(goodput / capacity) }))
    return line(points, systems[system].title, colourOf(system))
  })
  const title = 'Goodput by load: answered within 1 s, as a part of the capacity'
  return framed({ width, height, title, machine }, [...axes(loads, xOf), ...lines])
}
