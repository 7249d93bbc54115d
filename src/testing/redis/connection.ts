import { Duplex } from 'node:stream'
import { CommandReader, encoded, RedisError, type Reply } from './reply.ts'

/** A command that can wait: it is tried again whenever something was written. */
export interface Wait {
  /** Undefined: still nothing. */
  attempt(): Reply | undefined
  /** Ends it without an answer from the keys. */
  end(reply: Reply): void
}

/** Runs a command of a connection: answers at once, or gives what can be waited for and for how long. */
export type Handle = (
  words: string[],
  connection: ServedConnection,
) => Reply | { wait(): Reply | undefined; ms: number }

export interface ServerSide {
  handle: Handle
  /** Its commands are run one after the other, in turns of the event loop, as what comes over a socket. */
  schedule(run: () => void): void
  /** A command waits: until `wake`, or for so many milliseconds. */
  park(wait: Wait, ms: number): void
  left(connection: ServedConnection): void
}

/**
 * One connection to the Redis in memory, from its client's side what a socket is, without one. Its commands run in their order: behind one that waits
 * the others wait, too.
 */
export class ServedConnection extends Duplex {
  readonly id: number
  /** For who looks at a socket. */
  bytesRead = 0
  readonly remoteAddress = 'memory'
  readonly #side: ServerSide
  readonly #reader = new CommandReader()
  readonly #commands: string[][] = []
  #waiting: Wait | undefined
  #isScheduled = false

  constructor(id: number, side: ServerSide) {
    super({ decodeStrings: false, allowHalfOpen: false })
    this.id = id
    this.#side = side
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: () => void): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    try {
      this.#commands.push(...this.#reader.read(bytes.toString('latin1')))
    } catch (error) {
      this.destroy(error as Error)
    }
    this.#schedule()
    done()
  }

  override _read(): void {}

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#commands.length = 0
    this.#waiting?.end(null)
    this.#waiting = undefined
    this.#side.left(this)
    done(error)
  }

  /** Ends a wait from another connection. Returns whether there was one. */
  unblock(): boolean {
    const waiting = this.#waiting
    waiting?.end(null)
    return waiting !== undefined
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

  #schedule(): void {
    if (this.#isScheduled || this.#waiting || this.#commands.length === 0 || this.destroyed) return
    this.#isScheduled = true
    this.#side.schedule(() => {
      this.#isScheduled = false
      this.#run()
    })
  }

  #run(): void {
    let answers = ''
    while (!this.#waiting && !this.destroyed) {
      const words = this.#commands.shift()
      if (!words) break
      const outcome = this.#answer(words)
      if (typeof outcome === 'object' && outcome !== null && 'wait' in outcome) this.#wait(outcome)
      else answers += encoded(outcome)
    }
    this.#say(answers)
  }

  #answer(words: string[]): ReturnType<Handle> {
    try {
      return this.#side.handle(words, this)
    } catch (error) {
      if (error instanceof RedisError) return { err: error.message }
      return { err: `ERR ${(error as Error).message}` }
    }
  }

  #wait({ wait, ms }: { wait(): Reply | undefined; ms: number }): void {
    const waiting: Wait = {
      attempt: wait,
      end: reply => {
        if (this.#waiting !== waiting) return
        this.#waiting = undefined
        this.#say(encoded(reply))
        this.#schedule()
      },
    }
    this.#waiting = waiting
    this.#side.park(waiting, ms)
  }

  #say(answers: string): void {
    if (answers === '' || this.destroyed) return
    this.bytesRead += answers.length
    this.push(Buffer.from(answers, 'latin1'))
  }
}
