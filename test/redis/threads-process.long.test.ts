import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Hub } from '../../src/index.ts'
import { root, useCli } from '../support/cli-fixture.ts'
import { eventually, failure } from '../support/hub-fixture.ts'

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
const file = (name: string) => join(cli.folder, `${cli.namespace}-${name}`)
const written = (path: string) => eventually(() => existsSync(path) && readFileSync(path, 'utf8'), 15_000)

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

  it('that is killed while a thread computes leaves its job to another one', async () => {
    const [first, second] = await Promise.all([startWorker(), startWorker()])
    await withHub(async hub => {
      const [begun, until] = [file('begun'), file('until')]
      const job = await hub.enqueue('computing:1.0', { begun, until }, { tracked: true, keepResultMs: 10_000 })
      const pid = Number(await written(begun))
      const [runner, other] = first.child.pid === pid ? [first, second] : [second, first]
      expect(runner.child.pid).toBe(pid)
      writeFileSync(begun, '')
      runner.signal('SIGKILL')
      await runner.ended
      await eventually(() => readFileSync(begun, 'utf8') === String(other.child.pid), 15_000)
      writeFileSync(until, '')
      expect(await job.result({ timeoutMs: 10_000 })).toMatchObject({ threadId: expect.any(Number) })
    })
  })
})

describe('a thread', () => {
  it.each([
    ['throws', `throw new Error('no instruments in threads')`, 'no instruments in threads'],
    ['exits', 'process.exit(7)', 'it ended before it was ready'],
  ])('that cannot start, because what is loaded first %s, says so at once', async (_, act, reason) => {
    cli.module('first.mjs', `import { isMainThread } from 'node:worker_threads'\nif (!isMainThread) { ${act} }\n`)
    // Without the thread for a blocked loop, which could not start either.
    const worker = await startWorker(shared, { NODE_OPTIONS: '--import ./first.mjs', PSHUB_MAX_BLOCKED_MS: '0' })
    await withHub(async hub => {
      const both = [1, 2].map(() => failure(hub.call('ending:1.0', { how: 'null' }, { timeoutMs: 15_000 })))
      const message = `No thread could be started for ending:1.0: ${reason}`
      for (const failed of await Promise.all(both)) expect(failed).toMatchObject({ code: 'TaskFailed', message })
      expect(await hub.call('echo:1.0', {})).toMatchObject({ isMainThread: true })
      expect(worker.child.exitCode).toBeNull()
    })
  })
})

describe('a run', () => {
  it('whose time is up while its thread starts never begins', async () => {
    const open = file('open')
    cli.module(
      'slow-first.mjs',
      `import { existsSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
while (!isMainThread && !existsSync(${JSON.stringify(open)})) await new Promise(resolve => setTimeout(resolve, 10))
`,
    )
    await startWorker(shared, { NODE_OPTIONS: '--import ./slow-first.mjs', PSHUB_MAX_BLOCKED_MS: '0' })
    await withHub(async hub => {
      const [never, begun] = [file('never'), file('begun')]
      const call = failure(hub.call('single:1.0', { begun: never, until: open }, { timeoutMs: 500 }))
      expect(await call).toMatchObject({ code: 'Timeout' })
      // It takes the place in the pool that the first one has left.
      const next = hub.call('single:1.0', { begun, until: open })
      expect(await hub.call('echo:1.0')).toBeDefined()
      writeFileSync(open, '')
      expect(await next).toMatchObject({ threadId: expect.any(Number) })
      expect(existsSync(never)).toBe(false)
    })
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
