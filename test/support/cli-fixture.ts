import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { eventually } from './hub-fixture.ts'

export const root = resolve(import.meta.dirname, '../..')
const main = join(root, 'dist/cli/main.js')

const taskModule = () => `
import { defineTask, TaskError } from ${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}
const numbers = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a'],
  additionalProperties: false }
export const add = defineTask('add:1.0', { description: '# Adds two numbers\\nMore of it.', args: numbers,
  result: { type: 'number' }, idempotent: true }, ({ a, b = 0 }) => a + b)
export const plus = add
export default defineTask('echo:1.2', {}, value => value)
export const more = [
  defineTask('fail:1.0', {}, () => { throw new TaskError('no\\u001b[31mluck', { data: { why: 'chance' } }) }),
  defineTask('wrong:1.0', { result: { type: 'string' } }, () => 5),
]
export const rest = {
  slow: defineTask('slow:1.0', { timeoutMs: 60_000 }, async ({ ms }, context) => {
    context.log.warn('slow begins')
    await new Promise(resolve => setTimeout(resolve, ms))
    return { slept: ms }
  }),
  stray: defineTask('stray:1.0', {}, () => { Promise.reject(new Error('astray')); return 'done' }),
  crash: defineTask('crash:1.0', {}, () => { setTimeout(() => { throw new Error('crashed') }, 1); return 'done' }),
}
`

interface Ended {
  code: number | null
  out: string
  err: string
}

export interface Running {
  child: ChildProcessWithoutNullStreams
  ended: Promise<Ended>
  /** Resolves when stdout or stderr has shown it. */
  shows(text: string): Promise<void>
  signal(name: NodeJS.Signals): void
}

/** `pshub` in processes of its own, in a folder with tasks.mjs, on a redis-server and in a namespace of the test's own. */
export interface Cli {
  readonly url: string
  readonly redis: Redis
  readonly namespace: string
  readonly folder: string
  /** `program`: another one than pshub. */
  start(args: string[], env?: Record<string, string>, program?: string): Running
  /** Runs a command to its end. */
  run(args: string[], options?: { input?: string; env?: Record<string, string> }): Promise<Ended>
  /** `pshub worker ./tasks.mjs`, once it has started. */
  startWorker(...args: string[]): Promise<Running>
  /** Writes a module into the folder; returns its name for the command line. */
  module(name: string, text: string): string
}

/** For tests of what is built, where nobody has built it yet. */
export const ensureBuild = (): void => {
  if (!existsSync(join(root, 'dist/.built'))) execFileSync(process.execPath, ['tools/build.mjs'], { cwd: root })
}

export const useCli = (): Cli => {
  let server: Awaited<ReturnType<typeof startServer>>
  let redis: Redis
  let folder: string
  let count = 0
  const children = new Set<ChildProcessWithoutNullStreams>()

  beforeAll(async () => {
    ensureBuild()
    server = await startServer()
    redis = new Redis(server.url)
    folder = mkdtempSync(join(tmpdir(), 'pshub-cli-'))
    writeFileSync(join(folder, 'tasks.mjs'), taskModule())
  }, 120_000)

  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL')
    await eventually(() => children.size === 0)
    count++
  })

  afterAll(async () => {
    redis.disconnect()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const cli: Cli = {
    get url() {
      return server.url
    },
    get redis() {
      return redis
    },
    get namespace() {
      return `cli${count}`
    },
    get folder() {
      return folder
    },
    start(args, env = {}, program = main) {
      const child = spawn(process.execPath, [program, ...args], {
        cwd: folder,
        env: { PATH: process.env.PATH, PSHUB_REDIS: server.url, PSHUB_NAMESPACE: cli.namespace, ...env },
      })
      children.add(child)
      return watch(child, () => children.delete(child))
    },
    run(args, { input = '', env = {} } = {}) {
      const { child, ended } = cli.start(args, env)
      child.stdin.end(input)
      return ended
    },
    async startWorker(...args) {
      const worker = cli.start(['worker', './tasks.mjs', ...args])
      await worker.shows('worker started')
      return worker
    },
    module(name, text) {
      writeFileSync(join(folder, name), text)
      return `./${name}`
    },
  }
  return cli
}

const watch = (child: ChildProcessWithoutNullStreams, onClose: () => void): Running => {
  let out = ''
  let err = ''
  child.stdout.on('data', chunk => (out += chunk))
  child.stderr.on('data', chunk => (err += chunk))
  child.stdout.on('error', () => undefined)
  child.stdin.on('error', () => undefined)
  const ended = new Promise<Ended>(done => {
    child.once('close', code => {
      onClose()
      done({ code, out, err })
    })
  })
  return {
    child,
    ended,
    shows: async text => {
      await eventually(() => `${out}${err}`.includes(text) || (child.exitCode !== null && `${out}${err}`), 10_000)
      expect(out + err).toContain(text)
    },
    signal: name => void child.kill(name),
  }
}
