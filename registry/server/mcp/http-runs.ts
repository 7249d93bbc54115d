import { createHash } from 'node:crypto'
import type { Hub } from 'pshub'

/** So long a cancellation that came to another registry may take to be noticed here. */
const lookMs = 2000
/** So long it is kept for that. */
const wordMs = 60_000

/**
 * The runs that clients began here, by names that are the same in each registry: a client cancels one by another request, which a balancer may
 * bring to another registry than the run. That one leaves word in Redis.
 */
export class HttpRuns {
  readonly #underWay = new Map<string, () => void>()
  readonly #store: Hub['sessions']
  readonly #timer: NodeJS.Timeout

  constructor(store: Hub['sessions']) {
    this.#store = store
    this.#timer = setInterval(() => void this.#look(), lookMs)
    this.#timer.unref()
  }

  /** Returns what is to be called at its end. */
  add(name: string, cancel: () => void): () => void {
    this.#underWay.set(name, cancel)
    return () => {
      if (this.#underWay.get(name) === cancel) this.#underWay.delete(name)
    }
  }

  /** It may be over. Where Redis cannot be told, a run elsewhere goes on to its end. */
  async cancel(name: string): Promise<void> {
    const cancel = this.#underWay.get(name)
    if (cancel) cancel()
    else await this.#store.write(wordOf(name), 'cancelled', wordMs).catch(() => undefined)
  }

  /** All of a session whose names begin so. Those elsewhere end when their client closes its connections. */
  cancelAll(beginning: string): void {
    for (const [name, cancel] of this.#underWay) if (name.startsWith(beginning)) cancel()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    await Promise.all(
      [...this.#underWay].map(async ([name, cancel]) => {
        const word = await this.#store.read(wordOf(name)).catch(() => undefined)
        if (word !== undefined) cancel()
      }),
    )
  }
}

/** What Redis has tells nobody how to cancel. */
const wordOf = (name: string): string => createHash('sha256').update(`cancelled ${name}`).digest('base64url')
