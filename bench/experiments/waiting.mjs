import { Redis } from 'ioredis'
import { Pair } from '../kit/pair.mjs'

export const name = 'waiting'
export const title = 'Waiting calls of one pshub hub: connections it holds, and memory in Redis per call'

const counts = [5000, 50_000]
const bytes = [20, 1000]

const usedMemory = async redis => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))[1])

export const run = async () => {
  const rows = []
  for (const size of bytes) {
    for (const count of counts) {
      const caller = { task: 'stuck:1.0', timeoutMs: 60_000, maxBacklog: 200_000 }
      const pair = await Pair.start('pshub', {
        slots: 1,
        bytes: size,
        caller,
        worker: { maxBacklog: caller.maxBacklog },
      })
      const redis = new Redis(pair.server.url)
      try {
        const before = await usedMemory(redis)
        await pair.callers[0].ask({ what: 'launch', calls: count })
        let waiting = 0
        // Pushes go out in batches; the wait is for Redis to have them all.
        for (let tries = 0; tries < 100 && waiting < count - 1; tries++) {
          await new Promise(resolve => setTimeout(resolve, 100))
          waiting = await redis.llen('pshub:{bench}:calls')
        }
        const clients = await redis.client('LIST')
        rows.push({
          'calls in flight': count,
          'arguments, bytes': size,
          'waiting in Redis': waiting,
          'connections of the hub': [...clients.matchAll(/ name=(pshub-hub\S*)/g)].length,
          'bytes per waiting call': Math.round(((await usedMemory(redis)) - before) / Math.max(1, waiting)),
        })
      } finally {
        redis.disconnect()
        await pair.stop()
      }
    }
  }
  return { rows }
}
