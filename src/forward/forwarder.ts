import type { Events } from '../figures/events.ts'
import type { WorkerLook } from '../figures/worker-look.ts'
import { readSettings, type Settings } from '../settings/read.ts'
import { anyTask } from '../task/any-task.ts'
import type { TaskBackoff, TaskContext } from '../task/task.ts'
import { within } from '../wire/clock.ts'
import { ConfigError, messageOf, shown, TaskError } from '../wire/errors.ts'
import { forwardQueue, isForwarderName } from '../wire/keys.ts'
import type { Request } from '../wire/message.ts'
import { Worker } from '../worker/worker.ts'
import { Batcher } from './batcher.ts'
import { checkForwardTarget, type ForwardTarget, isCountTo } from './target.ts'

/** Options of a forwarder besides the settings of a worker. */
export interface ForwarderOptions extends Partial<Omit<Settings, 'name' | 'queue' | 'jobSlots'>> {
  /** The name that jobs pass as `forward`: 1 to 56 letters, digits, and _ . - */
  name: string
  /** The target of its jobs. */
  target: ForwardTarget
  /** Jobs in flight at once, 1 to 256. Default 32. */
  slots?: number
  /** Maximum number of jobs per batch. Default: that of the target, else the number of slots. */
  batch?: number | undefined
  /** How long the first job of a batch waits for others. Default 10. */
  waitMs?: number | undefined
  /** How long the target may take to confirm a batch. Default 30 seconds. */
  timeoutMs?: number | undefined
  /** How often a job that was not taken is retried, unless it sets its own number. Default 25. */
  retries?: number | undefined
  /** Wait before a retry, unless the job sets its own. Default `exponential`. */
  backoff?: TaskBackoff | undefined
}

/** Its options that are no settings. */
const others: readonly string[] = [
  'target',
  'batch',
  'waitMs',
  'timeoutMs',
  'retries',
  'backoff',
] satisfies (keyof ForwarderOptions)[]

/** What a forwarder has where nobody says. */
export const forwarderDefaults = { slots: 32 }
const defaultWaitMs = 10
const defaultTimeoutMs = 30_000
const maxWaitMs = 60_000
const maxTimeoutMs = 3600_000
/** A run is given up this long after its batch should have been. */
const spareMs = 10_000
/** A target that does not come to its end is not waited for. */
const closeMs = 2000

/**
 * Delivers jobs to a target: those that were enqueued with `forward: <name>`, in batches, each at least once. A
 * forwarder is a worker of its own queue, so everything about jobs applies: a job is done when the target has confirmed
 * it, is retried otherwise, and is dead when its retries are used up.
 */
export class Forwarder {
  readonly #worker: Worker
  readonly #target: ForwardTarget
  readonly #batcher: Batcher
  #stopped: Promise<void> | undefined

  /** @throws ConfigError */
  constructor(options: ForwarderOptions) {
    const settings = readSettings('worker', { options, others, env: process.env, defaults: forwarderDefaults })
    const { name, target, batch, waitMs = defaultWaitMs, timeoutMs = defaultTimeoutMs, retries, backoff } = options
    if (!isForwarderName(name))
      throw new ConfigError(`'name' must be 1 to 56 letters, digits, and _ . -; it is ${shown(name)}.`)
    for (const given of ['queue', 'jobSlots'])
      if (given in options)
        throw new ConfigError(`A forwarder has no option '${given}': its name determines its queue.`)
    checkForwardTarget(target)
    checkNumber('batch', batch ?? 1, 1, 1000)
    checkNumber('waitMs', waitMs, 0, maxWaitMs)
    checkNumber('timeoutMs', timeoutMs, 1, maxTimeoutMs)
    const { slots } = settings
    const most = Math.min(batch ?? slots, target.batch ?? slots)
    this.#target = target
    this.#batcher = new Batcher({ target, batch: most, waitMs, timeoutMs, slots })
    const jobTimeoutMs = waitMs + timeoutMs + spareMs
    const how = {
      jobTimeoutMs,
      ...(retries === undefined ? {} : { retries }),
      ...(backoff === undefined ? {} : { backoff }),
    }
    const task = anyTask(how, (request, ctx) => this.#forward(request, ctx))
    // Calls are nobody's affair here, and get no slot of their own.
    this.#worker = new Worker({
      ...settings,
      queue: forwardQueue(name),
      jobSlots: slots,
      tasks: [task],
    })
  }

  get events(): Events {
    return this.#worker.events
  }

  /** A lost lease changes it. */
  get id(): string {
    return this.#worker.id
  }

  /** Number of jobs in flight. */
  get busy(): number {
    return this.#worker.busy
  }

  /** What it is doing: its jobs, and how long each has taken. */
  look(): WorkerLook[] {
    return this.#worker.look()
  }

  /** Starts forwarding, like start() of a worker. */
  start(): Promise<void> {
    return this.#worker.start()
  }

  /**
   * Stops taking jobs, waits up to `graceMs` (default: the setting, 10 s) for jobs in flight to be confirmed, returns
   * the rest to the queue, and closes the target.
   *
   * @throws ConfigError for an unknown option
   */
  async stop(options: { graceMs?: number } = {}): Promise<void> {
    await this.#worker.stop(options)
    this.#stopped ??= this.#close()
    await this.#stopped
  }

  async #close(): Promise<void> {
    await this.#batcher.idle()
    const problem = (reason: string) => void this.events.emit('problem', { where: 'target', reason })
    const closed = (async () => this.#target.close?.())().catch(error => problem(messageOf(error)))
    await within(closed, closeMs)
  }

  async #forward(request: Request, { id, attempt, isJob, signal }: TaskContext): Promise<void> {
    const { task, args, from, traceparent, tracestate, job } = request
    if (!isJob)
      throw new TaskError(`A forwarder takes jobs: enqueue ${task} instead of calling it.`, { retryable: false })
    await this.#batcher.add({ id, task, args, key: job?.key, from, attempt, traceparent, tracestate }, signal)
  }
}

const checkNumber = (name: string, value: unknown, least: number, most: number): void => {
  if (value === least || isCountTo(value, most)) return
  throw new ConfigError(`'${name}' must be a whole number from ${least} to ${most}; it is ${shown(value)}.`)
}
