import { expect, it } from 'vitest'
import { findJobRecord } from '../../src/jobs/lists/listing.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRights } from '../support/acl-users.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const server = useRedis()
const rights = useRights(server)

it('users of one queue find a job there beside one that they may not look into', async () => {
  const urls = await rights.users('q')
  server.allowLeftovers()
  const all = server.hub()
  await all.enqueue('theirs:1.0', {}, { queue: 'other', tracked: true })
  const { id } = await all.enqueue('own:1.0', {}, { queue: 'q', tracked: true, delayMs: 60_000 })
  const hub = server.hub({ redis: urls.jobs })
  expect((await hub.job(id)).queue).toBe('q')
  const client = server.redis.duplicate({ username: 'jobs', password: 'secret', disableClientInfo: true })
  server.onEnd(() => client.disconnect())
  const find = (id: string, queues: string[]) => findJobRecord(client, makeKeys(server.namespace), id, queues)
  expect((await find(id, ['other', 'q']))?.status.queue).toBe('q')
  await expect(find('unknown', ['other', 'q'])).rejects.toThrow(/NOPERM/)
  expect(await failure(hub.job('unknown'))).toMatchObject({ message: expect.stringContaining("'pshub check'") })
  await rights.denied()
})
