import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const keysOf = (queue: string) => makeKeys(it_.namespace).queue(queue)

/** Notes its runs; `fails` makes it die at once. */
const noting = (name: string) => {
  const runs: unknown[] = []
  const task = defineTask(`${name}:1.0`, { retries: 0 }, args => {
    runs.push(args)
    if ((args as { fails?: boolean }).fails) throw new Error('broken')
    return { by: name, args }
  })
  return { task, runs }
}

const message = (id: string) => `"ttl":0,"id":"${id}","job":{"keep":60000},"task":"b:1.0","args":{"id":"${id}"}}`

it('what is to be done in another queue stays for the next worker where the one that owes it leaves', async () => {
  const { redis } = it_
  const { held, leases } = keysOf('q')
  const worker = await it_.worker([noting('a').task])
  // Its target is somebody else's key, so that it cannot be done.
  await redis.set(keysOf('r').jobs, 'no list')
  const problem = new Promise<string>(resolve => worker.events.on('problem', ({ reason }) => resolve(reason)))
  await redis.hset(held(worker.id), 'out:r:x', message('x'))
  expect(await problem).toMatch(/WRONGTYPE/)
  await worker.stop()
  expect(await redis.hkeys(held(worker.id))).toEqual(['out:r:x'])
  await redis.del(keysOf('r').jobs)
  const b = noting('b')
  await it_.worker([b.task], { queue: 'r' })
  await it_.worker([noting('a').task])
  await eventually(() => b.runs.length === 1, 60_000)
  await eventually(async () => (await redis.zscore(leases, worker.id)) === null)
  it_.allowLeftovers()
}, 90_000)
