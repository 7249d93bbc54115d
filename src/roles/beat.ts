import type { Beat } from '../answers.ts'
import { monotonicMs, sleep } from '../clock.ts'
import type { Queue } from '../queue.ts'
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
  /** Whether anybody here wants to hear of the queue's figures. */
  reports(): boolean
  onBeat(beat: Beat): void
  onProblem(error: Error): void
}

export const beatMs = 1000
/** A short lease is renewed more often: a beat that is late by half of it must not pass for a death. */
export const beatsPerLease = 4

/** Keeps the lease: renews it every second, and takes one under a new identity when it was lost. */
export class BeatLoop {
  readonly #options: BeatOptions
  readonly #stopping = new AbortController()
  #loop: Promise<void> | undefined
  #registered: string | undefined
  /** Of the last beat that kept the lease: when it was sent, and Redis' time then. */
  #sentAt = Number.NEGATIVE_INFINITY
  #sentAtUs = 0
  #underWay: Promise<Beat | undefined> | undefined

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

  /** True while nobody can have adopted from this worker: counted from before the beat was sent, so it ends too early. */
  get isCertain(): boolean {
    return monotonicMs() < this.#sentAt + this.#options.leaseMs
  }

  /** Redis' time of now. Not that of the last answer, which may have waited here while the loop was blocked. */
  get redisNowUs(): number {
    return this.#sentAtUs + Math.round((monotonicMs() - this.#sentAt) * 1000)
  }

  /** Beats now. Resolves with the beat when the lease is held, with undefined when the connection is gone again. */
  beatNow(): Promise<Beat | undefined> {
    this.#underWay ??= this.#beat().finally(() => {
      this.#underWay = undefined
    })
    return this.#underWay
  }

  /** The same with an answer of now, and not of one that waited here while the loop was blocked. */
  async beatAnew(): Promise<Beat | undefined> {
    await this.#underWay
    return this.beatNow()
  }

  async #run(): Promise<void> {
    const { connection, leaseMs } = this.#options
    const everyMs = Math.min(beatMs, leaseMs / beatsPerLease)
    while (!this.#stopping.signal.aborted) {
      await connection.whenReady(this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
      const startedAt = monotonicMs()
      await this.beatNow()
      await sleep(Math.max(50, everyMs - (monotonicMs() - startedAt)), this.#stopping.signal)
    }
  }

  async #beat(): Promise<Beat | undefined> {
    const { onLost } = this.#options
    try {
      let beat = await this.#renew()
      if (!beat.held) {
        onLost()
        beat = await this.#renew()
      }
      this.#options.onBeat(beat)
      return beat
    } catch (error) {
      this.#report(error as Error)
      return undefined
    }
  }

  #report(error: Error): void {
    if (error.name === 'ReplyError') this.#options.onProblem(error)
  }

  async #renew(): Promise<Beat> {
    const { queue, connection, leaseMs, workerId, publish, reports } = this.#options
    const first = this.#registered !== workerId()
    const sentAt = monotonicMs()
    const beat = await connection.send(client => queue.beat(client, workerId(), leaseMs, first, reports()))
    // Known to Redis from here on, also when the registry cannot be written: a lost lease must not be taken as a first one.
    if (!beat.held) return beat
    this.#registered = workerId()
    this.#sentAt = sentAt
    this.#sentAtUs = beat.nowUs
    // The registry is for others to see; a full Redis refuses it, and all that a beat sets off must go on all the same.
    await connection.send(client => publish(client, Math.floor(beat.nowUs / 1000))).catch(error => this.#report(error))
    return beat
  }
}
