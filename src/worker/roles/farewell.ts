import { isHeldOut } from '../../jobs/held-job.ts'
import { monotonicMs } from '../../wire/clock.ts'
import type { WorkerContext } from '../context.ts'
import { isHeldLost } from '../held.ts'

/**
 * The last steps of a worker that leaves on purpose: what it holds goes back at once instead of when its lease ends.
 * While Redis is away nothing can be handed back; then the lease ends by itself and others adopt what is held.
 */
export class Farewell {
  readonly #context: WorkerContext

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /**
   * Tells the registry that this worker takes nothing any more. Before all else, and not with the next beat: a caller
   * that counts on it waits for nothing until its deadline.
   */
  async announce(): Promise<void> {
    const { commands, registrar, clock, workerId, stats } = this.#context
    const nowMs = Math.floor(clock.atUs(monotonicMs()) / 1000)
    // Without a beat nobody knows of this worker yet; its first one says so itself.
    if (nowMs === 0) return
    await this.#tried(() => commands.send(client => registrar.publishStats(client, workerId(), stats(nowMs))))
  }

  /** The answer of the last claim may have been cut off; what it took goes back to others. Returns how many. */
  handBackUnknown(): Promise<number> {
    const { queue, commands, slots, workerId } = this.#context
    return this.#tried(async () => {
      const held = await this.#held()
      const unknown = held.filter(id => !slots.knows(id) && !isHeldLost(id) && !isHeldOut(id) && !slots.wasReleased(id))
      if (unknown.length === 0) return 0
      return commands.send(client => queue.handback(client, workerId(), 'head', unknown))
    })
  }

  /**
   * Gives up the lease with all that is still held, and takes the worker out of the registry. Returns how much of it went back to the
   * lists. What a failover brought back after its release goes before: it must not return to a list.
   */
  leave(): Promise<number> {
    const { queue, commands, registrar, slots, workerId } = this.#context
    return this.#tried(async () => {
      const ended = (await this.#held()).filter(id => slots.wasReleased(id))
      if (ended.length > 0) await commands.send(client => queue.release(client, workerId(), ended))
      const returned = await commands.send(client => queue.leave(client, workerId(), slots.knownIds()))
      await commands.send(client => registrar.remove(client, [workerId()]))
      return returned
    })
  }

  #held(): Promise<string[]> {
    const { queue, commands, workerId } = this.#context
    return commands.send(client => queue.heldIds(client, workerId()))
  }

  async #tried<T>(step: () => Promise<T>): Promise<T | 0> {
    const { commands, problem } = this.#context
    if (!commands.isReady) return 0
    try {
      return await step()
    } catch (error) {
      problem('stop')(error as Error)
      return 0
    }
  }
}
