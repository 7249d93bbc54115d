import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

it('a worker that took the token of the bell while its lease had lapsed claims when it has one again', async () => {
  const { redis, namespace } = it_
  const worker = await it_.worker([defineTask('echo:1.0', {}, args => args)])
  const { leases, calls, bell } = makeKeys(namespace).queue('q')
  const inbox = makeKeys(namespace).reply('by-hand')
  for (let round = 0; round < 3; round++) {
    const request = JSON.stringify({ id: 'r', task: 'echo:1.0', args: round, result_queue: inbox })
    // In one step, so that no beat comes in between.
    await redis.multi().zadd(leases, 'XX', 1, worker.id).rpush(calls, request).rpush(bell, 1).exec()
    const [, reply] = (await redis.blpop(inbox, 30))!
    expect(JSON.parse(reply)).toMatchObject({ ok: true, result: round })
  }
})

it('leases that are gone altogether cost no worker what it holds, nor its name', async () => {
  const { redis, namespace } = it_
  let release = (_result: string): void => undefined
  const task = defineTask('wait:1.0', {}, () => new Promise<string>(resolve => (release = resolve)))
  const worker = await it_.worker([task])
  const { id } = worker
  const lost: unknown[] = []
  worker.events.on('lease:lost', event => lost.push(event))
  const { leases, held } = makeKeys(namespace).queue('q')
  const call = it_.hub().call('wait:1.0', {}, { timeoutMs: 60_000 })
  await eventually(async () => (await redis.hlen(held(id))) === 1)
  await redis.del(leases)
  await eventually(async () => (await redis.exists(leases)) === 1)
  expect(await redis.zscore(leases, id)).not.toBeNull()
  release('done')
  expect(await call).toBe('done')
  expect([worker.id, lost]).toEqual([id, []])
  await eventually(async () => (await redis.exists(held(id))) === 0)
})
