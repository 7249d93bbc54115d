import { command } from './client.ts'
import { blockSeconds } from './connections.ts'
import type { QueueKeys } from './keys.ts'
import type { Redis } from './redis.ts'
import { Preset } from './volley.ts'

/** Waits for the bells of one queue, and what ends them. */
export class BellWaits {
  readonly #clientIds = new WeakMap<Redis, Promise<number | undefined>>()
  readonly #forCalls: Preset
  readonly #forAll: Preset

  constructor({ bell, jobBell }: QueueKeys) {
    this.#forCalls = new Preset('blpop', bell, blockSeconds)
    this.#forAll = new Preset('blpop', bell, jobBell, blockSeconds)
  }

  /** The command that waits for the calls' bell, or for that of the jobs too. */
  command(withJobs: boolean): Preset {
    return withJobs ? this.#forAll : this.#forCalls
  }

  /**
   * Has `onBlocked` told how Redis calls the connection, for end(). Sent ahead of the wait, so that it is answered while that goes
   * on. Without the right to ask, the wait ends by itself.
   */
  sayWho(client: Redis, onBlocked: ((clientId: number) => void) | undefined): void {
    if (!onBlocked) return
    command(client, 'client', 'id').then(
      id => onBlocked(Number(id)),
      () => undefined,
    )
  }

  /** How Redis calls a connection, for end(); undefined where it may not be asked. Asked once: waits come with each call. */
  clientId(client: Redis): Promise<number | undefined> {
    let id = this.#clientIds.get(client)
    if (!id) {
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
