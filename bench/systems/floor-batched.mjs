// The floor with one RPUSH per tick and list: what plain lists can carry at most.
import { Redis } from 'ioredis'
import { makeCaller, makeWorker } from './lists.mjs'

const pusher = url => {
  const client = new Redis(url)
  const batches = new Map()
  const flush = () => {
    for (const [key, texts] of batches) client.rpush(key, ...texts)
    batches.clear()
  }
  const push = (key, text) => {
    if (batches.size === 0) setImmediate(flush)
    const batch = batches.get(key)
    if (batch) batch.push(text)
    else batches.set(key, [text])
  }
  return { push, close: () => client.disconnect() }
}

export const startWorker = options => makeWorker(options, pusher(options.url))
export const startCaller = options => makeCaller(options, pusher(options.url))
