import { expect } from 'vitest'
import { functionOf } from '../../src/redis/library.ts'
import type { Fixture } from './hub-fixture.ts'
import { queueKeys } from './queue-keys.ts'

/** As a worker that does not fetch long arguments itself: it gets them in the request. */
export const claimWhole = async (fixture: Fixture, url: string): Promise<void> => {
  const { redis } = fixture
  const { calls, bell, held, leases, jobs, jobBell, args } = queueKeys(fixture)
  const { username, password } = new URL(url)
  const client = redis.duplicate({ username, password, connectionName: 'whole', disableClientInfo: true })
  await redis.zadd(leases, 9e12, 'whole')
  await redis.set(args('whole'), '[1]')
  await redis.lpush(calls, '{"at":1,"ttl":0,"id":"whole","beside":3,"task":"own:1.0"}')
  const claim = [functionOf('claim'), 6, calls, bell, held('whole'), leases, jobs, jobBell, 'whole', 1, 0, 1000, 0]
  const [, claimed] = (await client.call('FCALL', ...claim)) as [string, string[]]
  expect(claimed).toEqual(['{"at":1,"ttl":0,"id":"whole","args":[1],"task":"own:1.0"}'])
  client.disconnect()
  await redis.zrem(leases, 'whole')
  await redis.del(held('whole'), args('whole'))
}
