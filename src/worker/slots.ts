import { monotonicMs } from '../wire/clock.ts'
import type { SlotPool } from './slot-pool.ts'

/** Room that one running request takes. Counted by this token and not by the request's id, which may come twice. */
export interface Slot {
  readonly isJob: boolean
  /** The worker's identity it was taken under, by number; undefined once it is free. */
  takenUnder: number | undefined
}

const shareMs = 60_000

/**
 * What a worker holds of one queue: which requests it knows of, and which of its slots run one. A request is known from its claim
 * until Redis confirmed its release, which is longer than it runs; whatever Redis says we hold and is not known here was
 * claimed by an answer that got lost, or released by one that a failover took back.
 */
export class Slots {
  readonly #pool: SlotPool
  /** With the `at` of a job, as Redis has it: a further try comes under the same id with another one. */
  readonly #known = new Map<string, string>()
  /** Of these what waits for other queues or nodes. */
  readonly #outs = new Set<string>()
  #busy = 0
  readonly #released = new RecentIds()
  #busyJobs = 0
  /** Counts this worker's identities. */
  #identity = 0
  /** For how long slots were busy since the start, all slots together, and when that was counted last. */
  #usedMs = 0
  #accountedAt = monotonicMs()
  /** The same, as busyShare() saw it in the last minute. */
  readonly #looks = [{ at: this.#accountedAt, usedMs: 0 }]

  constructor(pool: SlotPool) {
    this.#pool = pool
  }

  /** All that the worker has, for all of its queues. */
  get size(): number {
    return this.#pool.size
  }

  /** How many requests may be claimed, of whatever queue. */
  get idle(): number {
    return this.#pool.idle
  }

  /** Those that run requests of this queue. */
  get busy(): number {
    return this.#busy
  }

  /** What share of its slots' time a worker used for this queue in the last minute, from look to look: 0 to 1. */
  busyShare(): number {
    this.#account()
    const [at, usedMs] = [this.#accountedAt, this.#usedMs]
    this.#looks.push({ at, usedMs })
    while (this.#looks.length > 2 && at - this.#looks[1]!.at >= shareMs) this.#looks.shift()
    const first = this.#looks[0]!
    const allMs = (at - first.at) * this.size
    return allMs <= 0 ? 0 : Math.min(1, (usedMs - first.usedMs) / allMs)
  }

  #account(now = monotonicMs()): void {
    if (now <= this.#accountedAt) return
    this.#usedMs += this.#busy * (now - this.#accountedAt)
    this.#accountedAt = now
  }

  knows(id: string): boolean {
    return this.#known.has(id)
  }

  /**
   * Marks a request as known. False when it is already: it must not run twice. A job that is known with another `at` was settled here, and
   * the answer to that is not here yet.
   */
  know(id: string, at = ''): boolean {
    const known = this.#known.get(id)
    if (known === at) return false
    this.#known.set(id, at)
    if (known === undefined) this.#pool.held++
    return true
  }

  /** It waits for another queue, or another node of a Cluster, and nothing here waits for it. */
  sendOut(id: string): void {
    if (this.#outs.has(id)) return
    this.#outs.add(id)
    this.#pool.outs++
    this.#pool.held--
  }

  /** How much waits for other queues or nodes. */
  get outs(): number {
    return this.#outs.size
  }

  /** The `at` that a job is known with. */
  atOf(id: string): string {
    return this.#known.get(id) ?? ''
  }

  knownIds(): string[] {
    return [...this.#known.keys()]
  }

  /** A request that was claimed at `now`, monotonic milliseconds, starts. */
  take(isJob: boolean, now: number): Slot {
    this.#account(now)
    this.#busy++
    if (isJob) this.#busyJobs++
    this.#pool.take(1, isJob ? 1 : 0)
    return { isJob, takenUnder: this.#identity }
  }

  /** What ran there ended; the slots can be given to others at once. Repeating it is harmless. */
  free(slots: readonly Slot[]): void {
    this.#account()
    for (const slot of slots) {
      if (slot.takenUnder !== this.#identity) continue
      slot.takenUnder = undefined
      this.#giveBack(1, slot.isJob ? 1 : 0)
    }
  }

  #giveBack(busy: number, jobs: number): void {
    this.#busy -= busy
    this.#busyJobs -= jobs
    this.#pool.take(-busy, -jobs)
  }

  /** Not held here any more: others have it. */
  forget(ids: readonly string[]): void {
    for (const id of ids) {
      if (!this.#known.delete(id)) continue
      if (this.#outs.delete(id)) this.#pool.outs--
      else this.#pool.held--
    }
  }

  /** Redis confirmed that these jobs were put where they belong. One that has come again since is held still. */
  settled(jobs: readonly { id: string; at: string }[]): void {
    this.forget(jobs.filter(({ id, at }) => this.#known.get(id) === at).map(({ id }) => id))
  }

  /** Redis confirmed that it is not held any more. */
  released(ids: readonly string[]): void {
    this.forget(ids)
    this.#released.add(ids)
  }

  /** Whether this worker settled and released it a while ago: a replica that was promoted may not have heard of that. */
  wasReleased(id: string): boolean {
    return this.#released.has(id)
  }

  /** The same for each request that is claimed, as far as it may be so: Redis forgets nothing while a connection lasts. */
  isRepeated(id: string): boolean {
    return this.#released.hasDoubted(id)
  }

  /** A connection is a new one: it may lead to a server that has forgotten what the one before was told last. */
  onReconnected(): void {
    this.#released.doubt()
  }

  /** After the identity changed: nothing of before counts. */
  reset(): void {
    this.#account()
    this.forget(this.knownIds())
    this.#identity++
    this.#giveBack(this.#busy, this.#busyJobs)
  }
}

/** What a worker releases in five seconds, if it does nothing else: a replica, or a file of commands, is one or two of them behind. */
const mostRemembered = 100_000
const firstRemembered = 1000

/**
 * The last ids that were released, as numbers of 53 bits made of them: kept as texts in a set they cost a busy worker a fifth of its
 * processor time, most of it for keeping them alive. That two ids make the same number happens once in 10^11 looks.
 */
class RecentIds {
  /** Grows as it fills: a worker may serve hundreds of queues, of which few are busy. */
  #numbers = new Float64Array(firstRemembered)
  #next = 0
  /** All of them, for many looks. */
  #index: Set<number> | undefined
  #certainAfter = 0

  add(ids: readonly string[]): void {
    for (const id of ids) {
      const number = numberOf(id)
      this.#index?.add(number)
      if (this.#next === this.#numbers.length) this.#makeRoom()
      this.#numbers[this.#next++] = number
    }
    this.#certainAfter -= ids.length
    if (this.#certainAfter <= 0) this.#index = undefined
  }

  /** Twice as much, or, where it may not grow any more, the place of the oldest. */
  #makeRoom(): void {
    const before = this.#numbers
    if (before.length === mostRemembered) {
      this.#next = 0
      return
    }
    this.#numbers = new Float64Array(Math.min(mostRemembered, before.length * 2))
    this.#numbers.set(before)
  }

  has(id: string): boolean {
    const number = numberOf(id)
    return this.#index ? this.#index.has(number) : this.#numbers.includes(number)
  }

  /** The same from doubt() on, until as many were released since as are remembered; else false. */
  hasDoubted(id: string): boolean {
    return this.#index?.has(numberOf(id)) ?? false
  }

  doubt(): void {
    if (this.#numbers[0] === 0) return
    this.#index = new Set(this.#numbers)
    this.#certainAfter = mostRemembered
  }
}

/** FNV-1a (Fowler, Noll, Vo) of 32 bits from two beginnings; 53 of these bits. */
const numberOf = (id: string): number => {
  let low = 0x811c9dc5
  let high = 0x01000193
  for (let at = 0; at < id.length; at++) {
    const code = id.charCodeAt(at)
    low = Math.imul(low ^ code, 16_777_619)
    high = Math.imul(high ^ code, 0x85ebca6b)
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0)
}
