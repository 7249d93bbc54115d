import { execFile, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { ensureBuild, root } from './cli-fixture.ts'

/** An application: no top-level await, which bundles of CommonJS do not have. */
const sources = {
  'worker.mjs': `import { defineTask, Worker } from 'pshub'
const args = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
const tasks = [
  defineTask('twice:1.0', { args }, ({ a }) => a * 2),
  defineTask('block:1.0', {}, () => { for (const end = Date.now() + 4000; Date.now() < end; ); return 'unblocked' }),
]
const worker = new Worker({ tasks, queue: 'bundled' })
worker.start().then(() => console.log('ready'))
process.once('SIGTERM', () => worker.stop())`,
  'caller.mjs': `import { Hub, version } from 'pshub'
const hub = new Hub()
hub.call('twice:1.0', { a: 21 })
  .then(answer => hub.call('block:1.0', {}, { timeoutMs: 20_000 }).then(blocked => console.log(JSON.stringify({ answer, blocked, version }))))
  .catch(error => { console.error(error); process.exitCode = 1 })
  .finally(() => hub.close())`,
  'threads.mjs': `import { defineTask, Worker } from 'pshub'
const far = defineTask('far:1.0', { threads: 1, module: 'file:///none.mjs' }, () => 1)
try { new Worker({ tasks: [far], queue: 'bundled', logLevel: 'silent' }).start().catch(told) } catch (error) { told(error) }
function told({ name, message }) { console.log(name + ': ' + message); process.exit() }`,
}

/** A machine may be busy. */
const waiting = { timeout: 60_000 }

export interface Bundles {
  /** Where the sources are: worker.mjs, caller.mjs, threads.mjs, with packages beside them. */
  readonly sources: string
  /** An empty folder that has no packages beside or above it. */
  target(): string
  /** Runs a file there to its end; returns what it printed. */
  run(file: string): Promise<string>
  /** A call from the bundle of the caller to that of the worker, also while a handler blocks, with metrics: all that is read or loaded late. */
  serveAndCall(worker: string, caller: string): Promise<void>
}

export const useBundles = (): Bundles => {
  let server: Awaited<ReturnType<typeof startServer>>
  let folder: string
  let count = 0
  const ends: (() => Promise<unknown>)[] = []
  const environment = (more: Record<string, string> = {}) => ({
    env: { PATH: process.env.PATH!, PSHUB_REDIS: server.url, ...more },
  })

  beforeAll(async () => {
    ensureBuild()
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'pshub-bundles-')))
    mkdirSync(join(folder, 'sources/node_modules'), { recursive: true })
    symlinkSync(root, join(folder, 'sources/node_modules/pshub'))
    for (const [name, text] of Object.entries(sources)) writeFileSync(join(folder, 'sources', name), text)
    server = await startServer()
  }, 120_000)
  afterAll(async () => {
    await Promise.all(ends.map(end => end()))
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  return {
    get sources() {
      return join(folder, 'sources')
    },
    target() {
      const path = join(folder, String(++count))
      mkdirSync(path)
      return path
    },
    run: async file => (await promisify(execFile)(process.execPath, [file], { ...environment(), cwd: folder })).stdout,
    serveAndCall: async (worker, caller) => {
      const daemon = createSocket('udp4')
      const metrics: string[] = []
      daemon.on('message', data => metrics.push(String(data)))
      daemon.bind(0, '127.0.0.1')
      await once(daemon, 'listening')
      const options = environment({ PSHUB_STATSD: `127.0.0.1:${daemon.address().port}` })
      const child = spawn(process.execPath, [worker], { ...options, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
      const ended = once(child, 'exit')
      ends.push(async () => child.kill('SIGKILL') && (await ended))
      let said = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (said += data))
      await expect.poll(() => said, waiting).toContain('ready')
      const { stdout } = await promisify(execFile)(process.execPath, [caller], { ...options, cwd: folder })
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      expect(JSON.parse(stdout)).toEqual({ answer: 42, blocked: 'unblocked', version })
      // Written by the thread that keeps the lease meanwhile.
      await expect.poll(() => said, waiting).toContain('event loop is blocked')
      await expect.poll(() => metrics.join('\n'), waiting).toMatch(/^pshub\.call\.ok:1\|c.*twice/m)
      child.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
      daemon.close()
    },
  }
}
