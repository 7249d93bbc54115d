import type { Events } from '../figures/events.ts'
import { wallMs } from '../wire/clock.ts'
import { ConfigError } from '../wire/errors.ts'
import { Worker, type WorkerOptions } from '../worker/worker.ts'
import { Line } from './redis/connector.ts'
import type { MemoryRedis } from './redis/server.ts'
import type { Runs } from './runs.ts'

/** Nobody blocks a loop in here, and the clock goes in strides: a lease lasts for these, but for who dies. */
const leaseMs = 600_000
/** What a lease is by default: so long it takes until others see that a worker died. */
const deathMs = 4000

/** A worker in this process that can be killed like a process, and started again. */
export class TestWorker {
  readonly #redis: MemoryRedis
  readonly #runs: Runs
  readonly #options: Omit<WorkerOptions, 'redis'>
  #present: { worker: Worker; line: Line } | undefined
  readonly #dead: Promise<void>[] = []

  constructor(redis: MemoryRedis, runs: Runs, options: Omit<WorkerOptions, 'redis'>) {
    this.#redis = redis
    this.#runs = runs
    this.#options = options
  }

  /** The current worker. @throws ConfigError when none is running */
  get worker(): Worker {
    if (this.#present) return this.#present.worker
    throw new ConfigError('This worker is stopped or killed; start() makes a new one.')
  }

  /** Its events. @throws ConfigError when none is running */
  get events(): Events {
    return this.worker.events
  }

  /** Number of running requests. */
  get busy(): number {
    return this.#present?.worker.busy ?? 0
  }

  /** The queues it serves now. */
  get queues(): string[] {
    return this.#present?.worker.look().map(({ queue }) => queue) ?? []
  }

  get connections(): number {
    return this.#present?.line.connections ?? 0
  }

  /** Starts a new worker, also after die() and stop(). @throws ConfigError, StartFailed */
  async start(): Promise<void> {
    if (this.#present) throw new ConfigError('This worker is already running.')
    const line = new Line(this.#redis)
    const worker = new Worker({ logLevel: 'silent', leaseMs, maxBlockedMs: 0, ...this.#options, redis: line.target })
    worker.use(this.#runs.middleware)
    await worker.start()
    this.#present = { worker, line }
  }

  /** Stops it gracefully: running tasks may finish for `graceMs`, as on SIGTERM. */
  async stop(options: { graceMs?: number } = {}): Promise<void> {
    const { worker } = this.#present ?? {}
    this.#present = undefined
    await worker?.stop(options)
  }

  /**
   * Kills it like a process: its connections and everything in flight are gone, and its lease expires 4 s later on the
   * clock of the test, when another worker takes over its requests. The signals of its handlers are aborted; handlers
   * keep running in this process, but their results reach nobody.
   */
  die(): void {
    const { worker, line } = this.#present ?? {}
    if (!worker || !line) throw new ConfigError('This worker is already stopped or killed.')
    this.#present = undefined
    const ids = worker.look().map(look => look.worker)
    line.cut()
    this.#redis.lapse(Math.floor(wallMs()) + deathMs, ids)
    this.#dead.push(worker.stop({ graceMs: 0 }))
  }

  /** Resolves when nothing of killed workers runs in this process. */
  async buried(): Promise<void> {
    await Promise.all(this.#dead)
  }
}
