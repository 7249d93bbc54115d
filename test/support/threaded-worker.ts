import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import type { Task, Worker, WorkerOptions } from '../../src/index.ts'
import { ensureBuild, root } from './cli-fixture.ts'
import { eventually, type Fixture } from './hub-fixture.ts'

/** What a task of test/support/thread-tasks.mjs tells of its thread. */
export interface Told {
  threadId: number
  runs: number
  [key: string]: unknown
}

/** Workers whose tasks run in threads. These load what is built; so do the workers, and the module of the tasks. */
export const useThreads = (it_: Fixture) => {
  let library: typeof import('../../src/index.ts')
  let all: Task[]
  let folder: string
  let files = 0

  beforeAll(async () => {
    ensureBuild()
    library = await import(pathToFileURL(join(root, 'dist/index.js')).href)
    all = (await import(pathToFileURL(join(root, 'test/support/thread-tasks.mjs')).href)).all
    folder = mkdtempSync(join(tmpdir(), 'pshub-threads-'))
  }, 120_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const makeWorker = (options: Partial<WorkerOptions> = {}): Worker => {
    const { url: redis, namespace } = it_
    const made = new library.Worker({
      redis,
      namespace,
      queue: 'q',
      slots: 8,
      logLevel: 'silent',
      tasks: all,
      ...options,
    })
    it_.onEnd(() => made.stop({ graceMs: 0 }))
    return made
  }
  return {
    library: () => library,
    /** The tasks of that module. */
    all: () => all,
    /** The path of a file that is not there yet. */
    file: () => join(folder, String(files++)),
    written: (path: string) => eventually(() => existsSync(path) && readFileSync(path, 'utf8'), 30_000),
    makeWorker,
    startWorker: async (options: Partial<WorkerOptions> = {}): Promise<Worker> => {
      const worker = makeWorker(options)
      await worker.start()
      return worker
    },
  }
}
