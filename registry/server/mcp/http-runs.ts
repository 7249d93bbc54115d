import { createHash } from 'node:crypto'
import type { Hub } from 'pshub'
import { Refusal } from '../refusal.ts'

/** So long a cancellation that came to another registry may take to be noticed here. */
const lookMs = 2000
/** So long it is kept for that. */
const wordMs = 60_000

/** A run of a client. */
export interface HttpRun {
  /** Nobody waits for it any more. */
  cancel(): void
  /** Its client waits, and is told that it ends. */
  stop(reason: Refusal): void
}

/**
 * The runs that clients began here, by names that are the same in each registry: a client cancels one by another request, which a balancer may
 * bring to another registry than the run. That one leaves word in Redis.
 */
export class HttpRuns {
  readonly #underWay = new Map<string, HttpRun>()
  readonly #store: Hub['sessions']
  readonly #timer: NodeJS.Timeout

  constructor(store: Hub['sessions']) {
    this.#store = store
    this.#timer = setInterval(() => void this.#look(), lookMs)
    this.#timer.unref()
  }

  /** Returns what is to be called at its end. */
  add(name: string, run: HttpRun): () => void {
    this.#underWay.set(name, run)
    return () => {
      if (this.#underWay.get(name) === run) this.#underWay.delete(name)
    }
  }

  /** It may be over. Where Redis cannot be told, a run elsewhere goes on to its end. */
  async cancel(name: string): Promise<void> {
    const run = this.#underWay.get(name)
    if (run) run.cancel()
    else await this.#store.write(wordOf(name), 'cancelled', wordMs).catch(() => undefined)
  }

  /** All of a session whose names begin so. Those elsewhere end when their client closes its connections. */
  cancelAll(beginning: string): void {
    for (const [name, run] of this.#underWay) if (name.startsWith(beginning)) run.cancel()
  }

  stop(): void {
    clearInterval(this.#timer)
    const reason = new Refusal(503, 'Unavailable', 'The registry stopped while this was running.')
    for (const run of this.#underWay.values()) run.stop(reason)
  }

  async #look(): Promise<void> {
    await Promise.all(
      [...this.#underWay].map(async ([name, run]) => {
        const word = await this.#store.read(wordOf(name)).catch(() => undefined)
        if (word !== undefined) run.cancel()
      }),
    )
  }
}

/** What Redis has tells nobody how to cancel. */
const wordOf = (name: string): string => createHash('sha256').update(`cancelled ${name}`).digest('base64url')
