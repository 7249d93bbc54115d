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
  const startedAt = performance.now()
  const parts = await hub.gather(calls, { timeoutMs, signal })
  const totalMs = performance.now() - startedAt
  const timings = Object.entries(parts).map(([part, { ok, ms, error }]) => ({
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
export const warmUp = hub => Promise.all(allCalls.map(calls => hub.gather(calls, { timeoutMs: 5000 })))
