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
 * Sends the beats of all queues of a worker together, so that an idle worker costs Redis one command a second, however many queues it
 * serves. On a Cluster each queue needs a command of its own: its keys live in another slot.
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

  /** Resolves after `ms` at the latest. All that wait here wake in the same tick; only an abort wakes one alone. */
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

  /** Beats for one queue. All beats that are asked for in one tick share a command. */
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
          // Redis rejects the whole command for one queue whose keys this user may not access. The others must keep their leases.
          if (asked.length > 1 && error.message.startsWith('NOPERM')) for (const each of asked) this.#sendSome([each])
          else for (const { reject } of asked) reject(error)
        },
      )
  }
}
