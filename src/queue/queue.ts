import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { isFull } from '../redis/failures.ts'
import { functionOf, run } from '../redis/library.ts'
import {
  type Adopted,
  type Beat,
  type Claimed,
  type ClaimedRequest,
  type HeldText,
  type Pushed,
  readAdopted,
  readBeat,
  readClaimed,
  readPushed,
} from '../wire/answers.ts'
import { numberIn } from '../wire/foreign.ts'
import type { Keys, QueueKeys } from '../wire/keys.ts'
import { leadingId } from '../wire/message.ts'
import type { BeatWords } from './beats.ts'
import { waitForBells } from './bells.ts'

/** What a worker asks a claim for. */
export interface ClaimOptions {
  /** Idle slots. */
  slots: number
  /** How many of them may go to jobs. */
  jobs: number
  /** Which tasks merge their jobs. */
  merging?: readonly MergedTask[]
  /** The epoch of its shards, as far as this worker knows; absent: it has none. */
  epoch?: number | undefined
}

/** How many keys a run of it gets at the most, and how many payloads of each. */
export interface MergedTask {
  task: string
  batch: number
  maxPayloads: number
}

/** A hub's push numbers are remembered this long, and a push in doubt is repeated for half of it at most. */
export const pushMemoryMs = 60_000

/** What lies beside a request goes so long after its deadline, which is counted from when the request is in the list. */
const argsSpareMs = 5000

/** Replies nobody fetches go after this long. */
export const replyTtlMs = 60_000

/** Each live worker has read the word by then: they look every second. */
export const cancelMemoryMs = 5000

/** A worker that reports its queue and does not beat for this long is replaced by another one. */
export const reporterMs = 3000
const adoptBatch = 64
/** Jobs that are kept when they were given up; the oldest make room, and go after so many days. */
export const maxDead = 10_000
export const deadMs = 180 * 24 * 3600 * 1000
/** A worker that looks after what is due and does not beat for this long is replaced by another one. */
const turnMs = 1200
/** What one answer or one write may hold, but for a single message that is larger: on a slow link more of it comes too late. */
export const maxBatchBytes = 1_000_000

/** The queue's operations, one atomic step each: one method per function of the library, and nothing above them writes a Redis command. */
export class Queue {
  readonly name: string
  readonly keys: QueueKeys
  readonly #allKeys: Keys

  constructor(name: string, keys: Keys) {
    this.name = name
    this.keys = keys.queue(name)
    this.#allKeys = keys
  }

  /** `countedAtUs` is Redis' time when the messages' ttls were counted, as far as that is known; else 0. */
  async push(
    client: Redis,
    hubId: string,
    number: number,
    maxLength: number,
    messages: readonly string[],
    countedAtUs = 0,
  ): Promise<Pushed> {
    const { calls, bell, pushed } = this.keys
    const args = [number, pushMemoryMs, maxLength, countedAtUs, ...messages]
    return readPushed(await run(client, 'push', [calls, bell, pushed(hubId)], args))
  }

  /** Takes requests for idle slots. Undefined when the worker's lease has ended; then nothing was taken. */
  async claim(
    client: Redis,
    workerId: string,
    { slots, jobs, merging, epoch = 0 }: ClaimOptions,
  ): Promise<Claimed | undefined> {
    const { calls, bell, held, leases, jobs: jobList, jobBell } = this.keys
    const keys = [calls, bell, held(workerId), leases, jobList, jobBell]
    const args = [workerId, slots, jobs, maxBatchBytes, epoch]
    if (jobs > 0 && merging) for (const { task, batch, maxPayloads } of merging) args.push(task, batch, maxPayloads)
    // This worker fetches what lies beside a request.
    args.push(1)
    const claimed = readClaimed(await run(client, 'claim', keys, args))
    const apart = claimed?.requests.filter(({ isApart }) => isApart) ?? []
    if (apart.length > 0) await this.#fetchArgs(client, apart)
    return claimed
  }

  /** Gives requests what lies beside them. Where it is not there any more, the deadline has passed, or somebody deleted it. */
  async #fetchArgs(client: Redis, requests: ClaimedRequest[]): Promise<void> {
    const keys = requests.map(({ text }) => this.keys.args(leadingId(text) ?? ''))
    const found = (await command(client, 'mget', ...keys)) as (string | null)[]
    requests.forEach((request, index) => {
      request.argsBeside = found[index] ?? undefined
    })
  }

  /**
   * Lays arguments beside the request that is pushed behind them on the same connection, until after its deadline. Lua hashes every byte
   * that it is given (redis/redis#9449), three times for what is pushed and claimed: of 100 kB that was three quarters of all that a call
   * cost Redis, and others waited meanwhile. What refuses them, a full Redis for one, refuses the push behind them too; where it does
   * not, whoever takes the request finds that its arguments are not there, and says so.
   */
  layArgs(client: Redis, id: string, args: string, ttlMs: number): void {
    command(client, 'set', this.keys.args(id), args, 'PX', ttlMs + argsSpareMs).catch(() => undefined)
  }

  /** Takes them away again, as soon as their call is over. */
  async dropArgs(client: Redis, id: string): Promise<void> {
    await command(client, 'unlink', this.keys.args(id))
  }

  /**
   * Waits for the bell, and for those of the jobs when they are wanted, then claims, in one go: Redis runs the claim the
   * moment a bell wakes this connection. `onDueBell`: what woke it is a job that is due before all others.
   */
  async waitAndClaim(
    client: Redis,
    workerId: string,
    wanted: ClaimOptions,
    onDueBell?: () => void,
  ): Promise<Claimed | undefined> {
    const waited = waitForBells(client, [{ keys: this.keys, wantsJobs: wanted.jobs > 0 }])
    const claiming = this.claim(client, workerId, wanted)
    claiming.catch(() => undefined)
    // A bell that cannot be waited for, answered ahead of the claim, must not make this a busy loop.
    const rung = await waited
    if (rung?.bell === 'dueBell') onDueBell?.()
    return claiming
  }

  /**
   * Puts replies on a hub's list. As two plain commands, because the function costs Redis three times as much, and twelve times
   * as much with replies of 10 kB: its Lua hashes every byte that it is given (redis/redis#9449). Both leave in one packet, so
   * there is no list without an end of life. A full Redis refuses the plain push and takes the function.
   */
  async reply(client: Redis, hubId: string, replies: readonly string[]): Promise<void> {
    const key = this.#allKeys.reply(hubId)
    const pushed = command(client, 'rpush', key, ...replies)
    const expires = command(client, 'pexpire', key, replyTtlMs)
    // On a Cluster it may fail a moment before the other one does, while nobody waits for it yet.
    expires.catch(() => undefined)
    try {
      await pushed
    } catch (error) {
      if (!isFull(error as Error)) throw error
      await run(client, 'reply', [key], [replyTtlMs, ...replies])
      return
    }
    await expires
  }

  /** How many chunks of a stream its caller says that it has taken; undefined where it says nothing. */
  async taken(client: Redis, hubId: string, id: string): Promise<number | undefined> {
    return numberIn((await command(client, 'get', this.#allKeys.taken(hubId, id))) as string | null)
  }

  /** Forgets settled requests. Never sent before their replies are in Redis: a crash in between repeats a reply, which is harmless. */
  async release(client: Redis, workerId: string, ids: readonly string[]): Promise<void> {
    await command(client, 'hdel', this.keys.held(workerId), ...ids)
  }

  /** What else this worker would do, if no other one does: report the queue's figures, and look after what is due. */
  async beat(
    client: Redis,
    workerId: string,
    leaseMs: number,
    isNew: boolean,
    { reports = false, moves = false } = {},
  ): Promise<Beat> {
    const { keys, args } = this.beatOf(workerId, leaseMs, isNew, { reports, moves })
    return readBeat(await run(client, 'beat', keys, args))
  }

  /** The words of a beat that somebody else sends: the thread that stands in for a blocked loop. */
  beatWords(workerId: string, leaseMs: number): (string | number)[] {
    const { keys, args } = this.beatOf(workerId, leaseMs, false)
    return [functionOf('beat'), keys.length, ...keys, ...args]
  }

  /** The same, to be sent with those of further queues. */
  beatOf(workerId: string, leaseMs: number, isNew: boolean, { reports = false, moves = false } = {}): BeatWords {
    const { leases, cancelled, reporter, calls, paused, held, jobs } = this.keys
    const turn = moves ? turnMs : 0
    const args = [workerId, leaseMs, isNew ? 1 : 0, cancelMemoryMs, reports ? reporterMs : 0, turn, turn]
    return { keys: [leases, cancelled, reporter, calls, paused, held(workerId), jobs], args }
  }

  /** Puts held requests back as they are. Returns how many were still held. */
  async handback(client: Redis, workerId: string, side: 'head' | 'tail', ids: readonly string[]): Promise<number> {
    const { held, calls, bell, jobs, jobBell } = this.keys
    return (await run(client, 'handback', [held(workerId), calls, bell, jobs, jobBell], [side, ...ids])) as number
  }

  /** Undefined when there is nothing to adopt: the other worker lives, or this one has no lease itself. */
  async adopt(client: Redis, lostId: string, workerId: string): Promise<Adopted | undefined> {
    const { leases, held, calls, bell, jobs, jobBell } = this.keys
    const keys = [leases, held(lostId), held(workerId), calls, bell, jobs, jobBell]
    const args = [lostId, workerId, adoptBatch, maxBatchBytes, maxDead, deadMs]
    return readAdopted(await run(client, 'adopt', keys, args))
  }

  /** True when the request still waited and is gone now; else the worker that runs it is told with its next beat. */
  async cancel(client: Redis, id: string, text: string): Promise<boolean> {
    const { calls, cancelled } = this.keys
    return (await run(client, 'cancel', [calls, cancelled], [id, text, cancelMemoryMs])) === 1
  }

  /** Ids this worker holds, as Redis knows it. */
  async heldIds(client: Redis, workerId: string): Promise<string[]> {
    return (await command(client, 'hkeys', this.keys.held(workerId))) as string[]
  }

  /** What is held under some of these ids: one after the other, until the texts are as long as an answer may be. */
  async heldTexts(client: Redis, workerId: string, ids: readonly string[]): Promise<HeldText[]> {
    const found: HeldText[] = []
    let chars = 0
    for (const id of ids) {
      if (chars >= maxBatchBytes) break
      const text = await command(client, 'hget', this.keys.held(workerId), id)
      if (typeof text !== 'string') continue
      found.push({ id, text })
      chars += text.length
    }
    return found
  }

  /** Ends the lease and puts back all that may be run by another worker. Returns how many went back. */
  async leave(client: Redis, workerId: string, started: readonly string[]): Promise<number> {
    const { held, calls, bell, leases, jobs, jobBell, reporter } = this.keys
    const keys = [held(workerId), calls, bell, leases, jobs, jobBell, reporter]
    return (await run(client, 'leave', keys, [workerId, ...started])) as number
  }
}
