// The page of one city, put together from whatever its tasks answered in time.
import { compassRose, dayBar, moonDisc, worldMap } from './drawings.mjs'
import { number, whereabouts } from './format.mjs'
import { html } from './html.mjs'
import { layout } from './layout.mjs'
import { gapText, rowsOf } from './parts.mjs'

const rows = pairs => html`<dl>${pairs.map(([label, text]) => html`<div><dt>${label}</dt><dd>${text}</dd></div>`)}</dl>`

export const gap = (part, entry) => html`<p class="gap">${gapText(part, entry)}</p>`

/** A card with what `content` makes of the value, or with the gap. */
const card = (heading, part, entry, content) => html`<section class="card ${part}" aria-labelledby="${part}">
<h2 id="${part}">${heading}</h2>${entry.ok ? content(entry.value) : gap(part, entry)}</section>`

export const cityLink = city => html`<a href="/city/${city.id}">${city.name}</a>`

const neighbourList = ({ neighbours }) => {
  if (neighbours.length === 0) return html`<p>None known.</p>`
  return html`<div class="around">${compassRose(neighbours)}<ol class="plain">${neighbours.map(
    ({ city, km, direction }) =>
      html`<li><span>${cityLink(city)} <small>${city.population && number(city.population)}</small></span>
<span class="far">${km} km ${direction}</span></li>`,
  )}</ol></div>`
}

const countryCard = value => html`${rows(rowsOf.country(value))}
<p class="more">Largest: ${value.country.largest.map((city, index) => [index > 0 && ', ', cityLink(city)])}</p>`

const moonCard = moon => html`<div class="moonlit">${moonDisc(moon)}${rows(rowsOf.moon(moon))}</div>`

const clockCard = time => html`<p class="clock">${time.time}</p>${rows(rowsOf.time(time).slice(1))}`

const heading = (id, facts) => {
  if (!facts.ok) return html`<h1>City ${id}</h1><p class="lead">Its name is not available right now.</p>`
  const { city } = facts.value
  return html`<h1>${city.name}</h1><p class="lead">${whereabouts(city)} · ${city.kind}</p>`
}

/**
 * @param {number} id
 * @param {Awaited<ReturnType<import('./calls.mjs').gatherPage>>} gathered
 * @param {{ slowSky?: boolean }} options
 */
export const cityPage = (id, gathered, { slowSky = false } = {}) => {
  const { facts, time, sun, moon, country, neighbours } = gathered.parts
  const city = facts.ok ? facts.value.city : undefined
  const sunCard = value => html`${dayBar(value, time.ok ? time.value : undefined)}${rows(rowsOf.sun(value))}`
  const body = html`<div class="hero"><div>${heading(id, facts)}</div>${worldMap(city)}</div>
<div class="cards">
${card('The city', 'facts', facts, value => rows(rowsOf.facts(value)))}
${card('Local time', 'time', time, clockCard)}
${card('Sun today', 'sun', sun, sunCard)}
${card('The moon tonight', 'moon', moon, moonCard)}
${card('Country', 'country', country, countryCard)}
${card('Nearest neighbours', 'neighbours', neighbours, neighbourList)}
</div>
<p class="try">${
    slowSky
      ? html`The sun task was told to take its time. <a href="/city/${id}">Load the page without that.</a>`
      : html`<a href="/city/${id}?slow=sky">Load this page with a sun task that is late</a>, to see the gap it leaves.`
  }</p>`
  return layout({ title: city?.name ?? `City ${id}`, body, gathered })
}
