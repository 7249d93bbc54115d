// The Redis of the demo: the user's own, a redis-server of this machine, or one in JavaScript that lives in this process.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createRedisServer } from 'js-redis-server'
import { findServer } from '../../../tools/redis-server.mjs'

/** A URL that can be shown: without the password. */
export const shown = url => {
  const parsed = new URL(url)
  if (parsed.password) parsed.password = '***'
  return parsed.href
}

/** Kept by a process of its own, which Ctrl-C does not reach: workers need their Redis until they have stopped. */
const serverOf = async path => {
  const keeper = fork(new URL('keep-redis.mjs', import.meta.url), { detached: true })
  const [url] = await Promise.race([
    once(keeper, 'message'),
    once(keeper, 'exit').then(() => Promise.reject(new Error(`${path} did not start; what it said is above.`))),
  ])
  const ended = once(keeper, 'exit')
  const close = async () => {
    keeper.disconnect()
    await ended
  }
  return { url, kind: `${path}, in memory, gone when the demo stops`, close }
}

const embedded = async () => {
  const redis = await createRedisServer({ port: 0 })
  // Two small answers in a row would otherwise wait for each other, 40 ms at a time.
  redis.server.server.on('connection', socket => socket.setNoDelay(true))
  const kind = 'in JavaScript, because there is no redis-server on the PATH: times are not those of a real one'
  return { url: `redis://127.0.0.1:${redis.port}`, kind, close: () => redis.close() }
}

/**
 * @param {string | undefined} url what PSHUB_REDIS says
 * @returns {Promise<{ url: string, kind: string, close(): Promise<void> }>}
 */
export const openRedis = async url => {
  if (url) return { url, kind: 'from PSHUB_REDIS', close: async () => {} }
  const path = findServer()
  return path ? serverOf(path) : embedded()
}
