import { describe, expect, it } from 'vitest'
import { defineTask, Worker } from '../../src/index.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

/** A task that returns what it was given. */
const counting = () => ({ task: defineTask('count:1.0', {}, async n => n) })

describe('a Redis that refuses', () => {
  it('everything, while a script does not end: callers hear of it, and the inbox does not ask again and again', async () => {
    const { task } = counting()
    await it_.worker([task])
    const hub = it_.hub()
    await hub.call('count:1.0', 1)
    const problems: unknown[] = []
    hub.events.on('problem', problem => problems.push(problem))
    await it_.redis.config('SET', 'busy-reply-threshold', '50')
    await it_.redis.config('RESETSTAT')
    const busy = it_.redis.duplicate()
    it_.onEnd(() => busy.disconnect())
    const ended = busy.eval('while true do end', 0).catch(error => error)
    await eventually(async () => /^BUSY/.test(String(await it_.redis.get('x').catch(error => error.message))))
    const from = performance.now()
    while (performance.now() < from + 1000) await failure(hub.call('count:1.0', 2, { timeoutMs: 40 }))
    await it_.redis.script('KILL')
    await ended
    const [, rejected] = /cmdstat_blmove:.*rejected_calls=(\d+)/.exec(await it_.redis.info('commandstats'))!
    // However long it took.
    expect(Number(rejected)).toBeLessThanOrEqual((performance.now() - from) / 80 + 3)
    expect(problems).toEqual([])
    await eventually(async () => (await hub.call('count:1.0', 3).catch(() => 0)) === 3)
  })

  it('growing writes when it is full: pushes fail as NotEnqueued, and what waits is served', async () => {
    const { task } = counting()
    const hub = it_.hub()
    const early = await it_.worker([task])
    await hub.call('count:1.0', 'warm')
    await early.stop()
    const queue = `${it_.namespace}:{q}:calls`
    const key = `${it_.namespace}:reply:{by-hand}`
    await it_.redis.rpush(queue, JSON.stringify({ task: 'count:1.0', id: 'a', args: 'waiting', result_queue: key }))
    await it_.worker([task], { slots: 1 })
    await it_.redis.blpop(key, 5)
    await it_.redis.rpush(queue, JSON.stringify({ task: 'count:1.0', id: 'b', args: 'waiting', result_queue: key }))
    await it_.redis.config('SET', 'maxmemory', '1')
    try {
      const [, text] = (await it_.redis.blpop(key, 5))!
      expect(JSON.parse(text)).toMatchObject({ id: 'b', ok: true })
      expect(await failure(hub.call('count:1.0', 'new'))).toMatchObject({
        code: 'NotEnqueued',
        message: expect.stringMatching(/Redis is full/),
      })
    } finally {
      await it_.redis.config('SET', 'maxmemory', '0')
    }
    expect(await hub.call('count:1.0', 'after')).toBe('after')
  })

  it('a key of the wrong type: a clear refusal', async () => {
    const { task } = counting()
    await it_.worker([task])
    const hub = it_.hub()
    await hub.call('count:1.0', 1)
    await it_.redis.set(`${it_.namespace}:{q}:calls`, 'squatted')
    expect(await failure(hub.call('count:1.0', 2))).toMatchObject({
      code: 'NotEnqueued',
      message: expect.stringMatching(/WRONGTYPE/),
    })
    await it_.redis.del(`${it_.namespace}:{q}:calls`)
    expect(await hub.call('count:1.0', 3)).toBe(3)
  })

  it('a server that would evict requests is not used', async () => {
    const evicting = await startServer({ args: ['--maxmemory-policy', 'allkeys-lru'] })
    it_.onEnd(() => evicting.stop())
    const worker = new Worker({ redis: evicting.url, logLevel: 'silent', tasks: [counting().task] })
    await expect(worker.start()).rejects.toThrow(
      /maxmemory-policy is allkeys-lru.*config set maxmemory-policy noeviction/,
    )
  })
})
