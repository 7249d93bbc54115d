import { existsSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Piscina } from 'piscina'
import type { Handler, Task } from '../../task/task.ts'
import { messageOf, TaskError } from '../../wire/errors.ts'
import { latePackage } from '../../wire/late-package.ts'
import { detached } from '../../wire/timers.ts'
import { ThreadRun } from './thread-run.ts'

/** Threads that nothing needs end after this long: each holds some 10 MB and what its module holds. */
const idleTimeoutMs = 30_000

/** Marks the threads' data: code can see there that it is in one. */
export const threadMark = 'pshubTaskThread'

/** The file that threads run, beside this one; undefined in a bundle, which has no files. */
const threadFile = (): string | undefined => {
  const own = import.meta.url as string | undefined
  if (own === undefined) return undefined
  const path = fileURLToPath(own)
  const file = join(dirname(path), `thread${extname(path)}`)
  return existsSync(file) ? file : undefined
}

/** Why no thread can be started here; undefined where they can. */
export const whyNoThreads = (): string | undefined => {
  try {
    latePackage('piscina')
  } catch {
    return 'the package piscina is not installed beside it'
  }
  return threadFile() === undefined ? 'the file that threads run is not here' : undefined
}

/**
 * The threads of one task: started when a run needs one, at most `task.threads`. What waits for one waits here, in order: the
 * pool's own queue would let those that came later pass, and only knows of runs whose threads it could start.
 */
export class ThreadPool {
  readonly #task: Task
  readonly #onProblem: (reason: string) => void
  readonly #waiting: ThreadRun[] = []
  readonly #given = new Set<ThreadRun>()
  #pool: Piscina | undefined
  #isStopped = false
  /** Why a thread ended that ran nothing. */
  #lastDeath = 'it ended before it was ready'

  constructor(task: Task, onProblem: (reason: string) => void) {
    this.#task = task
    this.#onProblem = onProblem
  }

  readonly run: Handler = (args, context) => {
    const run = new ThreadRun(this.#task, args, context)
    this.#waiting.push(run)
    this.#next()
    return run.result
  }

  /** Ends all threads, and what still runs in them. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#pool?.destroy()
  }

  #next(): void {
    while (this.#waiting.length > 0 && this.#given.size < this.#task.threads!)
      void detached(() => this.#give(this.#waiting.shift()!))
  }

  async #give(run: ThreadRun): Promise<void> {
    this.#given.add(run)
    try {
      if (this.#isStopped) run.fail(new TaskError('The worker was stopped.'))
      if (!run.isSettled) await run.in((this.#pool ??= this.#open()))
    } catch (error) {
      run.fail(error)
    }
    this.#given.delete(run)
    this.#next()
  }

  #open(): Piscina {
    const { Piscina } = latePackage('piscina') as typeof import('piscina')
    const pool = new Piscina({
      filename: threadFile()!,
      minThreads: 0,
      maxThreads: this.#task.threads!,
      idleTimeout: idleTimeoutMs,
      // Else a thread's event loop stands still between two runs, and connections of its module with it.
      atomics: 'disabled',
      recordTiming: false,
      workerData: { [threadMark]: true },
    })
    pool.on('message', (reason: string) => this.#onProblem(`${this.#task.name.full}: ${reason}`))
    pool.on('error', (error: unknown) => {
      this.#lastDeath = messageOf(error)
      this.#onProblem(`A thread of ${this.#task.name.full} died while it ran nothing: ${this.#lastDeath}`)
    })
    // When it is clear what else ended with it.
    pool.on('workerDestroy', () => setImmediate(() => this.#failWithout(pool.threads.length)))
    return pool
  }

  /** A thread that dies while it starts takes no run with it, as the pool sees it: that would wait for ever. */
  #failWithout(threads: number): void {
    const unsettled = [...this.#given].filter(run => !run.isSettled)
    const without = unsettled.filter(run => !run.hasBegun).slice(0, Math.max(0, unsettled.length - threads))
    for (const run of without)
      run.fail(new TaskError(`No thread could be started for ${this.#task.name.full}: ${this.#lastDeath}`))
  }
}
