/** What a handler yields in its thread, as the main thread reads it: it asks the thread for each chunk but the first. */
export class ThreadSource implements AsyncIterable<unknown>, AsyncIterator<unknown> {
  readonly #ask: () => void
  readonly #stop: () => void
  #chunk: { value: unknown } | undefined
  #read: { resolve(step: IteratorResult<unknown>): void; reject(reason: unknown): void } | undefined
  #end: Promise<unknown> | undefined
  /** The thread computes one. */
  #isDue = true
  #isLeft = false

  /** `stop`: nobody reads any more. */
  constructor(ask: () => void, stop: () => void) {
    this.#ask = ask
    this.#stop = stop
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<unknown>> {
    const chunk = this.#chunk
    if (chunk) {
      this.#chunk = undefined
      return Promise.resolve({ done: false, value: chunk.value })
    }
    if (this.#end) return this.#end.then(value => ({ done: true, value }))
    if (!this.#isDue) this.#ask()
    this.#isDue = true
    return new Promise((resolve, reject) => {
      this.#read = { resolve, reject }
    })
  }

  async return(): Promise<IteratorResult<unknown>> {
    if (!this.#isLeft && !this.#end) this.#stop()
    this.#isLeft = true
    return { done: true, value: undefined }
  }

  /** The thread has sent one. */
  put(value: unknown): void {
    this.#isDue = false
    const read = this.#read
    this.#read = undefined
    if (read) read.resolve({ done: false, value })
    else this.#chunk = { value }
  }

  /** There is no more, and this is how its handler settled. */
  end(outcome: Promise<unknown>): void {
    if (this.#end) return
    this.#end = outcome
    outcome.then(
      value => this.#read?.resolve({ done: true, value }),
      error => this.#read?.reject(error),
    )
  }
}
