import type { HubOptions } from '../hub/call-options.ts'
import { Hub } from '../hub/hub.ts'
import type { Called, Task } from '../task/task.ts'
import { ConfigError } from '../wire/errors.ts'
import type { WorkerOptions } from '../worker/worker.ts'
import { TestClock } from './clock.ts'
import { type DrainOptions, drain } from './drain.ts'
import { type EnqueuedJob, EnqueuedJobs } from './enqueued.ts'
import { runInline } from './inline.ts'
import { Line } from './redis/connector.ts'
import { MemoryRedis } from './redis/server.ts'
import { Runs } from './runs.ts'
import { TestRedis } from './test-redis.ts'
import { TestWorker } from './worker.ts'

/** What happens with jobs: see InMemoryOptions. */
const jobModes = ['run', 'inline', 'wait'] as const

export interface InMemoryOptions {
  /** Tasks of the worker. Without tasks there is no worker: only call and enqueue. Default none. */
  // biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results go together here
  tasks?: readonly Task<any, any>[]
  /**
   * `run`: the worker runs jobs in the background, as in production. `inline`: enqueue() resolves when the job has run,
   * and rejects with the error of its handler. `wait`: jobs wait until drain(). Default run.
   */
  jobs?: (typeof jobModes)[number]
  /** Further options of the worker, such as its queue. */
  worker?: Omit<Partial<WorkerOptions>, 'redis' | 'tasks'>
  /** Further options of the hub. */
  hub?: Omit<HubOptions, 'redis'>
}

/** A hub and a worker on a Redis in this process, otherwise as in production. */
export interface InMemory {
  readonly hub: Hub
  readonly worker: TestWorker
  /** The Redis: pass `redis.target` as `redis` to further hubs and workers, or make it unreachable. */
  readonly redis: TestRedis
  readonly clock: TestClock
  /** Starts another worker with the same tasks and options, except those passed. close() stops it too. @throws ConfigError, StartFailed */
  startWorker(options?: Omit<Partial<WorkerOptions>, 'redis'>): Promise<TestWorker>
  /** The jobs enqueued so far, of one task or all, the first one first. */
  enqueued(task?: Called): EnqueuedJob[]
  /**
   * Expects a job that was enqueued with these arguments, or with any. Arguments may contain matchers of the test
   * framework. Returns the first match.
   *
   * @throws NotEnqueuedAsExpected
   */
  expectEnqueued(task: Called, args?: unknown): EnqueuedJob
  /** Runs all due jobs, and the jobs that they enqueue, until none is left. Returns how many handlers ran. Scheduled jobs stay. */
  drain(options?: DrainOptions): Promise<number>
  /** Closes everything. `await using` does it automatically. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Creates a hub and a worker that need no Redis: no socket, no server, no waiting.
 *
 * @throws ConfigError for invalid options, and when the package wasmoon-lua5.1 is not installed
 */
export const inMemory = async ({ tasks = [], jobs = 'run', worker, hub }: InMemoryOptions = {}): Promise<InMemory> => {
  if (!jobModes.includes(jobs))
    throw new ConfigError(`inMemory: 'jobs' must be one of ${jobModes.join(', ')}, not ${jobs}.`)
  const redis = await MemoryRedis.open()
  const record = new EnqueuedJobs(redis)
  const runs = new Runs()
  const clock = new TestClock(redis, runs)
  const common = { slots: 16, ...worker, tasks }
  const workers: TestWorker[] = []
  const startWorker = async (options: Omit<Partial<WorkerOptions>, 'redis'> = {}) => {
    const given = { ...common, ...options }
    const jobSlots = jobs === 'wait' ? 0 : (given.jobSlots ?? given.slots)
    const started = new TestWorker(redis, runs, { ...given, jobSlots })
    workers.push(started)
    if (given.tasks.length > 0) await started.start()
    return started
  }
  const line = new Line(redis)
  const calling = new Hub({ logLevel: 'silent', ...hub, redis: line.target })
  const testRedis = new TestRedis(redis, clock, new Line(redis).target, () => [line, ...workers])
  const close = async () => {
    testRedis.comeBackNow()
    await calling.close()
    await Promise.all(workers.map(each => each.stop({ graceMs: 0 })))
    await Promise.all(workers.map(each => each.buried()))
    clock.close()
    redis.close()
  }
  const serving = await startWorker().catch(async error => {
    await close()
    throw error
  })
  if (jobs === 'inline') runInline(calling, { clock, runs, record, serving })
  const drainer = jobs === 'wait' ? () => new TestWorker(redis, runs, { jobSlots: common.slots, ...common }) : undefined
  return {
    hub: calling,
    worker: serving,
    redis: testRedis,
    clock,
    startWorker,
    enqueued: task => record.of(task),
    expectEnqueued: (task, args) => record.expect(task, args),
    drain: options => drain({ redis, clock, runs, drainer }, options),
    close,
    [Symbol.asyncDispose]: close,
  }
}
