import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const server = useRedis()

it('the list of read replies has an end of life before there is a reply in it: its caller may be killed any time', async () => {
  let finish = (_: string) => {}
  const task = defineTask('stay:1.0', {}, () => new Promise<string>(resolve => (finish = resolve)))
  const worker = await server.worker([task])
  const hub = server.hub()
  const call = hub.call('stay:1.0')
  await eventually(() => worker.busy === 1)
  expect(await server.redis.pttl(makeKeys(server.namespace).read(hub.id))).toBeGreaterThan(50_000)
  finish('done')
  expect(await call).toBe('done')
})

it('it is made again when nobody had called for a while, and is read again without its first entry', async () => {
  const { redis } = server
  const problems: unknown[] = []
  await server.worker([defineTask('echo:1.0', {}, args => args)])
  const hub = server.hub()
  hub.events.on('problem', problem => problems.push(problem))
  const readKey = makeKeys(server.namespace).read(hub.id)
  for (let round = 0; round < 3; round++) {
    expect(await hub.call('echo:1.0', round)).toBe(round)
    await eventually(async () => (await redis.exists(readKey)) === 0)
  }
  const calls = Array.from({ length: 50 }, (_, n) => hub.call('echo:1.0', n))
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  expect((await Promise.all(calls)).length).toBe(50)
  expect(problems.filter(problem => (problem as { where: string }).where === 'inbox')).toEqual([])
})
