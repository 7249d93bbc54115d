import { workerData } from 'node:worker_threads'
import type { Task } from '../../task/task.ts'
import { ConfigError } from '../../wire/errors.ts'
import { ThreadPool, threadMark, whyNoThreads } from './thread-pool.ts'

/** The threads of one worker: a pool for each task that asked for some. */
export class Threads {
  readonly #pools = new Map<string, ThreadPool>()
  readonly #onProblem: (reason: string) => void

  /** @throws ConfigError in such a thread */
  constructor(onProblem: (reason: string) => void) {
    if (workerData?.[threadMark] === true)
      throw new ConfigError(
        'A thread that runs a task imports the module of that task, and this module starts a worker: ' +
          'put the tasks into a module of their own.',
      )
    this.#onProblem = onProblem
  }

  /** The names of the tasks that run in threads. */
  get tasks(): ReadonlySet<string> {
    return new Set(this.#pools.keys())
  }

  /**
   * The same tasks; those with threads have a handler that runs theirs in one of these.
   *
   * @throws ConfigError where no module is known, or there are more threads than slots
   */
  withHandlersIn(tasks: ReadonlyMap<string, Task>, slots: number): ReadonlyMap<string, Task> {
    return new Map(
      [...tasks].map(([name, task]) => [name, task.threads === undefined ? task : this.#inThreads(task, slots)]),
    )
  }

  /** Resolves when all threads are gone. */
  async stop(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(pool => pool.stop()))
  }

  #inThreads(task: Task, slots: number): Task {
    const { full } = task.name
    if (task.module === undefined)
      throw new ConfigError(
        `${full} has threads, which import it from its module: set 'module: import.meta.url' and export the task.`,
      )
    if (task.threads! > slots)
      throw new ConfigError(
        `${full} has ${task.threads} threads, but this worker has ${slots} slots, and each run takes one: ` +
          `give it ${task.threads} slots at least, or the task fewer threads.`,
      )
    const reason = whyNoThreads()
    if (reason !== undefined)
      throw new ConfigError(
        `${full} has threads, which need an installed pshub, and ${reason}: keep pshub out of the bundle ` +
          `(esbuild --external:pshub, 'externals' of webpack) and install it beside that.`,
      )
    const pool = new ThreadPool(task, this.#onProblem)
    this.#pools.set(full, pool)
    return Object.freeze({ ...task, handler: pool.run })
  }
}
