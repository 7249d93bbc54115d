// What is in Redis may be anything. Nothing that somebody puts there may hurt anybody else, nor blind those who look.
import { setTimeout as sleep } from 'node:timers/promises'
import { unreachable } from './connections.mjs'

const hashes = ['tasks', 'workers', 'stats', 'taskstats', 'slow', 'failures'].map(name => `pshub:${name}`)
const queueKeys = ['calls', 'jobs', 'bell', 'jobbell', 'leases', 'cancelled', 'reporter', 'paused', 'dead']

const nested = depth => '['.repeat(depth) + ']'.repeat(depth)

/** JSON values, and what is none. */
const values = [
  'null',
  'true',
  '0',
  '-1',
  '1e999',
  '""',
  '"x"',
  '[]',
  '{}',
  '[null]',
  '{"toString":1}',
  '{"__proto__":{"queue":1},"constructor":null}',
  nested(200),
  nested(20_000),
  '"\\ud800\\u0000\\u2028"',
  '9007199254740993',
]
const texts = ['', 'x', '{', '{"queue":', '\ud800', '\0', ...values]

const oneOf = (stage, list) => list[stage.integer(0, list.length - 1)]

/** A record as it should be, but for one member of it, which is anything. */
const spoilt = (stage, text) => {
  const record = JSON.parse(text)
  const name = oneOf(stage, Object.keys(record))
  const rest = Object.entries(record).filter(([key]) => key !== name)
  const parts = [[name, undefined], ...rest].map(([key, value]) => {
    const shown = value === undefined ? oneOf(stage, values) : JSON.stringify(value)
    return `${JSON.stringify(key)}:${shown}`
  })
  return `{${parts.join(',')}}`
}

const anyText = (stage, healthy) => {
  if (healthy && stage.chance(0.6)) return spoilt(stage, healthy)
  return stage.chance(0.02) ? JSON.stringify('x'.repeat(300_000)) : oneOf(stage, texts)
}

/** Beside what is there: its own record must not be touched, and nobody is told that theirs is gone. */
const addRecord = async (stage, strangers) => {
  const { redis } = stage
  const key = oneOf(stage, hashes)
  const healthy = stage.healthy.get(key)
  const stranger = `hand-${stage.integer(1, 9)}`
  const field = key.endsWith(':tasks')
    ? oneOf(stage, [`${stranger}:1.0`, 'again:2.0', stranger, '', 'a:b:c'])
    : stranger
  strangers.add(`${key} ${field}`)
  await redis.hset(key, field, anyText(stage, healthy))
  // As a live one it would be asked about.
  if (key.endsWith(':workers')) await redis.zadd('pshub:{q}:leases', Date.now() + 60_000, stranger)
}

const addElements = async stage => {
  const { redis } = stage
  const [reply] = await redis.keys('pshub:reply:*')
  if (reply && (await redis.type(reply)) === 'list') await redis.rpush(reply, anyText(stage))
  await redis.rpush('pshub:{q}:calls', anyText(stage))
  await redis.zadd('pshub:{q}:cancelled', Date.now(), anyText(stage))
  await redis.set('pshub:{q}:paused', oneOf(stage, ['', 'x', 'yesterday', '1e9', '-1', '{}']), 'PX', 1000)
}

/** Whoever looks at all of it must see the healthy ones, all of them, and soon. */
const lookAround = async stage => {
  const seen = await stage.callers[0].order('overview')
  const say = what => stage.found.push({ invariant: 'blind', what })
  if (seen.error) return say(seen.error)
  if (!['again:1.0', 'once:1.0'].every(task => seen.tasks.includes(task))) say(`the overview has ${seen.tasks}`)
  if (seen.workers < stage.workers.length) say(`the overview has ${seen.workers} live workers`)
}

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
  {
    id: 'F29-records',
    title: 'records, members and elements that may be anything, beside healthy ones',
    faultMs: 6000,
    async inject(stage) {
      stage.strangers = new Set()
      const records = await Promise.all(hashes.map(async key => [key, (await stage.redis.hvals(key))[0]]))
      stage.healthy = new Map(records)
      stage.repeat(20, () => addRecord(stage, stage.strangers))
      stage.repeat(100, () => addElements(stage))
      stage.repeat(500, () => lookAround(stage))
    },
    async heal(stage) {
      const { redis } = stage
      await lookAround(stage)
      for (const entry of stage.strangers) {
        const [key, field] = entry.split(/ (.*)/s)
        await redis.hdel(key, field)
        await redis.zrem('pshub:{q}:leases', field)
      }
      await redis.del('pshub:{q}:paused', 'pshub:{q}:cancelled')
    },
    expect: { promised: 'all', linesPerSecond: 40 },
  },
]
