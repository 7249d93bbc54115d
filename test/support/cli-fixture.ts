import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { runCommand } from '../../src/cli/run-command.ts'
import { defineTask, type Task, TaskError, Worker, type WorkerOptions } from '../../src/index.ts'
import { tasksIn } from '../../src/task/exported.ts'
import { makeTasks } from './cli-tasks.mjs'
import { eventually } from './hub-fixture.ts'
import { type Server, sharedServer } from './shared-server.ts'

export const root = resolve(import.meta.dirname, '../..')
const urlOf = (path: string) => JSON.stringify(pathToFileURL(join(root, path)).href)

/** The program as users have it, for a process of its own. */
export const main = join(root, 'dist/cli/main.js')

/** The first line of a module with tasks that a worker in a process of its own loads. */
export const importPshub = `import { defineTask, TaskError } from ${urlOf('dist/index.js')}\n`

const taskModule = `${importPshub}import { makeTasks } from ${urlOf('test/support/cli-tasks.mjs')}
const made = makeTasks({ defineTask, TaskError })
export const { add, plus, more, rest } = made
export default made.echo
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

/**
 * `pshub` in a folder with tasks.mjs, in a namespace of the test's own. Commands run in the process of the test, from the source: that takes
 * milliseconds, where a process takes half a second of CPU. What is about signals, pipes, terminals, or faults that nothing catches needs a process
 * of its own, which runs what is built; cli-program.test.ts runs the main commands in that way.
 */
export interface Cli {
  readonly url: string
  readonly redis: Redis
  readonly namespace: string
  readonly folder: string
  /** Runs a command to its end in this process; `worker`, `dev` and `mcp`, which keep a process to themselves, in one of its own. */
  run(args: string[], options?: { input?: string; env?: Record<string, string> }): Promise<Ended>
  /** A worker in this process, which is gone at the end of the test; of the tasks of tasks.mjs unless others are given. */
  // biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results
  worker(options?: Partial<WorkerOptions>, tasks?: Task<any, any>[]): Promise<Worker>
  /** Starts the program in a process of its own. `program`: another one than pshub. */
  start(args: string[], env?: Record<string, string>, program?: string): Running
  /** `pshub worker ./tasks.mjs` in a process of its own, once it has started. */
  startWorker(...args: string[]): Promise<Running>
  /** Writes a module into the folder; returns its name for the command line. */
  module(name: string, text: string): string
}

/** For tests of what is built, where nobody has built it yet. */
export const ensureBuild = (): void => {
  if (!existsSync(join(root, 'dist/.built'))) execFileSync(process.execPath, ['tools/build.mjs'], { cwd: root })
}

/** Each once: one has two names. */
const ownTasks = () => [...new Set(tasksIn(makeTasks({ defineTask, TaskError })))]

let namespaces = 0
const inProcessesOfTheirOwn = ['worker', 'dev', 'mcp']

export const useCli = (): Cli => {
  let server: Server
  let redis: Redis
  let folder: string
  let namespace: string
  const children = new Set<ChildProcessWithoutNullStreams>()
  let workers: Worker[] = []
  const nextNamespace = () => {
    namespace = `cli-${process.pid}-${++namespaces}`
  }
  nextNamespace()

  beforeAll(async () => {
    ensureBuild()
    server = await sharedServer()
    redis = new Redis(server.url)
    folder = mkdtempSync(join(tmpdir(), 'pshub-cli-'))
    writeFileSync(join(folder, 'tasks.mjs'), taskModule)
  }, 120_000)

  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(workers.map(worker => worker.stop({ graceMs: 0 })))
    workers = []
    await eventually(() => children.size === 0, 60_000)
    nextNamespace()
  })

  afterAll(() => {
    redis.disconnect()
    rmSync(folder, { recursive: true, force: true })
  })

  const envOf = (env: Record<string, string>) => ({
    PATH: process.env.PATH!,
    PSHUB_REDIS: server.url,
    PSHUB_NAMESPACE: namespace,
    ...env,
  })

  const cli: Cli = {
    get url() {
      return server.url
    },
    get redis() {
      return redis
    },
    get namespace() {
      return namespace
    },
    get folder() {
      return folder
    },
    start(args, env = {}, program = main) {
      const child = spawn(process.execPath, [program, ...args], { cwd: folder, env: envOf(env) })
      children.add(child)
      return watch(child, () => children.delete(child))
    },
    async run(args, { input = '', env = {} } = {}) {
      if (inProcessesOfTheirOwn.includes(args[0]!)) {
        const { child, ended } = cli.start(args, env)
        child.stdin.end(input)
        return ended
      }
      const [stdout, stderr] = [new Collected(), new Collected()]
      const stdin = Readable.from(input === '' ? [] : [input])
      const code = await runCommand(args, { env: envOf(env), cwd: folder, stdin, stdout, stderr })
      return { code, out: stdout.text, err: stderr.text }
    },
    async worker(options = {}, tasks = ownTasks()) {
      const worker = new Worker({ redis: server.url, namespace, logLevel: 'silent', tasks, ...options })
      workers.push(worker)
      await worker.start()
      return worker
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

class Collected extends Writable {
  text = ''

  override _write(chunk: Buffer | string, _: BufferEncoding, done: () => void): void {
    this.text += chunk
    done()
  }
}

const watch = (child: ChildProcessWithoutNullStreams, onClose: () => void): Running => {
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', chunk => (out += chunk))
  child.stderr.setEncoding('utf8').on('data', chunk => (err += chunk))
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
      await eventually(() => `${out}${err}`.includes(text) || (child.exitCode !== null && `${out}${err}`), 60_000)
      expect(out + err).toContain(text)
    },
    signal: name => void child.kill(name),
  }
}
