import { Worker as Thread } from 'node:worker_threads'
import { type Pulse, places } from '../../figures/pulse.ts'
import type { BlockedLines } from '../../outlets/log.ts'
import { shownForMs } from '../../queue/inspect.ts'
import type { Queue } from '../../queue/queue.ts'
import { clientArguments } from '../../redis/target.ts'
import type { Settings } from '../../settings/read.ts'
import { keepaliveProgram } from '../keepalive-program.ts'

/** The heap of the thread; it needs a few MB even with a client of Redis loaded. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }

export interface KeepaliveOptions {
  settings: Readonly<Settings>
  pulse: Pulse
  /** Log lines for when the main thread cannot write any. */
  blockedLines: BlockedLines
  onProblem(error: Error): void
}

/** An identity that the thread may renew: one for each queue of the worker. */
interface Identity {
  readonly worker: string
  readonly queue: string
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
    if (this.#identities.get(queue.name)?.worker === worker) return
    const identity: Identity = {
      worker,
      queue: queue.name,
      renewal: queue.beatWords(worker, leaseMs),
      slots: this.#options.settings.slots,
      shown: { key: queue.keys.shown('<ticket>'), forMs: shownForMs },
    }
    this.#identities.set(queue.name, identity)
    this.#thread?.postMessage(identity)
  }

  #open(): Thread {
    const { pulse, settings, blockedLines: lines, onProblem } = this.#options
    const { leaseMs, maxBlockedMs } = settings
    const { memory, tasks } = pulse
    const [clientOf, identities] = [this.#clientOf(), [...this.#identities.values()]]
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
  #clientOf(): unknown {
    const { settings, onProblem } = this.#options
    try {
      return structuredClone(clientArguments(settings.redis, 'pshub-worker-keepalive'))
    } catch (error) {
      const { message } = error as Error
      const reason = `The Redis options cannot be copied into a thread, so a blocked event loop costs the lease: ${message}`
      onProblem(new Error(reason))
      return undefined
    }
  }
}
