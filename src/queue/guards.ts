import type { Connection } from '../redis/connection.ts'
import { run } from '../redis/library.ts'
import type { Guards } from '../task/task.ts'
import type { Keys } from '../wire/keys.ts'

/** Locks and rates that all workers of a namespace share, whatever their queues. */
export class RedisGuards implements Guards {
  readonly #connection: Pick<Connection, 'send'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'send'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  async lock(name: string, owner: string, leaseMs: number, mayTake: boolean) {
    const args = [owner, Math.round(leaseMs), mayTake ? 1 : 0]
    const answer = await this.#connection.send(client => run(client, 'lock', [this.#keys.lock(name)], args))
    const [isHeld, value] = answer as [number, number | string]
    return isHeld === 1 ? { fence: Number(value) } : { waitMs: Number(value) }
  }

  async admit(name: string, limit: number, periodMs: number, comesBack: boolean): Promise<number> {
    const keys = [this.#keys.rate(name), this.#keys.told(name)]
    const args = [limit, Math.round(periodMs), comesBack ? 1 : 0]
    return (await this.#connection.send(client => run(client, 'admit', keys, args))) as number
  }
}
