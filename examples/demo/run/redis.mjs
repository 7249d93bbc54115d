// The Redis of the demo: the user's own, or one that lives in this process.
import { createRedisServer } from 'js-redis-server'

/** A URL that can be shown: without the password. */
export const shown = url => {
  const parsed = new URL(url)
  if (parsed.password) parsed.password = '***'
  return parsed.href
}

const embedded = async () => {
  const redis = await createRedisServer({ port: 0 })
  // Two small answers in a row would otherwise wait for each other, 40 ms at a time.
  redis.server.server.on('connection', socket => socket.setNoDelay(true))
  return { url: `redis://127.0.0.1:${redis.port}`, embedded: true, close: () => redis.close() }
}

/**
 * @param {string | undefined} url what PSHUB_REDIS says
 * @returns {Promise<{ url: string, embedded: boolean, close(): Promise<void> }>}
 */
export const openRedis = async url => (url ? { url, embedded: false, close: async () => {} } : embedded())
