import { describe, expect, it } from 'vitest'
import { Queue } from '../../src/queue/queue.ts'
import { run } from '../../src/redis/library.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { functionCalls, maxBytes } from '../support/function-calls.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

/** Callers and workers made of the functions alone, as one in another language is. */
const server = useRedis()

const { keys, beatOf, claimKeys, handbackKeys, adoptKeys, leaveOf } = functionCalls(server)

describe('the bytes of a payload', () => {
  const args = '{"empty":[],"none":{},"big":9007199254740993,"exact":1.0,"exp":1E400,"text":"Zoë 💚\\u0000\\ud800 \\/"}'
  const body = `"id":"raw","task":"raw:1.0","args":${args},"result_queue":"t:reply:{h}"}`

  it('survive push, claim and hand-back', async () => {
    const { redis } = server
    const { calls, bell, pushed, held } = keys()
    const [accepted, before, at] = (await run(
      redis,
      'push',
      [calls, bell, pushed('h')],
      [1, 60_000, 100, 0, `"ttl":5000,${body}`],
    )) as [number, number, string]
    expect([accepted, before]).toEqual([1, 0])
    const whole = `{"at":${at},"ttl":5000,${body}`
    expect(await redis.lrange(calls, 0, -1)).toEqual([whole])
    await beatOf(['w', 4000, 1, 60_000])
    const claim = () => run(redis, 'claim', claimKeys('w'), ['w', 1, 0, maxBytes])
    expect(await claim()).toEqual([expect.stringMatching(/^\d{16}$/), [whole]])
    expect(await redis.hgetall(held('w'))).toEqual({ raw: whole })
    expect(await run(redis, 'handback', handbackKeys('w'), ['tail', 'raw'])).toBe(1)
    expect(await claim()).toEqual([expect.anything(), [whole]])
    expect(await leaveOf('w')).toBe(1)
    expect(await redis.lpop(calls)).toBe(whole)
    await redis.del(bell, pushed('h'))
  })

  it('are what a Hub sends and what it gets', async () => {
    const { redis, namespace } = server
    const { calls, leases } = keys()
    // The registry entries that PROTOCOL.md asks of a plain worker, and no more.
    await redis.hset(`${namespace}:tasks`, 'raw:1.0', JSON.stringify({ task: 'raw:1.0', queue: 'q', at: 1 }))
    await redis.hset(`${namespace}:workers`, 'w', JSON.stringify({ id: 'w', queue: 'q', tasks: { 'raw:1.0': '' } }))
    await redis.zadd(leases, Date.now() + 10_000, 'w')
    const value = { empty: [], none: {}, text: 'Zoë 💚 \u2028 \ud800 "\\', numbers: [0, -1.5e-7, 1e21] }
    const call = server.hub().call('raw:1.0', value)
    const raw = redis.duplicate()
    server.onEnd(() => raw.disconnect())
    const [, text] = (await raw.blpop(calls, 5))!
    const id = /^\{"at":\d{16},"ttl":\d+,"id":"([A-Za-z0-9_-]{22})","task":"raw:1\.0","args":/.exec(text)![1]!
    expect(text).toContain(`"args":${JSON.stringify(value)},"result_queue":"${namespace}:reply:{`)
    const { result_queue } = JSON.parse(text)
    await redis.rpush(result_queue, `{ "id": "${id}", "ok": true, "result": ${JSON.stringify(value)} }`)
    expect(await call).toEqual(value)
    await redis.del(leases, keys().bell)
  })
})

describe('a full caller made of functions alone', () => {
  const push = (number: number, limit: number, ...messages: string[]) => {
    const { calls, bell, pushed } = keys()
    return run(server.redis, 'push', [calls, bell, pushed('h')], [number, 60_000, limit, 0, ...messages])
  }
  const at = expect.stringMatching(/^\d{16}$/)
  const message = (id: string) => `"ttl":60000,"id":"${id}","task":"t:1.0"}`
  const waiting = async () => (await server.redis.lrange(keys().calls, 0, -1)).map(text => JSON.parse(text).id)

  it('pushes once, however often it repeats, and never beyond its limit', async () => {
    const first = await push(1, 3, message('a'), message('b'))
    expect(first).toEqual([2, 0, at])
    expect(await push(1, 3, message('a'), message('b'))).toEqual([2, 2, (first as unknown[])[2], 1, 0])
    expect(await push(2, 3, message('c'), message('d'))).toEqual([1, 2, at])
    expect(await push(2, 9, message('c'), message('d'))).toEqual([1, 3, at, 1, 0])
    expect(await push(3, 3, message('e'))).toEqual([0, 3, at])
    expect(await waiting()).toEqual(['a', 'b', 'c'])
    expect(await server.redis.lrange(keys().bell, 0, -1)).toEqual(['1'])
    expect(await server.redis.pttl(keys().pushed('h'))).toBeGreaterThan(59_000)
    await server.redis.del(keys().calls, keys().bell, keys().pushed('h'))
  })

  it('has the way of a push taken off the time of its calls, unless it was short', async () => {
    const { redis } = server
    const { calls, bell, pushed } = keys()
    const push = async (number: number, onItsWayMs: number, ...messages: string[]) => {
      const [seconds, micros] = await redis.time()
      const countedAtUs = Number(seconds) * 1e6 + Number(micros) - onItsWayMs * 1000
      return (await run(
        redis,
        'push',
        [calls, bell, pushed('h')],
        [number, 60_000, 100, countedAtUs, ...messages],
      )) as number[]
    }
    const [, , , , inTime] = await push(1, -1000, message('quick'))
    const [, , , , late] = await push(
      2,
      400,
      message('late'),
      `"ttl":300,"id":"gone"}`,
      `"ttl":0,"id":"job","b":"ttl"}`,
    )
    expect(inTime).toBeUndefined()
    expect(late).toBeGreaterThanOrEqual(400)
    const waiting = (await redis.lrange(calls, 0, -1)).map(text => JSON.parse(text))
    expect(waiting.map(({ id, ttl }) => [id, ttl])).toEqual([
      ['quick', 60_000],
      ['late', 60_000 - late!],
      ['gone', 1],
      ['job', 0],
    ])
    await redis.del(calls, bell, pushed('h'))
  })

  it('is told by an error that nothing was enqueued', async () => {
    const { redis } = server
    await redis.config('SET', 'maxmemory', '1')
    await expect(push(1, 9, message('a'))).rejects.toThrow(/^OOM/)
    await redis.config('SET', 'maxmemory', '0')
    await redis.set(keys().bell, 'of another type')
    await expect(push(1, 9, message('a'))).rejects.toThrow(/^WRONGTYPE/)
    await redis.del(keys().bell)
    expect(await waiting()).toEqual([])
    expect(await push(1, 9, message('a'))).toEqual([1, 0, at])
    await redis.del(keys().calls, keys().bell, keys().pushed('h'))
  })
})

describe('a lease', () => {
  const leases = async () => {
    const found = await server.redis.zrange(keys().leases, '0', '-1', 'WITHSCORES')
    const [seconds] = await server.redis.time()
    const left = found.flatMap((id, at) => (at % 2 === 0 ? [[id, Number(found[at + 1]) / 1000 - Number(seconds)]] : []))
    return Object.fromEntries(left) as Record<'w' | 'dead' | 'n', number>
  }

  it('lasts until a claim of a megabyte has come over a slow link, whatever beats say meanwhile', async () => {
    const { redis } = server
    const { calls, held } = keys()
    await beatOf(['w', 4000, 1, 60_000])
    await redis.rpush(calls, `{"at":1,"ttl":0,"id":"large","args":"${'x'.repeat(1_000_000)}"}`)
    await run(redis, 'claim', claimKeys('w'), ['w', 1, 0, maxBytes])
    await beatOf(['w', 4000, 0, 60_000])
    expect((await leases()).w).toBeGreaterThan(5)
    expect((await leases()).w).toBeLessThan(9)
    await redis.del(held('w'))
    await leaveOf('w')
  })

  it("of a worker that died just before Redis' clock was set back by an hour ends as it would have, and so do its turns", async () => {
    const { redis } = server
    const { leases: key, reporter, turn, ticker } = keys()
    const [seconds] = await redis.time()
    const inAnHour = (Number(seconds) + 3600) * 1000
    // Before the step: w and its neighbours have beaten a moment ago. n is new since.
    await redis.zadd(key, inAnHour + 4000, 'w', inAnHour + 3500, 'dead')
    await redis.zadd(key, inAnHour + 3900, 'alive', inAnHour - 3597_000, 'n')
    for (const each of [reporter, turn, ticker]) await redis.set(each, 'dead', 'PX', 3600_000)
    await beatOf(['w', 4000, 0, 60_000])
    const left = await leases()
    expect(left.w).toBeLessThan(6)
    expect(left.dead).toBeGreaterThan(3)
    expect(left.dead).toBeLessThan(36)
    // The next one finds its own lease put right, and moves nothing any more.
    await beatOf(['alive', 4000, 0, 60_000])
    const after = await leases()
    expect(after.dead).toBeGreaterThan(3)
    expect(after.n).toBeLessThan(4)
    await redis.zadd(key, 1, 'dead')
    await run(redis, 'adopt', adoptKeys('dead', 'w'), ['dead', 'w', 64, maxBytes, 10, 1000])
    expect(await redis.exists(reporter, turn, ticker)).toBe(0)
    await redis.del(key)
  })
})

describe('a full worker made of functions alone', () => {
  it('is called by a Hub', async () => {
    const { redis, namespace } = server
    const { bell, held, reply } = keys()
    const blocking = redis.duplicate()
    server.onEnd(() => blocking.disconnect())
    const beat = await beatOf(['w', 4000, 1, 60_000])
    expect(beat).toEqual([expect.stringMatching(/^\d{16}$/), 1, [], [], [], ''])
    await redis.hset(`${namespace}:tasks`, 'raw:1.0', JSON.stringify({ task: 'raw:1.0', queue: 'q', at: 1 }))
    await redis.hset(`${namespace}:workers`, 'w', JSON.stringify({ id: 'w', queue: 'q', tasks: { 'raw:1.0': '' } }))
    const rung = blocking.blpop(bell, 2)
    const claimed = run(blocking, 'claim', claimKeys('w'), ['w', 4, 0, maxBytes])
    const failed = failure(server.hub().call('raw:1.0', { n: 1 }))
    expect(await rung).toEqual([bell, '1'])
    const [, [text], ...more] = (await claimed) as [string, string[]]
    expect(more).toEqual([])
    const { id, args, result_queue } = JSON.parse(text!)
    expect(args).toEqual({ n: 1 })
    expect(result_queue.startsWith(reply('').slice(0, -1))).toBe(true)
    const answer = JSON.stringify({ id, ok: false, error: { code: 'TaskFailed', message: 'no', retryable: true } })
    expect(await run(redis, 'reply', [result_queue], [60_000, answer])).toBe(1)
    await redis.hdel(held('w'), id)
    expect(await failed).toMatchObject({ code: 'TaskFailed', message: 'no', retryable: true })
    expect(await leaveOf('w')).toBe(0)
  })

  it('is told of a bell that it may not wait for, which must not make it a busy loop', async () => {
    const { redis, namespace } = server
    const { bell, leases } = keys()
    await beatOf(['w', 60_000, 1, 60_000])
    await redis.set(bell, 'squat')
    const queue = new Queue('q', makeKeys(namespace))
    expect((await failure(queue.waitAndClaim(redis, 'w', { slots: 1, jobs: 0 }))).message).toMatch(/^WRONGTYPE/)
    await redis.del(bell, leases)
  })
})
