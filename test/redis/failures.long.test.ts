import { expect, it } from 'vitest'
import { defineTask, TaskError } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const server = useRedis()

const tasks = [
  defineTask('echo:1.0', {}, args => args),
  defineTask('fail:1.0', {}, () => {
    throw new TaskError('no')
  }),
]
const key = (name: string) => `${server.namespace}:${name}`

it('recent failures are written when they change, and again when that did not succeed', async () => {
  const worker = await server.worker(tasks)
  const problems: string[] = []
  worker.events.on('problem', ({ reason }) => problems.push(reason))
  const hub = server.hub()
  const seen = async () => JSON.parse((await server.redis.hget(key('stats'), worker.id))!).seen as number
  const beats = async (count: number) => {
    for (let n = 0, last = await seen(); n < count; n++, last = await seen())
      await eventually(async () => (await seen()) > last)
  }
  await failure(hub.call('fail:1.0', 1))
  await eventually(async () => (await hub.failures()).length === 1)
  await server.redis.del(key('failures'))
  await hub.call('echo:1.0', 1)
  await beats(2)
  expect(await server.redis.exists(key('failures'))).toBe(0)
  await server.redis.set(key('failures'), 'no hash')
  await failure(hub.call('fail:1.0', 2))
  await eventually(() => problems.some(reason => reason.startsWith('WRONGTYPE')))
  await server.redis.del(key('failures'))
  await eventually(async () => (await hub.failures()).length === 2)
})
