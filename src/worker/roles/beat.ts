import type { Beat } from '../../wire/answers.ts'
import { monotonicMs, sleep } from '../../wire/clock.ts'
import type { WorkerContext } from '../context.ts'

export const beatMs = 1000
/** A short lease is renewed more often: a beat that is late by half of it must not pass for a death. */
export const beatsPerLease = 4

/** `held`: the ids of what this worker holds, as Redis says; undefined where it did not say so. */
export type OnBeat = (beat: Beat, held: string[] | undefined) => void

interface Renewed {
  beat: Beat
  held: string[] | undefined
}

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
    const { commands, settings } = this.#context
    const everyMs = Math.min(beatMs, settings.leaseMs / beatsPerLease)
    while (!this.#stopping.signal.aborted) {
      await commands.whenReady(this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
      const startedAt = monotonicMs()
      await this.beatNow()
      await sleep(Math.max(50, everyMs - (monotonicMs() - startedAt)), this.#stopping.signal)
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
      const { beat, held } = renewed
      this.#onBeat(beat, held)
      if (isFirst && beat.held) this.#onRegistered()
      return beat.held
    } catch (error) {
      this.#report(error as Error)
      return false
    }
  }

  #report(error: Error): void {
    if (error.name === 'ReplyError') this.#context.problem('beat')(error)
  }

  async #renew(): Promise<Renewed> {
    const { queue, commands, settings, clock, measures, registrar, stats, workerId, isServing } = this.#context
    const first = this.#registered !== workerId()
    const sentAt = monotonicMs()
    const wanted = { reports: measures.reportsQueue, moves: isServing() }
    // In one packet: of thousands of workers Redis has more to do for the packets than for what is asked. What is held is for later, and
    // must not cost the lease.
    const [beat, held] = await commands.send(client =>
      Promise.all([
        queue.beat(client, workerId(), settings.leaseMs, first, wanted),
        queue.heldIds(client, workerId()).catch(() => undefined),
      ]),
    )
    clock.learn(beat.nowUs, monotonicMs())
    // Known to Redis from here on, also when the registry cannot be written: a lost lease must not be taken as a first one.
    if (!beat.held) return { beat, held }
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
    return { beat, held }
  }
}
