import type { Abandoned } from '../../wire/failures.ts'
import type { Chunks } from './yielded.ts'

/** What a handler yields whose caller asked for no stream, or that runs as a job: the list of it, unless the handler returns something. */
export class WholeList implements Chunks {
  readonly count = undefined
  readonly #encode: (value: unknown) => string
  readonly #tooLarge: () => Abandoned
  #left: number
  #texts: string[] = []

  /** `encode` throws for what cannot be a chunk. */
  constructor(encode: (value: unknown) => string, maxBytes: number, tooLarge: () => Abandoned) {
    this.#encode = encode
    this.#left = maxBytes
    this.#tooLarge = tooLarge
  }

  put(value: unknown): void {
    const text = this.#encode(value)
    this.#left -= text.length + 1
    // It may return something in its place: that is known at the end.
    if (this.#left < 0) this.#texts = []
    else this.#texts.push(text)
  }

  async end(returned: unknown): Promise<unknown> {
    // A stream's reply has null for nothing, and who reads one to its end is to have the same.
    if (returned !== undefined && returned !== null) return returned
    if (this.#left < 0) throw this.#tooLarge()
    return JSON.parse(`[${this.#texts.join(',')}]`)
  }

  async fail(): Promise<void> {}
}
