// Somebody else's keys in the places of pshub's own: they may hurt nobody for longer than they are there.
import { setTimeout as sleep } from 'node:timers/promises'
import { unreachable } from './connections.mjs'

const hashes = ['tasks', 'workers', 'stats', 'taskstats', 'slow', 'failures'].map(name => `pshub:${name}`)
const queueKeys = ['calls', 'jobs', 'bell', 'jobbell', 'leases', 'cancelled', 'reporter', 'paused', 'dead']

const oneOf = (stage, list) => list[stage.integer(0, list.length - 1)]

const kinds = [
  (redis, key) => redis.set(key, 'x'),
  (redis, key) => redis.rpush(key, 'x', '[]'),
  (redis, key) => redis.hset(key, 'x', '{}'),
  (redis, key) => redis.zadd(key, 1, 'x'),
  (redis, key) => redis.sadd(key, 'x'),
]

/** Puts a key of some other kind in the place of one for a moment. What is not there cannot be renamed, and need not be. */
const swap = async (stage, key) => {
  const { redis } = stage
  const aside = `${key}-aside`
  await oneOf(stage, kinds)(redis.multi().rename(key, aside).del(key), key).exec()
  await sleep(400)
  await redis.multi().del(key).rename(aside, key).exec()
}

export const garbageRows = [
  {
    id: 'F28-any',
    title: 'keys of another kind in the place of each key, one after the other',
    load: { perSecond: 60 },
    faultMs: 500,
    longestMs: 8000,
    async inject(stage) {
      const own = await stage.redis.keys('pshub:*')
      for (const key of new Set([...hashes, ...queueKeys.map(name => `pshub:{q}:${name}`), ...own]))
        await swap(stage, key)
    },
    // A worker whose lease is not there takes a new one, and what it ran is another's.
    expect: {
      allowed: [...unreachable, 'NoWorkers', 'NoSuchTask', 'WorkerLost'],
      falseDeaths: 100,
      linesPerSecond: 40,
    },
  },
]
