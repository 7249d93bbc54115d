// Which tasks a page is put together from. The order is the order on the page.

/** What a page waits for its tasks at most. */
export const pageTimeoutMs = 500

/** Longer than any page waits, so that the task is late for certain. */
const lateMs = 1500

/** The one that is served in Python. Where there is no Python a page has a gap in its place. */
export const moonTask = 'moon_tonight:1.0'

/**
 * @param {number} cityId
 * @param {{ slowSky?: boolean }} [options]
 */
export const cityCalls = (cityId, { slowSky = false } = {}) => ({
  facts: ['city_facts:1.0', { cityId }],
  time: ['local_time:1.0', { cityId }],
  sun: ['sun_times:1.0', slowSky ? { cityId, delayMs: lateMs } : { cityId }],
  moon: [moonTask, { cityId }],
  country: ['city_country:1.0', { cityId }],
  neighbours: ['city_neighbours:1.0', { cityId, count: 8 }],
})

export const startCalls = () => ({
  largest: ['largest_cities:1.0', { limit: 10 }],
  random: ['random_cities:1.0', { limit: 10 }],
})

/** @param {string} query */
export const searchCalls = query => ({ found: ['city_search:1.0', { query, limit: 30 }] })

/** What the parts are called on a page, with or without their value. */
export const titles = {
  facts: 'city',
  time: 'local time',
  sun: 'sun times',
  moon: 'the moon tonight',
  country: 'country',
  neighbours: 'neighbours',
  largest: 'largest cities',
  random: 'cities by chance',
  found: 'search',
}

let isMoonDeclared = false

/** At the first start its Python environment takes a while; a call before that would count as a rejected one in the registry. */
const lacksMoon = async hub => {
  isMoonDeclared ||= (await hub.tasks()).some(({ task }) => task === moonTask)
  return !isMoonDeclared
}

const noMoon = {
  ok: false,
  ms: 0,
  error: {
    code: 'NoSuchTask',
    message: 'its worker is not there yet; its Python environment is made at the first start',
  },
}

/** The same calls but for those whose task nobody has declared yet, and what stands in their place. */
const declaredOf = async (hub, calls) => {
  if (!calls.moon || !(await lacksMoon(hub).catch(() => false))) return { called: calls, absent: {} }
  const { moon: _, ...called } = calls
  return { called, absent: { moon: noMoon } }
}

/**
 * Calls all tasks of a page at once. One that fails or is late leaves a gap and nothing else.
 *
 * @param {import('pshub').Hub} hub
 * @param {Record<string, [string, object]>} calls
 * @param {object} [options]
 * @param {number} [options.timeoutMs] how long the page waits
 * @param {AbortSignal} [options.signal] ends the wait when nobody wants the page any more
 */
export const gatherPage = async (hub, calls, { timeoutMs = pageTimeoutMs, signal } = {}) => {
  const { called, absent } = await declaredOf(hub, calls)
  const startedAt = performance.now()
  const gathered = await hub.gather(called, { timeoutMs, signal })
  const totalMs = performance.now() - startedAt
  const parts = Object.fromEntries(Object.keys(calls).map(part => [part, gathered[part] ?? absent[part]]))
  const timings = Object.entries(gathered).map(([part, { ok, ms, error }]) => ({
    task: calls[part][0],
    ms,
    outcome: ok ? 'ok' : error.code,
  }))
  return { parts, timings, totalMs }
}

/** Some city that certainly is in the data set: Paris. */
const anyCity = 2988507

const allCalls = [cityCalls(anyCity), startCalls(), searchCalls('a')]

/** Every task that some page needs to be of any use. */
export const neededTasks = allCalls
  .flatMap(calls => Object.values(calls).map(([task]) => task))
  .filter(task => task !== moonTask)

/** Connects and looks all tasks up, so that the first page does not wait for what no later one waits for. */
export const warmUp = hub => Promise.all(allCalls.map(calls => gatherPage(hub, calls, { timeoutMs: 5000 })))
