import { createHash } from 'node:crypto'
import { command } from './client.ts'
import type { Redis } from './connection.ts'

/** Keys that are remembered. Only those of the bucket that SCAN is at can come again, which are a few. */
const mostRemembered = 1024
/** As many go with the place at which another reading goes on. */
const mostPassedOn = 32
const digestChars = 8

const digestOf = (key: string): string => createHash('sha1').update(key).digest('base64url').slice(0, digestChars)

/**
 * Reads keys with SCAN, each of them once: Redis returns a key several times when it shrinks its table meanwhile. It then visits a smaller
 * bucket whose part it has visited before, so the keys that come again are among the latest ones.
 */
export class KeyScan {
  readonly #latest: Set<string>

  /** `memory`: of the reading that this one goes on with. */
  constructor(memory = '') {
    this.#latest = new Set(memory.match(new RegExp(`.{${digestChars}}`, 'g')))
  }

  /** The latest keys, for the reading that goes on behind them. */
  get memory(): string {
    return [...this.#latest].slice(-mostPassedOn).join('')
  }

  static isMemory(text: string): boolean {
    return new RegExp(`^([A-Za-z0-9_-]{${digestChars}}){0,${mostPassedOn}}$`).test(text)
  }

  /** One step from a cursor on, and the cursor of the next one. */
  async step(server: Redis, cursor: string, ...words: (string | number)[]): Promise<{ keys: string[]; next: string }> {
    const [next, found] = (await command(server, 'scan', cursor, ...words)) as [string, string[]]
    return { keys: found.filter(key => this.#isNew(key)), next }
  }

  #isNew(key: string): boolean {
    const digest = digestOf(key)
    // One that came again counts as one of the latest.
    const isNew = !this.#latest.delete(digest)
    this.#latest.add(digest)
    if (this.#latest.size > mostRemembered) this.#latest.delete(this.#latest.values().next().value!)
    return isNew
  }
}
