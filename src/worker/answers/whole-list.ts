import { monotonicMs } from '../../wire/clock.ts'
import type { Abandoned } from '../../wire/failures.ts'
import { parseExact } from '../../wire/json/exact-json.ts'
import type { Chunks } from './yielded.ts'

/** A handler that waits for nothing keeps the worker from all else for so long: its deadline would not come, and no other run. */
const turnMs = 10

/** What a handler yields whose caller asked for no stream, or that runs as a job: the list of it, unless the handler returns something. */
export class WholeList implements Chunks {
  readonly count = undefined
  readonly #encode: (value: unknown) => string
  readonly #tooLarge: () => Abandoned
  #left: number
  #texts: string[] = []
  #turnAt = monotonicMs()

  /** `encode` throws for what cannot be a chunk. */
  constructor(encode: (value: unknown) => string, maxBytes: number, tooLarge: () => Abandoned) {
    this.#encode = encode
    this.#left = maxBytes
    this.#tooLarge = tooLarge
  }

  put(value: unknown): void | Promise<void> {
    const text = this.#encode(value)
    this.#left -= text.length + 1
    // It may return something in its place: that is known at the end.
    if (this.#left < 0) this.#texts = []
    else this.#texts.push(text)
    if (monotonicMs() - this.#turnAt >= turnMs) return this.#yieldTurn()
  }

  async #yieldTurn(): Promise<void> {
    await new Promise(resolve => setImmediate(resolve))
    this.#turnAt = monotonicMs()
  }

  async end(returned: unknown): Promise<unknown> {
    // A stream's reply has null for nothing, and who reads one to its end is to have the same.
    if (returned !== undefined && returned !== null) return returned
    if (this.#left < 0) throw this.#tooLarge()
    return parseExact(`[${this.#texts.join(',')}]`)
  }

  async fail(): Promise<void> {}
}
