import { forgetTaken, sayTaken } from '../../queue/taken.ts'
import type { Connection } from '../../redis/connection.ts'
import { isRefusal } from '../../redis/failures.ts'
import { explained } from '../../redis/refusals.ts'
import { sleep } from '../../wire/clock.ts'
import { Deadlines, type Timed } from '../../wire/deadlines.ts'
import type { Keys } from '../../wire/keys.ts'
import { takenAgainMs } from '../../wire/stream.ts'
import { detached, setInterval } from '../../wire/timers.ts'
import type { OpenedStream, StreamHost } from './hub-stream.ts'

export interface OpenStreamsOptions {
  hubId: string
  keys: Keys
  commands: Connection
  closing: AbortSignal
  onProblem(reason: string): void
}

/** After a failure what was taken is said again after this. */
const againMs = 100

/**
 * The streams that a hub reads: tells their workers how much of each was taken, when that is much, and from time to time, so that a worker
 * sees that somebody is still there. What is said holds for all before it, so a word that is lost costs nothing but time.
 */
export class OpenStreams implements StreamHost {
  readonly #options: OpenStreamsOptions
  readonly #deadlines = new Deadlines()
  readonly #open = new Set<OpenedStream>()
  /** Those that something was said of. */
  readonly #said = new Set<OpenedStream>()
  #toSay = new Set<OpenedStream>()
  #toForget: string[] = []
  #saying: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: OpenStreamsOptions) {
    this.#options = options
  }

  add(stream: OpenedStream): void {
    this.#open.add(stream)
    this.#timer ??= setInterval(() => this.#sayAll(), takenAgainMs)
  }

  onTaken(stream: OpenedStream): void {
    this.#toSay.add(stream)
    this.#saying ??= detached(() => this.#say())
  }

  onEnded(stream: OpenedStream): void {
    this.#open.delete(stream)
    this.#toSay.delete(stream)
    if (this.#open.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    if (!this.#said.delete(stream)) return
    this.#toForget.push(stream.id!)
    this.#saying ??= detached(() => this.#say())
  }

  watch(read: Timed): void {
    this.#deadlines.add(read)
  }

  forget(read: Timed): void {
    this.#deadlines.delete(read)
  }

  /** Once all have ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#deadlines.stop()
    await this.#saying
  }

  #sayAll(): void {
    for (const stream of this.#open) this.onTaken(stream)
  }

  async #say(): Promise<void> {
    const { commands, keys, hubId, closing, onProblem } = this.#options
    // What is read in this tick goes in one write.
    await undefined
    while (this.#toSay.size + this.#toForget.length > 0) {
      const streams = [...this.#toSay].filter(({ id }) => id !== undefined)
      const forgotten = this.#toForget
      this.#toSay = new Set()
      this.#toForget = []
      for (const stream of streams) this.#said.add(stream)
      const takings = streams.map(({ id, taken }) => ({ id: id!, taken }))
      try {
        await commands.send(client =>
          Promise.all([sayTaken(client, keys, hubId, takings), forgetTaken(client, keys, hubId, forgotten)]),
        )
      } catch (error) {
        if (closing.aborted) break
        if (isRefusal(error)) onProblem(explained((error as Error).message))
        else this.#toForget.push(...forgotten)
        for (const stream of streams) if (this.#open.has(stream)) this.#toSay.add(stream)
        await sleep(againMs, closing)
        await commands.whenReady(closing)
      }
    }
    this.#saying = undefined
  }
}
