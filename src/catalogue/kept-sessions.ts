import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import type { Keys } from '../wire/keys.ts'

/** More of a session is not read: a service writes less. */
const longest = 1000

/** Sends what a function sends; throws HubError NotEnqueued, HubClosed. */
type Ask = <T>(commands: (client: Redis) => Promise<T>, otherwise: string) => Promise<T>

/**
 * What services on this hub keep of who is logged in: texts by name, which end by themselves. All throw HubError NotEnqueued when Redis is away
 * or this user may not, and HubClosed.
 */
export class KeptSessions {
  readonly #ask: Ask
  readonly #keys: () => Keys

  constructor(keys: () => Keys, ask: Ask) {
    this.#keys = keys
    this.#ask = ask
  }

  /** The first 1000 bytes of it; undefined: there is none. */
  async read(name: string): Promise<string | undefined> {
    const key = this.#keys().session(name)
    const text = await this.#ask(
      client => command(client, 'getrange', key, 0, longest - 1),
      'A session could not be read',
    )
    return (text as string) || undefined
  }

  /** @param ms after which it ends */
  async write(name: string, text: string, ms: number): Promise<void> {
    const key = this.#keys().session(name)
    await this.#ask(client => command(client, 'set', key, text, 'PX', ms), 'A session could not be saved')
  }

  async remove(name: string): Promise<void> {
    await this.#ask(client => command(client, 'unlink', this.#keys().session(name)), 'A session could not be ended')
  }
}
