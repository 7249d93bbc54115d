// What all pages share: head, search, the times of the tasks, and whom the data is from.
import { timeBar } from './drawings.mjs'
import { milliseconds } from './format.mjs'
import { html } from './html.mjs'

const searchForm = query => html`<form class="search" action="/search" role="search">
<label class="hidden" for="q">Name of a city</label>
<input id="q" name="q" type="search" value="${query}" placeholder="Paris, or Springfield, Illinois" maxlength="100" required>
<button>Search</button></form>`

const row = (scaleMs, { task, ms, outcome }) => html`<tr class="${outcome === 'ok' ? 'fine' : 'missing'}">
<th scope="row"><code>${task}</code></th><td class="bar">${timeBar(ms, scaleMs)}</td>
<td class="ms">${milliseconds(ms)}</td><td>${outcome === 'ok' ? 'answered' : outcome}</td></tr>`

const timesTable = ({ timings, totalMs }) => {
  const sumMs = timings.reduce((sum, { ms }) => sum + ms, 0)
  const scaleMs = Math.max(...timings.map(({ ms }) => ms), 1)
  return html`<section class="card times" aria-labelledby="times"><h2 id="times">How this page came about</h2>
<p>${timings.length === 1 ? 'One task' : `${timings.length} tasks, called at once`}: ${milliseconds(totalMs)}${
    timings.length > 1 && ` for all of them; their waits add up to ${milliseconds(sumMs)}`
  }.</p>
<table><thead class="hidden"><tr><th>Task</th><th>Share</th><th>Time</th><th>Outcome</th></tr></thead>
<tbody>${timings.map(timing => row(scaleMs, timing))}</tbody></table></section>`
}

const footer = html`<footer><p>Cities: <a href="https://www.geonames.org/">GeoNames</a>, licensed
<a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a>; an extract of March 2020, with newer names of
regions. Countries: <a href="https://github.com/annexare/Countries">countries-list</a>, MIT. Sun:
<a href="https://github.com/mourner/suncalc">suncalc</a>, BSD.</p></footer>`

/**
 * @param {object} page
 * @param {string} page.title
 * @param {unknown} page.body
 * @param {string} [page.query] what the search field shows
 * @param {{ timings: object[], totalMs: number }} [page.gathered]
 * @returns {string} the whole document
 */
export const layout = ({ title, body, query = '', gathered }) =>
  String(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${title} · pshub demo</title>
<link rel="stylesheet" href="/style.css"><link rel="icon" href="/icon.svg" type="image/svg+xml"></head>
<body><a class="skip" href="#main">To the content</a>
<header><a class="brand" href="/"><img src="/icon.svg" alt="" width="28" height="28">Cities <small>a pshub demo</small></a>
${searchForm(query)}</header>
<main id="main">${body}${gathered && timesTable(gathered)}</main>${footer}</body></html>`)
