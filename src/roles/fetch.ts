import type { Claimed } from '../answers.ts'
import { backoffMs, sleep } from '../clock.ts'
import type { ClaimOptions, Queue } from '../queue.ts'
import type { Connection } from '../redis.ts'

export interface FetchOptions {
  queue: Queue
  /** Where it waits for the bell. */
  waiting: Connection
  /** Where replies and releases go; a claim sent here comes behind them. */
  commands: Connection
  workerId(): string
  idleSlots(): number
  /** Idle slots less those whose release Redis has not confirmed yet. */
  releasedSlots(): number
  /** How many more jobs may run; 0 for a worker that takes none. */
  jobRoom(): number
  /** Whether there is ever room for jobs. */
  takesJobs: boolean
  /** Pairs of a task and the microseconds it runs at least, longest first. */
  runTimes(): readonly (string | number)[]
  /** Grows by as much as the event loop is behind. */
  lateMs(): number
  /** How long ago, on Redis' clock, this claim was made; also finds out whether the lease is still held. */
  ageMs(claimed: Claimed): Promise<number>
  /** `ageMs` is above 0 when the answer waited here unread. */
  onClaimed(claimed: Claimed, workerId: string, ageMs: number): void
  /** Redis says that this worker holds no lease. Resolves when it holds one again. */
  onNoLease(): Promise<void>
  onProblem(error: Error): void
}

interface Wait {
  /** How Redis calls its connection. */
  clientId: Promise<number | undefined> | undefined
}

/** A loop that was behind for longer while a claim was under way may have kept its answer waiting. */
const staleMs = 100

/**
 * Takes work for idle slots and for nothing else: with no slot idle it does not touch Redis.
 *
 * 1. One claim is under way at a time.
 * 2. While the last claim left work in the list, the next one is sent at once, on the commands connection: releases are
 *    ahead of it there, so the worker never holds more than it has slots.
 * 3. Else it waits for the bell on its own connection, for as many slots as are known to be released.
 * 4. While as many jobs run as may, it does not listen for further ones: their bell would wake it again and again. When
 *    one of them ends, that wait is ended.
 * 5. When the last wait brought one call at most, the next one takes the first call without the claim script, which is faster for a
 *    lone call.
 * 6. While the queue is paused it takes nothing. The claim behind a wait that is ended then still runs: it is in Redis.
 */
export class FetchLoop {
  readonly #options: FetchOptions
  readonly #stopping = new AbortController()
  #underWay: Promise<void> | undefined
  #scheduled = false
  #moreWaits = true
  /** As far as the last wait tells. */
  #comesAlone = false
  /** How Redis calls the connection that waits for calls alone, though jobs are taken here. */
  #deafTo: number | undefined
  #isPaused = false
  /** The wait for the bell that is under way. */
  #wait: Wait | undefined

  constructor(options: FetchOptions) {
    this.#options = options
  }

  start(): void {
    this.#next()
  }

  /** Slots became idle; called in the tick in which their releases were sent. */
  slotsIdle(): void {
    // After a claim the next one is scheduled anyway; only while work waits it pays to send it in one write with these.
    if (!this.#scheduled || this.#moreWaits) this.#next()
    if (this.#deafTo !== undefined && this.#options.jobRoom() > 0) this.#listenForJobs(this.#deafTo)
  }

  /**
   * Takes nothing more until resume(). To be said with each beat of the pause: what ends a wait may overtake that wait, which
   * is sent on another connection.
   */
  pause(): void {
    this.#isPaused = true
    const wait = this.#wait
    void wait?.clientId?.then(clientId => {
      if (clientId !== undefined && this.#isPaused && this.#wait === wait) this.#endWait(clientId)
    })
  }

  resume(): void {
    this.#isPaused = false
    // Tokens of the bells may be gone, and what they announced still waits.
    this.#moreWaits = true
    this.#next()
  }

  #listenForJobs(clientId: number): void {
    this.#deafTo = undefined
    this.#endWait(clientId)
  }

  #endWait(clientId: number): void {
    const { queue, commands } = this.#options
    // Refused or lost: the wait ends by itself within seconds.
    commands.send(client => queue.waits.end(client, clientId)).catch(() => undefined)
  }

  get #isHalted(): boolean {
    return this.#isPaused || this.#stopping.signal.aborted
  }

  #next(): void {
    if (this.#underWay || this.#isHalted) return
    const idle = this.#options.idleSlots()
    if (idle <= 0) return
    const released = this.#options.releasedSlots()
    const atOnce = this.#moreWaits || released <= 0
    this.#underWay = this.#claim(atOnce ? idle : released, atOnce).then(() => {
      this.#underWay = undefined
      this.#scheduled = true
      // Behind the replies of what finishes at once: writing the next wait first would hold them up.
      setImmediate(() => {
        this.#scheduled = false
        this.#next()
      })
    })
  }

  /** No claim is started any more. One that waits for the bell is left to whoever closes its connection. */
  stop(): void {
    this.#stopping.abort()
  }

  /** Resolves when no claim is under way. */
  async settled(): Promise<void> {
    await this.#underWay
  }

  #send(slots: number, workerId: string, atOnce: boolean): Promise<Claimed | undefined> {
    const { queue, commands, waiting, takesJobs, jobRoom, runTimes } = this.#options
    const wanted: ClaimOptions = { slots, jobs: jobRoom(), runTimes: runTimes() }
    if (atOnce) return commands.send(client => queue.claim(client, workerId, wanted))
    const wait: Wait = { clientId: undefined }
    this.#wait = wait
    const onBlocked = (clientId: number) => {
      if (this.#wait !== wait) return
      // A job may have ended since the wait was sent.
      if (jobRoom() > 0) this.#listenForJobs(clientId)
      else this.#deafTo = clientId
    }
    const isDeaf = takesJobs && wanted.jobs <= 0
    return waiting.send(client => {
      wait.clientId = queue.waits.clientId(client)
      const takes = this.#comesAlone && slots > 1
      return queue[takes ? 'waitAndTake' : 'waitAndClaim'](client, workerId, wanted, isDeaf ? onBlocked : undefined)
    })
  }

  #waitEnded(): void {
    this.#wait = undefined
    this.#deafTo = undefined
  }

  async #claim(idle: number, atOnce: boolean): Promise<void> {
    const { commands, waiting, workerId, jobRoom, lateMs, ageMs, onClaimed, onNoLease, onProblem } = this.#options
    for (let failures = 0; ; failures++) {
      const connection = atOnce ? commands : waiting
      if (!connection.isReady) await connection.whenReady(this.#stopping.signal)
      if (this.#isHalted) return
      const id = workerId()
      const lateBefore = lateMs()
      try {
        const claimed = await this.#send(idle, id, atOnce)
        this.#waitEnded()
        if (!claimed) {
          await onNoLease()
          // The bell's token is taken, and what it announced still waits.
          atOnce = true
          // A beat that failed, on a full disk for one, must not make this a busy loop.
          await sleep(failures === 0 ? 0 : backoffMs(failures, 50, 1000), this.#stopping.signal)
          continue
        }
        // Deadlines went on meanwhile, and so did the lease: what this brought may be somebody else's by now.
        const isStale = claimed.requests.length > 0 && lateMs() - lateBefore > staleMs
        onClaimed(claimed, id, isStale ? await ageMs(claimed) : 0)
        if (!atOnce) this.#comesAlone = claimed.requests.length + claimed.left <= 1
        this.#moreWaits = claimed.left > 0 || (claimed.jobsLeft > 0 && jobRoom() > 0)
        return
      } catch (error) {
        this.#waitEnded()
        // The answer may be lost with the claim made: what it took is found by reconcile.
        if (!this.#stopping.signal.aborted && (error as Error).name === 'ReplyError') onProblem(error as Error)
        await sleep(backoffMs(failures, 20, 1000), this.#stopping.signal)
      }
    }
  }
}
