import { HubError } from '../../wire/errors.ts'
import type { Chunks } from '../answers/yielded.ts'
import type { FromThread, ToThread } from './messages.ts'

/** What a handler yields in its thread, on its way to the main thread: one at a time, the next one when that has room for it. */
export class ThreadChunks implements Chunks {
  readonly count = undefined
  readonly #tell: (message: FromThread) => void
  readonly #encode: (value: unknown) => string
  #waiting: { resolve(): void; reject(reason: Error): void } | undefined

  /** `encode` throws for what cannot be a chunk. */
  constructor(tell: (message: FromThread) => void, encode: (value: unknown) => string) {
    this.#tell = tell
    this.#encode = encode
  }

  put(value: unknown): Promise<void> {
    this.#tell({ is: 'chunk', value: this.#encode(value) })
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
    })
  }

  async end(returned: unknown): Promise<unknown> {
    return returned
  }

  async fail(): Promise<void> {}

  /** What the main thread says; of a signal that has fired, behind that. */
  heard({ is }: ToThread): void {
    if (is === 'more' || is === 'aborted') this.#waiting?.resolve()
    // The main thread knows why: nobody hears of this.
    if (is === 'stop') this.#waiting?.reject(new HubError('Aborted', 'The stream was cancelled.'))
  }
}
