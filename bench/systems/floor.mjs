// The floor: the same work over bare ioredis lists, BLMPOP COUNT on both sides, nothing tracked, nothing checked. What
// is in flight when a socket breaks is lost, and nobody notices.
import { Redis } from 'ioredis'
import { makeCaller, makeWorker } from './lists.mjs'

/** One command per message. */
const pusher = url => {
  const client = new Redis(url)
  return { push: (key, text) => client.rpush(key, text), close: () => client.disconnect() }
}

export const startWorker = options => makeWorker(options, pusher(options.url))
export const startCaller = options => makeCaller(options, pusher(options.url))
