// A city's page for the terminal.
import { titles } from '../web/calls.mjs'
import { milliseconds, whereabouts } from '../web/format.mjs'
import { gapText, rowsOf } from '../web/parts.mjs'

const capital = text => text[0].toUpperCase() + text.slice(1)

const columns = rows => {
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, text]) => `  ${label.padEnd(width)}  ${text}`)
}

const neighbourLines = ({ neighbours }) =>
  columns(neighbours.map(({ city, km, direction }) => [city.name, `${km} km ${direction}`]))

const partLines = (part, entry) => {
  if (!entry.ok) return [`  ${gapText(part, entry)}`]
  return part === 'neighbours' ? neighbourLines(entry.value) : columns(rowsOf[part](entry.value))
}

const heading = ({ facts }, id) => {
  if (!facts.ok) return `City ${id}`
  const { city } = facts.value
  return `${city.name} - ${whereabouts(city)} - ${city.kind}`
}

const timingLines = ({ timings, totalMs }) => {
  const rows = timings.map(({ task, ms, outcome }) => [task, `${milliseconds(ms).padStart(8)}  ${outcome}`])
  return columns([...rows, ['all at once', milliseconds(totalMs).padStart(8)]])
}

/**
 * @param {number} id
 * @param {Awaited<ReturnType<import('../web/calls.mjs').gatherPage>>} gathered
 */
export const textPage = (id, gathered) => {
  const title = heading(gathered.parts, id)
  const sections = Object.entries(gathered.parts).flatMap(([part, entry]) => [
    '',
    capital(titles[part]),
    ...partLines(part, entry),
  ])
  return [title, '='.repeat(title.length), ...sections, '', 'Time of each task', ...timingLines(gathered)].join('\n')
}
