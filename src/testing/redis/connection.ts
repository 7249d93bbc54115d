import { Duplex } from 'node:stream'

export interface ServerSide {
  /** What came is run in a turn of the event loop of its own, as what comes over a socket. */
  schedule(run: () => void): void
  feed(id: string, bytes: string): void
  left(id: string): void
}

/** One connection to the Redis in memory, from its client's side what a socket is, without one. */
export class ServedConnection extends Duplex {
  readonly #id: string
  /** For who looks at a socket. */
  bytesRead = 0
  readonly remoteAddress = 'memory'
  readonly #side: ServerSide
  #arrived = ''

  constructor(id: string, side: ServerSide) {
    super({ decodeStrings: false, allowHalfOpen: false })
    this.#id = id
    this.#side = side
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: () => void): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    if (this.#arrived === '') this.#side.schedule(() => this.#feed())
    this.#arrived += bytes.toString('latin1')
    done()
  }

  override _read(): void {}

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#arrived = ''
    this.#side.left(this.#id)
    done(error)
  }

  /** Bytes of answers, a character each. */
  say(answers: string): void {
    if (this.destroyed) return
    this.bytesRead += answers.length
    this.push(Buffer.from(answers, 'latin1'))
  }

  // What clients set on a socket means nothing here.
  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  setTimeout(): this {
    return this
  }

  #feed(): void {
    const bytes = this.#arrived
    this.#arrived = ''
    if (bytes !== '') this.#side.feed(this.#id, bytes)
  }
}
