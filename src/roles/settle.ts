import { backoffMs, sleep } from '../clock.ts'
import type { Queue } from '../queue.ts'
import { type Connection, isFull, isTransient } from '../redis.ts'
import type { Settlement } from '../settlement.ts'
import type { TakenRequest } from '../taken.ts'

export interface SettleOptions {
  queue: Queue
  connection: Connection
  workerId(): string
  /** Redis' time, about. */
  redisNowMs(): number
  /** False when the lease may have ended since it was renewed last: others may answer for what we hold. */
  isLeaseCertain(): boolean
  /** Resolves when that is cleared up, or cannot be at the moment. */
  renewLease(): Promise<unknown>
  /** In the tick in which their releases were sent: their slots are idle now. */
  onSlotsIdle(ids: string[]): void
  /** Redis confirmed the releases. */
  onReleased(ids: string[]): void
  onProblem(error: Error): void
}

const maxBatch = 256

/**
 * Replies, then releases. What ended in one tick goes in one write: one push per hub, then the removal from what is
 * held. In that order, because a crash in between repeats a reply, which the hub recognises, instead of losing one.
 */
export class Settle {
  readonly #options: SettleOptions
  readonly #stopping = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
  #batch: Settlement[] = []

  constructor(options: SettleOptions) {
    this.#options = options
  }

  add(settlement: Settlement): void {
    if (this.#batch.push(settlement) > 1) return
    // A lone reply leaves at the end of this tick; under load those of a whole turn of the loop go together.
    if (this.#underWay.size === 0) process.nextTick(() => this.#flush())
    else setImmediate(() => this.#flush())
  }

  /** Resolves when everything added so far is confirmed, refused for good, or left to stop(). */
  async drained(): Promise<void> {
    this.#flush()
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Ends the retries of what could not be sent. */
  stop(): void {
    this.#stopping.abort()
  }

  #flush(): void {
    const all = this.#batch
    if (all.length === 0) return
    this.#batch = []
    for (let from = 0; from < all.length; from += maxBatch) {
      const batch = all.slice(from, from + maxBatch)
      const delivery = this.#deliver(batch).finally(() => this.#underWay.delete(delivery))
      this.#underWay.add(delivery)
    }
    this.#options.onSlotsIdle(all.filter(({ slot }) => slot).map(({ id }) => id))
  }

  async #deliver(batch: Settlement[]): Promise<void> {
    const { connection, isLeaseCertain, renewLease, onProblem } = this.#options
    for (let attempt = 0; ; attempt++) {
      try {
        if (!isLeaseCertain()) await renewLease()
        return await this.#send(batch)
      } catch (error) {
        if (!mayPass(error as Error)) return onProblem(error as Error)
      }
      await sleep(backoffMs(attempt, 20, 1000), this.#stopping.signal)
      await connection.whenReady(this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
    }
  }

  async #send(batch: Settlement[]): Promise<void> {
    const { queue, connection, workerId, redisNowMs, onReleased, onProblem } = this.#options
    const current = workerId()
    const ids: string[] = []
    const dead: string[] = []
    const taken: TakenRequest[] = []
    const repliesOf = new Map<string, string[]>()
    for (const settlement of batch) {
      // Claimed under an identity that was lost: somebody else answers for it by now.
      if (settlement.workerId !== current) continue
      const { id, hubId, reply } = settlement
      if (settlement.taken === undefined) ids.push(id)
      else taken.push({ id, text: settlement.taken })
      if (settlement.dead !== undefined) dead.push(settlement.dead)
      if (hubId === undefined) continue
      const replies = repliesOf.get(hubId)
      if (replies) replies.push(reply)
      else repliesOf.set(hubId, [reply])
    }
    if (ids.length === 0 && taken.length === 0) return
    // Answered before the release is sent: a full Redis refuses this one alone, and the job would be nowhere.
    if (dead.length > 0) await connection.send(client => queue.bury(client, dead, redisNowMs()))
    await connection.send(client => {
      const sent: Promise<unknown>[] = []
      for (const [hubId, replies] of repliesOf) {
        const replied = queue.replies.push(client, hubId, replies).catch(error => {
          // One hub's spoilt reply list must not keep the others' replies back.
          if (mayPass(error)) throw error
          onProblem(error)
        })
        sent.push(replied)
      }
      sent.push(queue.release(client, current, ids, taken))
      return Promise.all(sent)
    })
    onReleased(taken.length > 0 ? [...ids, ...taken.map(({ id }) => id)] : ids)
  }
}

/** A full disk, which refuses releases too, is repaired in the end: given up, a request would be held for ever. */
const mayPass = (error: Error): boolean => isTransient(error) || isFull(error)
