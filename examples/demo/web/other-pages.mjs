// Start, search, and the page for what is not there.
import { cityLink, gap } from './city-page.mjs'
import { worldMap } from './drawings.mjs'
import { inhabitants, number, whereabouts } from './format.mjs'
import { html } from './html.mjs'
import { layout } from './layout.mjs'

const tiles = cities =>
  html`<ul class="tiles">${cities.map(
    city => html`<li>${cityLink(city)}<small>${city.countryName} · ${inhabitants(city.population)}</small></li>`,
  )}</ul>`

const tileCard = (heading, part, entry) => html`<section class="card ${part}" aria-labelledby="${part}">
<h2 id="${part}">${heading}</h2>${entry.ok ? tiles(entry.value.cities) : gap(part, entry)}</section>`

export const startPage = gathered => {
  const { largest, random } = gathered.parts
  const total = largest.ok ? number(largest.value.total) : 'Many'
  const body = html`<div class="hero start"><div><h1>${total} cities, and a hub of tasks</h1>
<p class="lead">Every part of every page here is the answer of a task that some worker process ran. The web server holds
no data: it calls the tasks of a page all at once and puts together what came back in time.</p></div>${worldMap()}</div>
<div class="cards two">${tileCard('Start with one of the largest', 'largest', largest)}
${tileCard('Or leave it to chance', 'random', random)}</div>`
  return layout({ title: 'Start', body, gathered })
}

const results = ({ matches, cities }) => {
  if (matches === 0)
    return html`<p>No city begins like that. A country or region may follow a comma: <em>Paris, Texas</em>.</p>`
  const all = matches > cities.length ? ` The first ${cities.length}:` : ''
  return html`<p>${number(matches)} ${matches === 1 ? 'city begins' : 'cities begin'} like that.${all}</p>
<ol class="plain">${cities.map(
    city => html`<li><span>${cityLink(city)} <small>${whereabouts(city)}</small></span>
<span class="far">${inhabitants(city.population)}</span></li>`,
  )}</ol>`
}

export const searchPage = (query, gathered) => {
  const { found } = gathered.parts
  const body = html`<h1>Search: ${query}</h1>
<section class="card">${found.ok ? results(found.value) : gap('found', found)}</section>`
  return layout({ title: `Search: ${query}`, query, body, gathered })
}

/** A page with a heading and a sentence; for everything that went wrong before any task was asked, and for 404. */
export const plainPage = (title, text, gathered) =>
  layout({
    title,
    gathered,
    body: html`<h1>${title}</h1><p class="lead">${text}</p><p><a href="/">To the start page</a></p>`,
  })
