import type { ClaimOptions } from '../../queue/queue.ts'
import type { Beat, Claimed } from '../../wire/answers.ts'
import { backoffMs, monotonicMs, sleep } from '../../wire/clock.ts'
import type { WorkerContext } from '../context.ts'

interface Wait {
  /** How Redis calls its connection. */
  clientId: Promise<number | undefined> | undefined
  /** It listens for calls alone, though jobs are taken here. */
  isDeaf: boolean
}

/** A loop that was behind for longer while a claim was under way may have kept its answer waiting. */
const staleMs = 100

/**
 * Takes work for idle slots and for nothing else: with no slot idle it does not touch Redis.
 *
 * 1. One claim is under way at a time.
 * 2. While the last claim left work in the list, the next one is sent at once, on the commands connection: releases are
 *    ahead of it there. Else it waits for the bell on its own connection.
 * 3. While as many jobs run as may, it does not listen for further ones: their bell would wake it again and again. When
 *    one of them ends, that wait is ended.
 * 4. After a claim that brought what only others can run it waits, longer each time: that is in the list again.
 * 5. While the queue is paused it takes nothing. The claim behind a wait that is ended then still runs: it is in Redis.
 */
export class FetchLoop {
  readonly #context: WorkerContext
  readonly #stopping = new AbortController()
  #underWay: Promise<void> | undefined
  #scheduled = false
  /** What the last claims left in the lists. */
  #callsWait = true
  #jobsWait = false
  #isPaused = false
  /** The wait for the bell that is under way. */
  #wait: Wait | undefined

  constructor(context: WorkerContext) {
    this.#context = context
  }

  start(): void {
    this.#next()
  }

  /** Slots became idle; called in the tick in which the replies of what they ran were sent, or their releases confirmed. */
  slotsIdle(): void {
    // After a claim the next one is scheduled anyway; only while work waits it pays to send it in one write with these.
    if (!this.#scheduled || this.#moreWaits) this.#next()
    if (this.#wait?.isDeaf && this.#context.slots.jobRoom > 0) this.#endWait(this.#wait)
  }

  /** Follows whether the queue is paused, from beat to beat: asking with each claim would cost every call a command. */
  onBeat({ pausedMs }: Beat): void {
    const { queue, events, workerId } = this.#context
    const wasPaused = this.#isPaused
    this.#isPaused = pausedMs !== undefined
    if (pausedMs !== undefined) {
      // With each beat of the pause: what ends a wait may overtake that wait, which is sent on another connection.
      if (this.#wait) this.#endWait(this.#wait)
      if (!wasPaused) events.emit('queue:paused', { worker: workerId(), queue: queue.name, pausedMs })
    } else if (wasPaused) {
      // Tokens of the bells may be gone, and what they announced still waits.
      this.#callsWait = true
      this.#next()
      events.emit('queue:resumed', { worker: workerId(), queue: queue.name })
    }
  }

  /** No claim is started any more. One that waits for the bell is left to whoever closes its connection. */
  stop(): void {
    this.#stopping.abort()
  }

  /** Resolves when no claim is under way. */
  async settled(): Promise<void> {
    await this.#underWay
  }

  #endWait(wait: Wait): void {
    const { queue, commands } = this.#context
    wait.isDeaf = false
    void wait.clientId?.then(clientId => {
      if (clientId === undefined || this.#wait !== wait) return
      // Refused or lost: the wait ends by itself within seconds.
      commands.send(client => queue.endWait(client, clientId)).catch(() => undefined)
    })
  }

  /** Whether the next claim need not wait for a bell. Asked when it is sent: while jobs run there may be no room for those that wait. */
  get #moreWaits(): boolean {
    return this.#callsWait || (this.#jobsWait && this.#context.slots.jobRoom > 0)
  }

  get #isHalted(): boolean {
    return this.#isPaused || this.#stopping.signal.aborted
  }

  #next(): void {
    if (this.#underWay || this.#isHalted || this.#context.slots.idle <= 0) return
    this.#underWay = this.#claim().then(() => {
      this.#underWay = undefined
      this.#scheduled = true
      // Behind the replies of what finishes at once: writing the next wait first would hold them up.
      setImmediate(() => {
        this.#scheduled = false
        this.#next()
      })
    })
  }

  #send(workerId: string, wanted: ClaimOptions, isSure: boolean): Promise<Claimed | undefined> {
    const { queue, commands, waiting, slots, due, tick } = this.#context
    if (isSure) return commands.send(client => queue.claim(client, workerId, wanted))
    const wait: Wait = { clientId: undefined, isDeaf: slots.takesJobs && wanted.jobs <= 0 }
    this.#wait = wait
    return waiting
      .send(client => {
        // The answer of a deaf one's own question tells that the wait, behind it, has arrived: then it can be ended.
        wait.clientId = queue.clientId(client, wait.isDeaf)
        return queue.waitAndClaim(client, workerId, wanted, () => {
          due.onBell()
          tick.onBell()
        })
      })
      .finally(() => {
        this.#wait = undefined
      })
  }

  async #claim(): Promise<void> {
    const { commands, waiting, workerId, slots, measures, intake, problem } = this.#context
    for (let failures = 0; ; failures++) {
      const isSure = this.#moreWaits
      const connection = isSure ? commands : waiting
      if (!connection.isReady) await connection.whenReady(this.#stopping.signal)
      if (this.#isHalted) return
      const wanted = { slots: slots.idle, jobs: slots.jobRoom }
      const id = workerId()
      const stalledBefore = measures.loop.stalledMs()
      try {
        const claimed = await this.#send(id, wanted, isSure)
        if (!claimed) {
          await this.#renewLease(failures)
          continue
        }
        // Deadlines went on meanwhile, and so did the lease: what this brought may be somebody else's by now.
        const isStale = claimed.requests.length > 0 && measures.loop.stalledMs() - stalledBefore > staleMs
        const ageMs = isStale ? await this.#ageMs(claimed) : 0
        // Under an identity that was lost: others have adopted it.
        const restMs = id === workerId() ? intake.take(claimed, id, ageMs) : 0
        this.#callsWait = claimed.left > 0
        if (wanted.jobs > 0) this.#jobsWait = claimed.jobsLeft > 0
        if (restMs > 0) await sleep(restMs, this.#stopping.signal)
        return
      } catch (error) {
        // The answer may be lost with the claim made: what it took is found by reconcile. A wait that broke may have taken the
        // token with it, and what that announced still waits.
        if ((error as Error).name !== 'ReplyError') this.#callsWait = true
        else if (!this.#stopping.signal.aborted) problem('fetch')(error as Error)
        await sleep(backoffMs(failures, 20, 1000), this.#stopping.signal)
      }
    }
  }

  async #renewLease(failures: number): Promise<void> {
    await this.#context.beat.beatNow()
    // The bell's token is taken, and what it announced still waits.
    this.#callsWait = true
    // A beat that failed, on a full disk for one, must not make this a busy loop.
    await sleep(failures === 0 ? 0 : backoffMs(failures, 50, 1000), this.#stopping.signal)
  }

  /** How long ago, on Redis' clock, this claim was made; also finds out whether the lease is still held. */
  async #ageMs({ nowUs }: Claimed): Promise<number> {
    const { beat, clock } = this.#context
    if (!(await beat.beatAnew())) throw new Error('the lease could not be renewed')
    return (clock.atUs(monotonicMs()) - nowUs) / 1000
  }
}
