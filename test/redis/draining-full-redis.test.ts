import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

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
  const [, reply] = (await redis.blpop(inbox, 8))!
  expect(JSON.parse(reply)).toMatchObject({ id: 'orphan', ok: false, error: { code: 'WorkerLost' } })
  expect(await redis.exists(held('dead'))).toBe(0)
})
