import { expect } from 'vitest'
import { install } from '../../src/redis/library.ts'
import type { Fixture } from './hub-fixture.ts'

/** Loads the library into an empty server, which a revision of it in Redis makes unnecessary. */
export const installAs = async ({ redis }: Fixture, url: string): Promise<void> => {
  await redis.function('FLUSH')
  const { username, password } = new URL(url)
  const client = redis.duplicate({ username, password, connectionName: 'install', disableClientInfo: true })
  expect(await install(client)).toMatchObject({ isFit: true, isNew: true })
  client.disconnect()
}
