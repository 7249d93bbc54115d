import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

it('a worker that took the token of the bell while its lease had lapsed claims as soon as it has one again', async () => {
  const { redis, namespace } = it_
  const worker = await it_.worker([defineTask('echo:1.0', {}, args => args)])
  const { leases, calls, bell } = makeKeys(namespace).queue('q')
  const inbox = makeKeys(namespace).reply('by-hand')
  for (let round = 0; round < 3; round++) {
    const request = JSON.stringify({ id: 'r', task: 'echo:1.0', args: round, result_queue: inbox })
    const startedAt = performance.now()
    // In one step, so that no beat comes in between.
    await redis.multi().zadd(leases, 'XX', 1, worker.id).rpush(calls, request).rpush(bell, 1).exec()
    const [, reply] = (await redis.blpop(inbox, 5))!
    expect(JSON.parse(reply)).toMatchObject({ ok: true, result: round })
    expect(performance.now() - startedAt).toBeLessThan(1000)
  }
})
