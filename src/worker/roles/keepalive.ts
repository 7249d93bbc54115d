import { Worker as Thread } from 'node:worker_threads'
import { places } from '../../figures/pulse.ts'
import { shownForMs } from '../../queue/inspect.ts'
import { clientArguments } from '../../redis/target.ts'
import type { WorkerContext } from '../context.ts'

/** The heap of the thread; it needs a few MB even with a client of Redis loaded. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }

/**
 * A thread that stands in for the beat while a handler blocks the event loop, and tells which task it is. It is told
 * everything beforehand, because nobody can tell it anything then. It never takes a lease, it only renews the one of
 * the identity that beat here last; so whatever it sends too late, after that lease was adopted or given up, does nothing.
 */
export class Keepalive {
  readonly #context: WorkerContext
  #starting: NodeJS.Immediate | undefined
  #thread: Thread | undefined
  /** The identity that the thread may renew. */
  #id: string | undefined

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /** Starts the thread, after what is to be done in this tick. */
  start(): void {
    const { settings, problem } = this.#context
    if (settings.maxBlockedMs === 0) return
    this.#starting = setImmediate(() => {
      try {
        this.#thread = this.#open()
      } catch (error) {
        problem('keepalive')(error as Error)
      }
    })
  }

  /** Resolves when the thread is gone. */
  async stop(): Promise<void> {
    clearImmediate(this.#starting)
    await this.#thread?.terminate()
  }

  /** The main thread renewed the lease itself, or took one under a new identity. */
  onBeat(): void {
    const { pulse, workerId } = this.#context
    pulse.beat()
    if (this.#id === workerId()) return
    this.#id = workerId()
    this.#thread?.postMessage(this.#identity())
  }

  #open(): Thread {
    const { pulse, settings, blockedLines: lines, problem } = this.#context
    const { leaseMs, maxBlockedMs } = settings
    const { memory, tasks } = pulse
    const [clientOf, identity] = [this.#clientOf(), this.#identity()]
    const thread = new Thread(new URL('./keepalive-thread.mjs', import.meta.url), {
      workerData: { memory, places, tasks, clientOf, leaseMs, maxBlockedMs, lines, identity },
      // Loaders and hooks of the application have nothing to do there.
      execArgv: [],
      resourceLimits,
    })
    thread.unref()
    thread.on('error', problem('keepalive'))
    thread.on('message', (reason: string) => problem('keepalive')(new Error(reason)))
    return thread
  }

  /** Undefined when a function or an object with a native half among the options cannot be copied. */
  #clientOf(): unknown {
    const { settings, problem } = this.#context
    try {
      return structuredClone(clientArguments(settings.redis, 'pshub-worker-keepalive'))
    } catch (error) {
      const { message } = error as Error
      const reason = `The Redis options cannot be copied into a thread, so a blocked event loop costs the lease: ${message}`
      problem('keepalive')(new Error(reason))
      return undefined
    }
  }

  /** What the thread needs to renew the lease, and to name its worker. */
  #identity(): unknown {
    if (this.#id === undefined) return undefined
    const { queue, settings } = this.#context
    const renewal = queue.beatWords(this.#id, settings.leaseMs)
    const shown = { key: queue.keys.shown('<ticket>'), forMs: shownForMs }
    return { worker: this.#id, queue: queue.name, pid: process.pid, slots: settings.slots, renewal, shown }
  }
}
