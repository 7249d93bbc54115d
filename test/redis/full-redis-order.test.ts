import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()

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
