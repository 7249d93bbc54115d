import { expect, it } from 'vitest'
import { run } from '../../src/redis/library.ts'
import { functionCalls, maxBytes } from '../support/function-calls.ts'
import { useRedis } from '../support/hub-fixture.ts'

// A server of its own: it is kept busy with a snapshot.
const server = useRedis(['--save', ''])

const { keys, beatOf, adoptKeys } = functionCalls(server)

it('a worker made of functions alone finds what a lost worker holds in a hash that was large once', async () => {
  const { redis } = server
  const { held, leases } = keys()
  const fields = Array.from({ length: 20_000 }, (_, n) => [`r${n}`, '{"task":"raw:1.0"}']).flat()
  await redis.hset(held('lost'), ...fields)
  // While a snapshot is under way Redis lets no hash shrink: nearly all of its places are empty, and so are its pages.
  await redis.mset(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`filler${n}`, ''])))
  await redis.config('SET', 'rdb-key-save-delay', '100000')
  await redis.bgsave()
  server.onEnd(async () => {
    await redis.config('SET', 'rdb-key-save-delay', '0')
    await redis.del(...Array.from({ length: 30 }, (_, n) => `filler${n}`))
  })
  const gone = Array.from({ length: 19_999 }, (_, n) => `r${n}`)
  await redis.hdel(held('lost'), ...gone)
  await redis.zadd(leases, 1, 'lost')
  await beatOf(['w', 60_000, 1, 60_000])
  const [cursor] = await redis.hscan(held('lost'), 0, 'COUNT', 64)
  // Those of Valkey and of Redis 8 shrink all the same, at once or a moment later.
  const info = String(await redis.info('server'))
  if (/^redis_version:7/m.test(info) && !info.includes('valkey_version')) expect(cursor).not.toBe('0')
  const adopted = await run(redis, 'adopt', adoptKeys('lost', 'w'), ['lost', 'w', 64, maxBytes, 9, 1000])
  expect(adopted).toEqual([1, ['lost:r19999', '{"task":"raw:1.0","losses":1}'], [], [], [], []])
  await redis.del(held('w'), leases)
})
