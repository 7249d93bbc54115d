import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { batchesOf } from '../../src/queue/batches.ts'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { maxBatchBytes, maxDead, Queue } from '../../src/queue/queue.ts'
import { failureText } from '../../src/wire/job-part.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { leadingAt } from '../../src/wire/message.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const queueOf = () => new Queue('q', makeKeys(it_.namespace))

const message = (id: string, bytes: number) =>
  `{"at":${Date.now() * 1000},"ttl":60000,"id":"${id}","task":"t:1.0","args":"${'x'.repeat(bytes)}"}`

const sizes = (texts: string[]) => texts.map(text => text.length)
const sum = (numbers: number[]) => numbers.reduce((all, each) => all + each, 0)

describe('what comes in one answer is bounded in bytes', () => {
  it('claims: what is too much stays where it was, in its order', async () => {
    it_.allowLeftovers()
    const queue = queueOf()
    const { calls, jobs, held, leases } = queue.keys
    await it_.redis.zadd(leases, Date.now() + 60_000, 'w')
    const ids = Array.from({ length: 64 }, (_, n) => `m${n}`)
    // Small ones first: the page grows, and what it brings is larger than anybody could know.
    await it_.redis.rpush(calls, ...ids.map((id, n) => message(id, n < 10 ? 10 : 400_000)))
    await it_.redis.rpush(jobs, message('job', 10))
    const seen: string[] = []
    while (seen.length < 64) {
      const claimed = (await queue.claim(it_.redis, 'w', { slots: 64, jobs: 32 }))!
      const own = claimed.requests.filter(({ isJob }) => !isJob).map(({ text }) => text)
      expect(sum(sizes(own).slice(0, -1))).toBeLessThan(maxBatchBytes)
      seen.push(...own.map(text => JSON.parse(text).id))
      expect(claimed.left).toBe(64 - seen.length)
      expect(await it_.redis.llen(calls)).toBe(64 - seen.length)
      expect(await it_.redis.hlen(held('w'))).toBe(seen.length + claimed.requests.length - own.length)
    }
    expect(seen).toEqual(ids)
  })

  it('adoptions', async () => {
    it_.allowLeftovers()
    const queue = queueOf()
    const { held, leases } = queue.keys
    await it_.redis.zadd(leases, Date.now() + 60_000, 'w', 1, 'lost')
    const all = Array.from({ length: 10 }, (_, n) => [`m${n}`, message(`m${n}`, 400_000)]).flat()
    await it_.redis.hset(held('lost'), ...all)
    const seen: string[] = []
    for (let done = false; !done; ) {
      const adopted = (await queue.adopt(it_.redis, 'lost', 'w'))!
      done = adopted.done
      expect(sum(adopted.toAnswer.map(({ text }) => text.length).slice(0, -1))).toBeLessThan(maxBatchBytes)
      seen.push(...adopted.toAnswer.map(({ id }) => id))
    }
    expect(new Set(seen).size).toBe(10)
    expect(await it_.redis.zscore(leases, 'lost')).toBeNull()
    const texts = await queue.heldTexts(it_.redis, 'w', seen)
    expect(texts).toHaveLength(3)
  })

  it('writes', () => {
    const batches = [...batchesOf([700_000, 700_000, 10, 2_000_000, 10], size => size)]
    expect(batches).toEqual([[700_000], [700_000, 10], [2_000_000], [10]])
    expect([...batchesOf(Array(600).fill(1), size => size)].map(({ length }) => length)).toEqual([256, 256, 88])
  })
})

describe('what is kept is bounded', () => {
  it('dead jobs: the oldest go, and that is told', async () => {
    it_.allowLeftovers()
    const queue = queueOf()
    const old = Array.from({ length: maxDead }, (_, n) => [Date.now() - 20_000 + n, `old ${n}`]).flat()
    await it_.redis.zadd(queue.keys.dead, ...old)
    const [a, b] = [message('a', 1), message('b', 1)]
    await it_.redis.hset(queue.keys.held('w'), { 'job:a': a, 'job:b': b })
    const dead = (id: string, held: string) =>
      ({
        id,
        at: leadingAt(held),
        outcome: 'dead',
        delayMs: 0,
        text: failureText({ code: 'TaskFailed', message: 'no' }),
        following: '',
      }) as const
    const { dropped } = await new JobQueue('q', makeKeys(it_.namespace)).settle(it_.redis, 'w', [
      dead('job:a', a),
      dead('job:b', b),
    ])
    expect(dropped).toBe(2)
    expect(await it_.redis.zcard(queue.keys.dead)).toBe(maxDead)
    expect(await it_.redis.zscore(queue.keys.dead, 'old 1')).toBeNull()
    expect(await it_.redis.zrange(queue.keys.dead, '-1', '-1')).toEqual([
      expect.stringContaining('"id":"b","job":{"tries":1'),
    ])
  })

  it('a call that is given up is looked for at both ends of a long list, and left to its deadline in between', async () => {
    it_.allowLeftovers()
    const queue = queueOf()
    const { calls, cancelled } = queue.keys
    const texts = Array.from({ length: 3000 }, (_, n) => message(`m${n}`, 1))
    await it_.redis.rpush(calls, ...texts)
    expect(await queue.cancel(it_.redis, 'm999', texts[999]!)).toBe(true)
    expect(await queue.cancel(it_.redis, 'm2001', texts[2001]!)).toBe(true)
    expect(await queue.cancel(it_.redis, 'm1500', texts[1500]!)).toBe(false)
    expect(await it_.redis.llen(calls)).toBe(2998)
    expect(await it_.redis.zrange(cancelled, '0', '-1')).toEqual(['m1500'])
  })
})

it('what a lost worker left that is none of ours holds up no other adoption', async () => {
  const { leases, held } = queueOf().keys
  const inbox = makeKeys(it_.namespace).reply('somebody')
  await it_.worker([defineTask('t:1.0', {}, () => 1)])
  const request = JSON.stringify({ id: 'a', task: 't:1.0', result_queue: inbox })
  await it_.redis.set(held('broken'), 'no hash')
  await it_.redis.hset(held('lost'), 'a', request)
  await it_.redis.zadd(leases, 1, 'broken', 2, 'lost')
  it_.onEnd(() => it_.redis.del(held('broken')))
  const [, reply] = (await it_.redis.blpop(inbox, 30))!
  expect(JSON.parse(reply)).toMatchObject({ id: 'a', error: { code: 'WorkerLost' } })
  await eventually(async () => (await it_.redis.zcard(leases)) === 1)
})
