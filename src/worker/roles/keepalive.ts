import { Worker as Thread } from 'node:worker_threads'
import { type Pulse, places } from '../../figures/pulse.ts'
import type { BlockedLines } from '../../outlets/log.ts'
import { shownForMs } from '../../queue/inspect.ts'
import type { Queue } from '../../queue/queue.ts'
import {
  type Address,
  asksPassword,
  clientOptions,
  mappedAddress,
  type RedisTarget,
  withPassword,
} from '../../redis/target.ts'
import { addressOf } from '../../redis/topology.ts'
import type { Settings } from '../../settings/read.ts'
import { monotonicMs } from '../../wire/clock.ts'
import { keepaliveProgram } from '../keepalive-program.ts'

/** How often the thread is given the password anew, where that may change. */
const passwordMs = 60_000

/** The heap of the thread; it needs a few MB even with a client of Redis loaded. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }

export interface KeepaliveOptions {
  settings: Readonly<Settings>
  pulse: Pulse
  /** The node of a Cluster in which a key lives; undefined on one server. */
  addressOf(key: string): string | undefined
  /** Log lines for when the main thread cannot write any. */
  blockedLines: BlockedLines
  onProblem(error: Error): void
}

/** An identity that the thread may renew: one for each queue of the worker. */
interface Identity {
  readonly worker: string
  readonly queue: string
  /** Where its lease lives; undefined: at the server that the settings name. */
  readonly address: Address | undefined
  readonly renewal: readonly (string | number)[]
  readonly slots: number
  /** Where it is told what the worker is doing, to who asks; for how long that is kept. */
  readonly shown: { key: string; forMs: number }
}

/**
 * A thread that stands in for the beats while a handler blocks the event loop, and tells which task it is. It is told
 * everything beforehand, because nobody can tell it anything then. It never takes a lease, it only renews those of
 * the identities that beat here last; so whatever it sends too late, after such a lease was adopted or given up, does nothing.
 */
export class Keepalive {
  readonly #options: KeepaliveOptions
  #starting: NodeJS.Immediate | undefined
  #thread: Thread | undefined
  #toldPasswordAt = Number.NEGATIVE_INFINITY
  /** By queue. */
  readonly #identities = new Map<string, Identity>()

  constructor(options: KeepaliveOptions) {
    this.#options = options
  }

  /** Starts the thread, after what is to be done in this tick. */
  start(): void {
    const { settings, onProblem } = this.#options
    if (settings.maxBlockedMs === 0) return
    this.#starting = setImmediate(() => {
      try {
        this.#thread = this.#open()
      } catch (error) {
        onProblem(error as Error)
      }
    })
  }

  /** Resolves when the thread is gone. */
  async stop(): Promise<void> {
    clearImmediate(this.#starting)
    await this.#thread?.terminate()
  }

  /** The main thread renewed the lease of that worker itself, or took one under a new identity. */
  onBeat(worker: string, queue: Queue, leaseMs: number): void {
    this.#options.pulse.beat()
    const known = this.#identities.get(queue.name)
    const node = this.#options.addressOf(queue.keys.leases)
    const address = node === undefined ? undefined : mappedAddress(this.#options.settings.redis, addressOf(node))
    this.#tellPassword()
    if (known?.worker === worker && known.address?.host === address?.host && known.address?.port === address?.port)
      return
    const identity: Identity = {
      worker,
      queue: queue.name,
      address,
      renewal: queue.beatWords(worker, leaseMs),
      slots: this.#options.settings.slots,
      shown: { key: queue.keys.shown('<ticket>'), forMs: shownForMs },
    }
    this.#identities.set(queue.name, identity)
    this.#thread?.postMessage({ identity })
  }

  /** That worker gave up the lease of a queue, and goes on with others. */
  forget(worker: string, queue: string): void {
    if (this.#identities.get(queue)?.worker !== worker) return
    this.#identities.delete(queue)
    this.#thread?.postMessage({ left: queue })
  }

  /** The thread cannot ask for a password that changes: it is given a new one now and then. */
  #tellPassword(): void {
    const { redis } = this.#options.settings
    if (!asksPassword(redis) || monotonicMs() < this.#toldPasswordAt + passwordMs) return
    this.#toldPasswordAt = monotonicMs()
    withPassword(redis).then(
      given => this.#thread?.postMessage({ clientOf: this.#clientOf(given) }),
      // What connects next says why.
      () => undefined,
    )
  }

  #open(): Thread {
    const { pulse, settings, blockedLines: lines, onProblem } = this.#options
    const { leaseMs, maxBlockedMs } = settings
    const { memory, tasks } = pulse
    const { redis } = settings
    // One that has to be asked for comes with the next beat.
    const clientOf = asksPassword(redis) ? undefined : this.#clientOf(redis)
    const identities = [...this.#identities.values()]
    const thread = new Thread(keepaliveProgram, {
      eval: typeof keepaliveProgram === 'string',
      workerData: { memory, places, tasks, clientOf, leaseMs, maxBlockedMs, lines, identities },
      // Loaders and hooks of the application have nothing to do there.
      execArgv: [],
      resourceLimits,
    })
    thread.unref()
    thread.on('error', onProblem)
    thread.on('message', (reason: string) => onProblem(new Error(reason)))
    return thread
  }

  /** Undefined when a function or an object with a native half among the options cannot be copied. */
  #clientOf(redis: RedisTarget): unknown {
    const { onProblem } = this.#options
    try {
      return structuredClone(clientOptions(redis, 'pshub-worker-keepalive'))
    } catch (error) {
      const { message } = error as Error
      const reason = `The Redis options cannot be copied into a thread, so a blocked event loop costs the lease: ${message}`
      onProblem(new Error(reason))
      return undefined
    }
  }
}
