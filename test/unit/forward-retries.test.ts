import { expect, it } from 'vitest'
import { ConnectionLost } from '../../src/redis/failures.ts'
import type { WorkerContext } from '../../src/worker/context.ts'
import { Forward } from '../../src/worker/roles/forward.ts'

it('what was done in another queue is not done again when the answer of the last step is lost', async () => {
  const sent: string[] = []
  let isLost = true
  /** As the connection does it: `fcall` of forward, `hdel` of the release, `del` of what remembers it there. */
  const client = {
    sendCommand: async ({ name }: { name: string }) => {
      sent.push(name)
      if (name !== 'del' || !isLost) return 1
      isLost = false
      throw new ConnectionLost('cut')
    },
  }
  const forward = new Forward({
    queue: { release: async () => void sent.push('release') },
    commands: { send: (act: (given: unknown) => unknown) => act(client), whenReady: async () => undefined },
    slots: { know: () => true, forget: () => undefined, sendOut: () => undefined },
    settings: { namespace: 'pshub' },
    workerId: () => 'w',
    problem: () => () => undefined,
  } as unknown as WorkerContext)
  forward.send([{ id: 'out:r:next', text: '"ttl":0,"id":"next","job":{},"task":"a:1.0"}' }], 'w')
  await forward.drained()
  expect(sent).toEqual(['fcall', 'release', 'del', 'del'])
})
