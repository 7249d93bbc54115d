import { monotonicMs, sleep } from '../clock.ts'
import type { Beat, Queue } from '../queue.ts'
import type { Connection, Redis } from '../redis.ts'

export interface BeatOptions {
  queue: Queue
  connection: Connection
  leaseMs: number
  /** The present identity, and a new one after the lease was lost. */
  workerId(): string
  onLost(): void
  /** What the registry should know. Sent behind each beat. */
  publish(client: Redis, nowMs: number): Promise<void>
  onBeat(beat: Beat): void
  onProblem(error: Error): void
}

export const beatMs = 1000

/** Keeps the lease: renews it every second, and takes one under a new identity when it was lost. */
export class BeatLoop {
  readonly #options: BeatOptions
  readonly #stopping = new AbortController()
  #loop: Promise<void> | undefined
  #registered: string | undefined
  #underWay: Promise<void> | undefined

  constructor(options: BeatOptions) {
    this.#options = options
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
    await this.#underWay
  }

  /** Beats now. Resolves when the lease is held, or the connection is gone again. */
  beatNow(): Promise<void> {
    this.#underWay ??= this.#beat().finally(() => {
      this.#underWay = undefined
    })
    return this.#underWay
  }

  async #run(): Promise<void> {
    const { connection } = this.#options
    while (!this.#stopping.signal.aborted) {
      await connection.whenReady(this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
      const startedAt = monotonicMs()
      await this.beatNow()
      await sleep(Math.max(50, beatMs - (monotonicMs() - startedAt)), this.#stopping.signal)
    }
  }

  async #beat(): Promise<void> {
    const { onLost, onProblem } = this.#options
    try {
      let beat = await this.#renew()
      if (!beat.held) {
        onLost()
        beat = await this.#renew()
      }
      this.#options.onBeat(beat)
    } catch (error) {
      if ((error as Error).name === 'ReplyError') onProblem(error as Error)
    }
  }

  async #renew(): Promise<Beat> {
    const { queue, connection, leaseMs, workerId, publish } = this.#options
    const first = this.#registered !== workerId()
    const beat = await connection.send(client => queue.beat(client, workerId(), leaseMs, first))
    // Known to Redis from here on, also when the registry cannot be written: a lost lease must not be taken as a first one.
    if (!beat.held) return beat
    this.#registered = workerId()
    await connection.send(client => publish(client, Math.floor(beat.nowUs / 1000)))
    return beat
  }
}
