import { type Beaten, type BeatWords, beatAll, beatsAtOnce } from '../../queue/beats.ts'
import type { Connection } from '../../redis/connection.ts'
import { monotonicMs, onAbort } from '../../wire/clock.ts'
import { clearTimeout, setTimeout } from '../../wire/timers.ts'

interface Asked {
  words: BeatWords
  resolve(beaten: Beaten): void
  reject(error: Error): void
}

/**
 * Has the queues of a worker beat together: a beat of each by itself would cost Redis one command for each queue and second. On a Cluster no
 * command is for two queues.
 */
export class Beats {
  readonly #commands: Connection
  #asked: Asked[] = []
  readonly #waiting = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #nextAt = Number.POSITIVE_INFINITY

  constructor(commands: Connection) {
    this.#commands = commands
  }

  /** Resolves after so many milliseconds, or sooner: with all others that wait here. At once when the signal fires. */
  pause(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const done = () => {
        signal.removeEventListener('abort', done)
        this.#waiting.delete(done)
        if (this.#waiting.size === 0) this.#wakeAt(Number.POSITIVE_INFINITY)
        resolve()
      }
      this.#waiting.add(done)
      onAbort(signal, done)
      this.#wakeAt(Math.min(this.#nextAt, monotonicMs() + ms))
    })
  }

  #wakeAt(at: number): void {
    if (at === this.#nextAt) return
    this.#nextAt = at
    clearTimeout(this.#timer)
    if (at === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => {
      for (const done of [...this.#waiting]) done()
    }, at - monotonicMs())
  }

  /** Beats for a queue, in one command with those of all others that are asked for in this tick. */
  ask(words: BeatWords): Promise<Beaten> {
    return new Promise((resolve, reject) => {
      if (this.#asked.push({ words, resolve, reject }) === 1) queueMicrotask(() => this.#send())
    })
  }

  #send(): void {
    const asked = this.#asked
    this.#asked = []
    const most = this.#commands.isCluster ? 1 : beatsAtOnce
    for (let at = 0; at < asked.length; at += most) this.#sendSome(asked.slice(at, at + most))
  }

  #sendSome(asked: readonly Asked[]): void {
    const words = asked.map(each => each.words)
    this.#commands
      .send(client => beatAll(client, words))
      .then(
        answers =>
          asked.forEach(({ resolve, reject }, place) => {
            const answer = answers[place]!
            if (answer instanceof Error) reject(answer)
            else resolve(answer)
          }),
        (error: Error) => {
          for (const { reject } of asked) reject(error)
        },
      )
  }
}
