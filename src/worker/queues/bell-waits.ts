import { bellKey, clientIdOf, endWait, type Rung, waitForBells } from '../../queue/bells.ts'
import type { Connection, Redis } from '../../redis/connection.ts'
import type { QueueKeys } from '../../wire/keys.ts'

/** How a wait for one queue's bells ended; with neither, none of them rang in time. */
export interface Heard {
  /** Counted as they were given. */
  queue: number
  bell?: Rung['bell']
  error?: Error
}

interface Wait {
  /** One of the bells that it listens to, and how Redis calls its connection. */
  key: string
  clientId: Promise<number | undefined>
}

/** A worker's waits for bells, and what ends them early. One set is under way at a time. */
export class BellWaits {
  readonly #commands: Connection
  readonly #waiting: Connection
  readonly #waits = new Set<Wait>()
  /** It listens for calls alone, though jobs are taken here. */
  isDeaf = false

  /** `waiting`: the connection that may block; `commands`: the one over which a wait is ended. */
  constructor(commands: Connection, waiting: Connection) {
    this.#commands = commands
    this.#waiting = waiting
  }

  get isUnderWay(): boolean {
    return this.#waits.size > 0
  }

  /** One wait for a queue's bells and what `act` sends with it. `isEnded`: it will be, so its connection's name is asked anew. */
  wait<T>(keys: QueueKeys, isEnded: boolean, act: (client: Redis) => Promise<T>): Promise<T> {
    const key = bellKey(keys)
    const wait: Wait = { key, clientId: Promise.resolve(undefined) }
    this.#waits.add(wait)
    return this.#waiting
      .at(key)
      .send(client => {
        // Asked ahead of the wait: the answer tells that the wait, behind it, has arrived.
        wait.clientId = clientIdOf(client, key, isEnded)
        return act(client)
      })
      .finally(() => this.#waits.delete(wait))
  }

  /**
   * Waits until a bell of several queues rings. On one server that is one wait; on a Cluster, where nobody can wait for keys of
   * different slots at once, one for each queue, and the others are ended when the first one is: so claims go on one by one.
   */
  async listen(queues: readonly { keys: QueueKeys; wantsJobs: boolean }[]): Promise<Heard[]> {
    if (!this.#waiting.isCluster) {
      const rung = await this.wait(queues[0]!.keys, true, client => waitForBells(client, queues))
      return rung ? [rung] : []
    }
    const heard = queues.map((each, queue) =>
      this.wait(each.keys, true, client => waitForBells(client, [each])).then(
        (rung): Heard => (rung ? { queue, bell: rung.bell } : { queue }),
        (error): Heard => ({ queue, error }),
      ),
    )
    await Promise.race(heard)
    this.end()
    return Promise.all(heard)
  }

  /** Ends what waits; refused or lost, that ends by itself within seconds. */
  end(): void {
    this.isDeaf = false
    for (const wait of this.#waits) {
      void wait.clientId.then(clientId => {
        if (clientId === undefined || !this.#waits.has(wait)) return
        this.#commands.send(client => endWait(client, wait.key, clientId)).catch(() => undefined)
      })
    }
  }
}
