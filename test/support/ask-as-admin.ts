import { expect } from 'vitest'
import { forgetTasks } from '../../src/catalogue/forgetting.ts'
import { readWorkerLook } from '../../src/figures/worker-look.ts'
import type { Worker } from '../../src/index.ts'
import { askWorker } from '../../src/queue/inspect.ts'
import { newId } from '../../src/wire/ids.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import type { Fixture } from './hub-fixture.ts'

/** Asks a worker of the queue q what it is doing, and forgets a task, as the user `admin` of useRights(). */
export const askAsAdmin = async (server: Fixture, worker: Worker): Promise<void> => {
  const client = server.redis.duplicate({ username: 'admin', password: 'secret', disableClientInfo: true })
  const connection = { send: (work: (client: typeof server.redis) => unknown) => work(client) } as never
  const queue = makeKeys(server.namespace).queue('q')
  const shown = readWorkerLook((await askWorker(connection, queue, worker.id, newId()))!)
  expect(shown).toMatchObject({ worker: worker.id, queue: 'q', pid: process.pid, blocked: undefined })
  // What is sent for one that does not answer, which takes five seconds.
  await client.unlink(queue.inspect('nobody'))
  await server.redis.hset(`${server.namespace}:tasks`, 'old:1.0', '{"task":"old:1.0","queue":"q","at":1}')
  await forgetTasks(connection, makeKeys(server.namespace), ['old:1.0'])
  client.disconnect()
}
