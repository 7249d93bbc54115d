import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Hub } from '../../src/index.ts'
import { root, useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const shared = join(root, 'test/support/thread-tasks.mjs')

const startWorker = async (module = shared, env: Record<string, string> = {}) => {
  const worker = cli.start(['worker', module, '--slots', '4', '--lease', '2s', '--grace', '0s'], env)
  await worker.shows('worker started')
  return worker
}
const withHub = async (act: (hub: Hub) => Promise<void>) => {
  const hub = new Hub({ redis: cli.url, namespace: cli.namespace, logLevel: 'silent' })
  try {
    await act(hub)
  } finally {
    await hub.close()
  }
}

describe('pshub worker', () => {
  it('knows the module of tasks that have threads', async () => {
    const index = JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)
    const name = cli.module(
      'threaded.mjs',
      `import { isMainThread } from 'node:worker_threads'
import { defineTask } from ${index}
export default [defineTask('where:1.0', { threads: 2 }, () => ({ isMainThread }))]
export { defineTask as other }
`,
    )
    await startWorker(name)
    await withHub(async hub => expect(await hub.call('where:1.0')).toEqual({ isMainThread: false }))
  })
})

describe('threads of a worker in code', () => {
  it('end with it, and then the process does', async () => {
    const index = JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)
    cli.module(
      'tasks-of-app.mjs',
      `import { threadId } from 'node:worker_threads'
import { defineTask } from ${index}
export const where = defineTask('where:1.0', { threads: 1, module: import.meta.url }, () => threadId > 0)
`,
    )
    cli.module(
      'app.mjs',
      `import { Hub, Worker } from ${index}
import { where } from './tasks-of-app.mjs'
const options = { redis: ${JSON.stringify(cli.url)}, namespace: ${JSON.stringify(cli.namespace)}, logLevel: 'error' }
const worker = new Worker({ ...options, queue: 'q', tasks: [where] })
const hub = new Hub(options)
await worker.start()
console.log('in a thread:', await hub.call(where, {}))
await hub.close()
await worker.stop()
`,
    )
    const app = cli.start([], {}, join(cli.folder, 'app.mjs'))
    const { code, out, err } = await app.ended
    expect([code, out, err]).toEqual([0, 'in a thread: true\n', ''])
  })
})
