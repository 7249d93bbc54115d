import type { Connection, Redis } from '../../redis/connection.ts'
import { sleep } from '../../wire/clock.ts'

export interface InspectOptions {
  connection: Connection
  /** What makes the server unfit, one sentence each. */
  findUnfit(client: Redis): Promise<string[]>
  /** The server was found unfit, or unfit in another way than before. */
  onUnfit(reasons: string[]): void
  /** How often a server that is fit is looked at. Default a minute. */
  everyMs?: number
}

/** How often a server is looked at until it is fit. */
const retryMs = 1000

/** Looks whether the server is fit: before the worker serves, and from time to time after that. */
export class Inspect {
  readonly #options: InspectOptions
  readonly #stopping = new AbortController()
  #told = ''

  constructor(options: InspectOptions) {
    this.#options = options
  }

  /** What makes the server unfit; undefined when it could not be asked. */
  async look(): Promise<string[] | undefined> {
    const { connection, findUnfit } = this.#options
    return connection.send(findUnfit).catch(() => undefined)
  }

  /** Resolves when the server is there and fit, or when this ends. Each new reason why it is not is told once. */
  async untilFit(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#options.connection.whenReady(signal)
      const reasons = await this.#lookAndTell()
      if (reasons?.length === 0) return
      await sleep(retryMs, signal)
    }
  }

  /** Goes on looking while the worker serves. What it serves is not put at risk by stopping, so a change is only told. */
  async watch(): Promise<void> {
    const { signal } = this.#stopping
    for (;;) {
      await sleep(this.#options.everyMs ?? 60_000, signal)
      if (signal.aborted) return
      await this.#lookAndTell()
    }
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #lookAndTell(): Promise<string[] | undefined> {
    const reasons = await this.look()
    const text = reasons?.join() ?? this.#told
    if (reasons?.length && text !== this.#told) this.#options.onUnfit(reasons)
    this.#told = text
    return reasons
  }
}
