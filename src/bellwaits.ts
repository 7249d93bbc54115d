import { command } from './client.ts'
import { blockSeconds } from './connections.ts'
import type { QueueKeys } from './keys.ts'
import type { Redis } from './redis.ts'

/** Waits for the bells of one queue, and what ends them. */
export class BellWaits {
  readonly #keys: QueueKeys
  readonly #clientIds = new WeakMap<Redis, Promise<number | undefined>>()

  constructor(keys: QueueKeys) {
    this.#keys = keys
  }

  /** Waits for the calls' bell, or for that of the jobs too. */
  async wait(client: Redis, withJobs: boolean): Promise<void> {
    const { bell, jobBell } = this.#keys
    await command(client, 'blpop', ...(withJobs ? [bell, jobBell] : [bell]), blockSeconds)
  }

  /**
   * How Redis calls a connection, for end(); undefined where it may not be asked. Asked once per connection, or `anew` ahead of the
   * wait that is sent next: so it is answered when that has arrived.
   */
  clientId(client: Redis, anew: boolean): Promise<number | undefined> {
    let id = this.#clientIds.get(client)
    if (!id || anew) {
      id = command(client, 'client', 'id').then(Number, () => undefined)
      this.#clientIds.set(client, id)
    }
    return id
  }

  /** Ends a wait early; does nothing when it is over. */
  async end(client: Redis, clientId: number): Promise<void> {
    await command(client, 'client', 'unblock', clientId)
  }
}
