import type { WorkerStats } from '../cards.ts'
import type { Queue } from '../queue.ts'
import type { Connection } from '../redis.ts'
import type { Registrar } from '../registrar.ts'
import { heldIdOf } from '../taken.ts'

export interface FarewellOptions {
  queue: Queue
  connection: Connection
  registrar: Registrar
  workerId(): string
  /** As of the last beat, and draining. */
  stats(): WorkerStats
  knows(id: string): boolean
  /** Requests that were started and are not settled. */
  unfinished(): string[]
  onProblem(error: Error): void
}

/**
 * The last steps of a worker that leaves on purpose: what it holds goes back at once instead of when its lease ends.
 * While Redis is away nothing can be handed back; then the lease ends by itself and others adopt what is held.
 */
export class Farewell {
  readonly #options: FarewellOptions

  constructor(options: FarewellOptions) {
    this.#options = options
  }

  /**
   * Tells the registry that this worker takes nothing any more. Before all else, and not with the next beat: a caller
   * that counts on it waits for nothing until its deadline.
   */
  async announce(): Promise<void> {
    const { connection, registrar, workerId, stats } = this.#options
    const last = stats()
    // Without a beat nobody knows of this worker yet; its first one says so itself.
    if (last.seen === 0) return
    await this.#tried(async () => {
      await connection.send(client => registrar.publishStats(client, workerId(), last))
      return 0
    })
  }

  /** The answer of the last claim may have been cut off; what it took goes back to others. Returns how many. */
  handBackUnknown(): Promise<number> {
    const { queue, connection, workerId, knows } = this.#options
    return this.#tried(async () => {
      const [held, texts] = await connection.send(client =>
        Promise.all([queue.heldIds(client, workerId()), queue.taken.texts(client, workerId())]),
      )
      const taken = texts.map((text, place) => ({ id: heldIdOf(text, 0, place), taken: text }))
      const unknown = [...held.map(id => ({ id })), ...taken].filter(({ id }) => !knows(id) && !id.startsWith('lost:'))
      if (unknown.length === 0) return 0
      return connection.send(client => queue.handback(client, workerId(), 'head', unknown))
    })
  }

  /** Gives up the lease with all that is still held, and takes the worker out of the registry. */
  leave(): Promise<number> {
    const { queue, connection, registrar, workerId, unfinished } = this.#options
    return this.#tried(async () => {
      const handedBack = await connection.send(client => queue.leave(client, workerId(), unfinished()))
      await connection.send(client => registrar.remove(client, [workerId()]))
      return handedBack
    })
  }

  async #tried(step: () => Promise<number>): Promise<number> {
    if (!this.#options.connection.isReady) return 0
    try {
      return await step()
    } catch (error) {
      this.#options.onProblem(error as Error)
      return 0
    }
  }
}
