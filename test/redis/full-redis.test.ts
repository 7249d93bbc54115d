import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()

it('a full Redis takes the word of a caller that gives up, whether it knows the text of its request or not', async () => {
  const { redis, namespace } = it_
  const queue = new Queue('q', makeKeys(namespace))
  it_.onEnd(() => redis.config('SET', 'maxmemory', '0'))
  await redis.config('SET', 'maxmemory', '1')
  expect(await queue.cancel(redis, 'unknown', '')).toBe(false)
  expect(await redis.pttl(queue.keys.cancelled)).toBeGreaterThan(4000)
  expect(await queue.cancel(redis, 'running', 'no longer in the list')).toBe(false)
  const beat = await queue.beat(redis, 'w', 4000, true)
  expect(beat.cancelled.sort()).toEqual(['running', 'unknown'])
  expect(await queue.leave(redis, 'w', [])).toBe(0)
})

it('a full Redis: what a dead worker held is adopted, and a call that is given up stops', async () => {
  const { redis, namespace } = it_
  it_.onEnd(() => redis.config('SET', 'maxmemory', '0'))
  let stopped = false
  const wait = defineTask('wait:1.0', { timeoutMs: 20_000 }, async (_, { signal }) => {
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    stopped = true
  })
  await it_.worker([wait])
  const giveUp = new AbortController()
  const call = it_.hub().call('wait:1.0', {}, { signal: giveUp.signal })
  call.catch(() => undefined)
  const { held, leases } = makeKeys(namespace).queue('q')
  const inbox = makeKeys(namespace).reply('by-hand')
  const request = JSON.stringify({ id: 'orphan', task: 'wait:1.0', args: {}, result_queue: inbox })
  await redis.hset(held('dead'), 'orphan', request)
  await redis.zadd(leases, 1, 'dead')
  await eventually(async () => (await redis.keys(`${namespace}:{q}:held:*`)).length === 2)
  await redis.config('SET', 'maxmemory', '1')

  giveUp.abort()
  await expect(call).rejects.toMatchObject({ code: 'Aborted' })
  await eventually(() => stopped)
  const [, reply] = (await redis.blpop(inbox, 30))!
  expect(JSON.parse(reply)).toMatchObject({ id: 'orphan', ok: false, error: { code: 'WorkerLost' } })
  expect(await redis.exists(held('dead'))).toBe(0)
})

it('a full Redis: nothing is released before its reply is there', async () => {
  const { redis } = it_
  // Before anybody sends anything: ioredis takes a line that comes with the answer to MONITOR for a disorder.
  const monitor = await redis.monitor()
  it_.onEnd(() => monitor.disconnect())
  let end = () => {}
  const wait = defineTask('wait:1.0', { timeoutMs: 20_000 }, () => new Promise<void>(resolve => (end = resolve)))
  const worker = await it_.worker([wait])
  const hub = it_.hub()
  const call = hub.call('wait:1.0')
  const { held, reply } = queueKeys(it_)
  await eventually(async () => (await redis.hlen(held(worker.id))) === 1)
  const order: string[] = []
  monitor.on('monitor', (_: string, words: string[]) => {
    if (words.includes(reply(hub.id)) && /^(rpush|fcall)/i.test(words[0]!)) order.push('reply')
    if (/^hdel$/i.test(words[0]!) && words[1] === held(worker.id)) order.push('release')
  })
  it_.onEnd(() => redis.config('SET', 'maxmemory', '0'))
  await redis.config('SET', 'maxmemory', '1')
  end()
  await call
  await redis.config('SET', 'maxmemory', '0')
  await eventually(async () => (await redis.hlen(held(worker.id))) === 0)
  await eventually(() => order.includes('release'))
  expect(order[0]).toBe('reply')
  expect(order.indexOf('release')).toBeGreaterThan(0)
})
