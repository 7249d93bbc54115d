// Addresses and what they answer. Knows HTTP's words, but no sockets.
import { readFileSync } from 'node:fs'
import { cityCalls, gatherPage, pageTimeoutMs, searchCalls, startCalls } from './calls.mjs'
import { cityPage } from './city-page.mjs'
import { worldSvg } from './drawings.mjs'
import { plainPage, searchPage, startPage } from './other-pages.mjs'
import { isUnknown } from './parts.mjs'

const own = name => readFileSync(new URL(name, import.meta.url), 'utf8')
const styles = ['ground', 'cards', 'drawings-and-lists', 'narrow'].map(name => own(`styles/${name}.css`))
const files = {
  '/style.css': { type: 'text/css; charset=utf-8', body: styles.join('\n') },
  '/icon.svg': { type: 'image/svg+xml', body: own('icon.svg') },
}

const page = (body, status = 200) => ({ status, type: 'text/html; charset=utf-8', body, cache: 'no-store' })

const notFound = (text, gathered) => page(plainPage('Not found', text, gathered), 404)

const start = async ({ hub, signal }) => page(startPage(await gatherPage(hub, startCalls(), { signal })))

const search = async ({ hub, signal, url }) => {
  const query = (url.searchParams.get('q') ?? '').trim().slice(0, 100)
  if (!query) return { status: 303, location: '/' }
  return page(searchPage(query, await gatherPage(hub, searchCalls(query), { signal })))
}

const city = async ({ hub, signal, url }, id) => {
  if (id < 1 || id > 2 ** 31) return notFound(`There is no city with the id ${id}.`)
  const options = { slowSky: url.searchParams.get('slow') === 'sky' }
  const gathered = await gatherPage(hub, cityCalls(id, options), { signal })
  if (isUnknown(gathered.parts)) return notFound(`There is no city with the id ${id}.`, gathered)
  return page(cityPage(id, gathered, options))
}

/** The map changes with the data set only, so that browsers may keep it. Without it pages still work. */
const map = async ({ hub, signal }) => {
  try {
    const value = await hub.call('world_map:1.0', { cellDegrees: 2 }, { timeoutMs: 4 * pageTimeoutMs, signal })
    return { status: 200, type: 'image/svg+xml', body: String(worldSvg(value)), cache: 'max-age=86400' }
  } catch (error) {
    return { status: error.status ?? 500, type: 'text/plain; charset=utf-8', body: error.message, cache: 'no-store' }
  }
}

const fixed = { '/': start, '/search': search, '/world.svg': map }

/**
 * @param {{ hub: import('pshub').Hub, signal: AbortSignal, url: URL, method: string }} request
 * @returns {Promise<{ status: number, type?: string, body?: string, cache?: string, location?: string, allow?: string }>}
 */
export const answer = async request => {
  const { url, method } = request
  if (method !== 'GET' && method !== 'HEAD') {
    return { ...page(plainPage('Only for reading', 'This address answers GET and HEAD.'), 405), allow: 'GET, HEAD' }
  }
  if (Object.hasOwn(files, url.pathname)) return { status: 200, cache: 'no-cache', ...files[url.pathname] }
  if (Object.hasOwn(fixed, url.pathname)) return fixed[url.pathname](request)
  const id = /^\/city\/(\d{1,10})$/.exec(url.pathname)?.[1]
  return id ? city(request, Number(id)) : notFound('There is no page at this address.')
}
