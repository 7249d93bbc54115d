import type { Beaten } from '../../queue/beats.ts'
import { monotonicMs } from '../../wire/clock.ts'
import type { WorkerContext } from '../context.ts'

export const beatMs = 1000
/** A short lease is renewed more often: a beat that is late by half of it must not pass for a death. */
export const beatsPerLease = 4

export type OnBeat = (beaten: Beaten) => void

/** Keeps the lease: renews it every second, and takes one under a new identity when it was lost. */
export class BeatLoop {
  readonly #context: WorkerContext
  readonly #onBeat: OnBeat
  readonly #onRegistered: () => void
  readonly #stopping = new AbortController()
  #loop: Promise<void> | undefined
  #registered: string | undefined
  /** When the last beat that kept the lease was sent. */
  #sentAt = Number.NEGATIVE_INFINITY
  #underWay: Promise<boolean> | undefined

  /** `onBeat` is told of each beat that kept the lease, or took a new one; `onRegistered` once, of the first. */
  constructor(context: WorkerContext, onBeat: OnBeat, onRegistered: () => void) {
    this.#context = context
    this.#onBeat = onBeat
    this.#onRegistered = onRegistered
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
    return monotonicMs() < this.#sentAt + this.#context.settings.leaseMs
  }

  /** When the last beat that kept the lease was sent, monotonic milliseconds. */
  get sentAt(): number {
    return this.#sentAt
  }

  /** Beats now. Resolves with whether the lease is held; false when the connection is gone again. */
  beatNow(): Promise<boolean> {
    this.#underWay ??= this.#beat().finally(() => {
      this.#underWay = undefined
    })
    return this.#underWay
  }

  /** The same with an answer of now, and not of one that waited here while the loop was blocked. */
  async beatAnew(): Promise<boolean> {
    await this.#underWay
    return this.beatNow()
  }

  async #run(): Promise<void> {
    const { beats, commands, settings } = this.#context
    const everyMs = Math.min(beatMs, settings.leaseMs / beatsPerLease)
    while (!this.#stopping.signal.aborted) {
      await commands.whenReady(this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
      const startedAt = monotonicMs()
      await this.beatNow()
      await beats.pause(Math.max(50, everyMs - (monotonicMs() - startedAt)), this.#stopping.signal)
    }
  }

  async #beat(): Promise<boolean> {
    const isFirst = this.#registered === undefined
    try {
      let renewed = await this.#renew()
      if (!renewed.beat.held) {
        this.#context.becomeNew()
        renewed = await this.#renew()
      }
      this.#onBeat(renewed)
      const { held } = renewed.beat
      if (isFirst && held) this.#onRegistered()
      return held
    } catch (error) {
      this.#report(error as Error)
      return false
    }
  }

  #report(error: Error): void {
    if (error.name === 'ReplyError') this.#context.problem('beat')(error)
  }

  async #renew(): Promise<Beaten> {
    const { queue, beats, commands, settings, clock, measures, registrar, stats, workerId, isServing } = this.#context
    const first = this.#registered !== workerId()
    const sentAt = monotonicMs()
    const wanted = { reports: measures.reportsQueue, moves: isServing() }
    const renewed = await beats.ask(queue.beatOf(workerId(), settings.leaseMs, first, wanted))
    const { beat } = renewed
    clock.learn(beat.nowUs, monotonicMs())
    // Known to Redis from here on, also when the registry cannot be written: a lost lease must not be taken as a first one.
    if (!beat.held) return renewed
    this.#registered = workerId()
    this.#sentAt = sentAt
    // The registry is for others to see; a full Redis refuses it, and all that a beat sets off must go on all the same.
    const nowMs = Math.floor(beat.nowUs / 1000)
    const said = { stats: stats(nowMs), measured: (isAll: boolean) => measures.texts(isAll) }
    await commands
      .send(client => registrar.publish(client, workerId(), nowMs, said))
      .catch(error => {
        measures.repeat()
        this.#report(error)
      })
    return renewed
  }
}
