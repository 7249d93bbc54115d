import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
  it('writes what is logged in a thread as the lines of its own', async () => {
    const worker = await startWorker()
    await withHub(async hub => {
      const { id } = (await hub.call('tell:1.0')) as { id: string }
      await worker.shows('"told"')
      worker.signal('SIGTERM')
      const { code, err } = await worker.ended
      expect(code).toBe(0)
      const line = err.split('\n').find(text => text.includes('"told"'))
      const told = JSON.parse(line!)
      expect(told).toMatchObject({
        level: 30,
        msg: 'told',
        task: 'tell:1.0',
        id,
        rows: 3,
        price: { euros: 1 },
        big: '5n',
      })
      expect(line).not.toContain('"run"')
    })
  })

  it('ends with its threads when it is told to stop', async () => {
    const worker = await startWorker()
    await withHub(async hub => {
      const begun = file('begun')
      const call = failure(hub.call('computing:1.0', { begun }))
      await written(begun)
      worker.signal('SIGTERM')
      expect(await worker.ended).toMatchObject({ code: 0 })
      expect(await call).toMatchObject({ code: 'WorkerLost' })
    })
  })
})

describe('a thread', () => {
  it('that runs out of memory costs its run, and not its worker', async () => {
    const worker = await startWorker(shared, { NODE_OPTIONS: '--max-old-space-size=96' })
    await withHub(async hub => {
      const { code, message } = await failure(hub.call('dying:1.0', { how: 'memory' }, { timeoutMs: 15_000 }))
      expect([code, message]).toEqual(['TaskFailed', 'The thread that ran dying:1.0 died: it ran out of memory'])
      expect(await hub.call('tell:1.0')).toMatchObject({ isMainThread: false })
      expect(worker.child.exitCode).toBeNull()
    })
  })
})
