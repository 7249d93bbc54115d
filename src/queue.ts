import { command } from './client.ts'
import { blockSeconds } from './connections.ts'
import type { Keys, QueueKeys } from './keys.ts'
import { isFull, type Redis } from './redis.ts'
import { type Script, scripts } from './scripts.ts'

/** What the push script made of a batch. */
export interface Pushed {
  /** How many of the batch, from its beginning, are in the list. */
  accepted: number
  /** Requests that were waiting before these. */
  length: number
  /** Redis microseconds, the `at` of all accepted requests, as text. */
  at: string
  /** True when an earlier try of the same push had arrived after all; this one did nothing. */
  repeated: boolean
  /** What was taken off each ttl because the push was so long on its way; at least 1 ms is left of it. */
  lateMs: number
}

export interface Claimed {
  /** Redis microseconds at the claim. */
  nowUs: number
  /** Calls that still wait. */
  left: number
  /** Jobs that still wait; 0 when the claim was not for jobs. */
  jobsLeft: number
  /** Requests dropped because their deadline had passed. */
  expired: number
  /** Requests dropped because too little of their time is left; their callers still wait. */
  hopeless: string[]
  /** Requests with the ids the script made up for them (undefined: the one in the message). Calls first, then jobs. */
  requests: { text: string; madeUpId: string | undefined; isJob: boolean }[]
}

/** What a worker asks a claim for. */
export interface ClaimOptions {
  /** Idle slots. */
  slots: number
  /** How many of them may go to jobs. */
  jobs: number
  /** Pairs of a task and the microseconds it runs at least, longest first. */
  runTimes: readonly (string | number)[]
}

export interface Beat {
  nowUs: number
  held: boolean
  /** Requests whose callers gave up in the last seconds. */
  cancelled: string[]
  /** Other workers of the queue whose leases have ended. */
  ended: string[]
  /** Undefined unless this worker is the one that reports the queue. */
  figures: QueueFigures | undefined
  /** Since when the queue is paused, Redis milliseconds; undefined when it is served. */
  pausedMs: number | undefined
}

/** A queue at one moment, as Redis has it. */
export interface QueueFigures {
  /** Requests that wait. */
  length: number
  /** How long the first of them has waited; 0 when none waits, undefined when it carries no time. */
  oldestMs: number | undefined
}

/** What was taken over from a lost worker. */
export interface Adopted {
  /** True when nothing is left to take over. */
  done: boolean
  requests: { id: string; text: string }[]
}

/** A hub's push numbers are remembered this long, and a push in doubt is repeated for half of it at most. */
export const pushMemoryMs = 60_000

/** Replies nobody fetches go after this long. */
export const replyTtlMs = 60_000

/** Replies up to this many and this long go as plain commands. */
const maxPlainReplies = 32
const maxPlainReplyLength = 400

/** Each live worker has read the word by then: they look every second. */
const cancelMemoryMs = 5000

/** A worker that reports its queue and does not beat for this long is replaced by another one. */
export const reporterMs = 3000
const adoptBatch = 64

/** The queue's operations, one atomic step each: one method per script, and nothing above them writes a Redis command. */
export class Queue {
  readonly name: string
  readonly keys: QueueKeys
  readonly #allKeys: Keys
  readonly #clientIds = new WeakMap<Redis, Promise<number | undefined>>()

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
    messages: string[],
    countedAtUs = 0,
  ): Promise<Pushed> {
    const { calls, bell, pushed } = this.keys
    const answer = (await scripts.push.run(
      client,
      [calls, bell, pushed(hubId)],
      [number, pushMemoryMs, maxLength, countedAtUs, ...messages],
    )) as [number, number, string, number, number]
    const [accepted, length, at, repeated, lateMs] = answer
    return { accepted, length, at, repeated: repeated === 1, lateMs }
  }

  /** Takes requests for idle slots. Undefined when the worker's lease has ended; then nothing was taken. */
  async claim(client: Redis, workerId: string, wanted: ClaimOptions): Promise<Claimed | undefined> {
    const { calls, bell, held, leases, jobs, jobBell } = this.keys
    const answer = await scripts.claim.run(
      client,
      [calls, bell, held(workerId), leases, jobs, jobBell],
      [workerId, wanted.slots, wanted.jobs, ...wanted.runTimes],
    )
    const [now, left, expired, texts, named, hopeless, callCount, jobsLeft] = answer as
      | [string, -1]
      | [string, number, number, string[], (number | string)[], string[], number, number]
    if (left === -1 || !texts || !named || !hopeless) return undefined
    const requests = texts.map((text, index) => ({
      text,
      madeUpId: undefined as string | undefined,
      isJob: index >= callCount!,
    }))
    for (let i = 0; i < named.length; i += 2) requests[Number(named[i]) - 1]!.madeUpId = String(named[i + 1])
    return { nowUs: Number(now), left, jobsLeft: jobsLeft!, expired: expired!, requests, hopeless }
  }

  /**
   * Waits for the bell, and for that of the jobs when they are wanted, then claims, in one go: Redis runs the claim the
   * moment a bell wakes this connection. `onBlocked` is told how Redis calls the connection, for endWait().
   */
  async waitAndClaim(
    client: Redis,
    workerId: string,
    wanted: ClaimOptions,
    onBlocked?: (clientId: number) => void,
  ): Promise<Claimed | undefined> {
    const { bell, jobBell } = this.keys
    let refused: unknown
    // Ahead of the wait, so that it is answered while that goes on. Without the right to ask, the wait ends by itself.
    if (onBlocked)
      command(client, 'client', 'id').then(
        id => onBlocked(Number(id)),
        () => undefined,
      )
    const bells = wanted.jobs > 0 ? [bell, jobBell] : [bell]
    command(client, 'blpop', ...bells, blockSeconds).catch(error => {
      refused = error
    })
    const claimed = await this.claim(client, workerId, wanted)
    // A bell that cannot be waited for, answered ahead of the claim, must not make this a busy loop.
    if (refused) throw refused
    return claimed
  }

  /** How Redis calls a connection, for endWait(); undefined where it may not be asked. Asked once: waits come with each call. */
  clientId(client: Redis): Promise<number | undefined> {
    let id = this.#clientIds.get(client)
    if (!id) {
      id = command(client, 'client', 'id').then(Number, () => undefined)
      this.#clientIds.set(client, id)
    }
    return id
  }

  /** Ends a wait for the bell early; does nothing when it is over. */
  async endWait(client: Redis, clientId: number): Promise<void> {
    await command(client, 'client', 'unblock', clientId)
  }

  /**
   * Puts replies on a hub's list. Small ones go as two plain commands, which cost Redis half of what the script does;
   * both leave in one packet, so there is no list without an end of life. A full Redis refuses the plain push and takes
   * the script.
   */
  async reply(client: Redis, hubId: string, replies: string[]): Promise<void> {
    const key = this.#allKeys.reply(hubId)
    if (replies.length <= maxPlainReplies && replies.every(reply => reply.length <= maxPlainReplyLength)) {
      const pushed = command(client, 'rpush', key, ...replies)
      command(client, 'pexpire', key, replyTtlMs).catch(() => undefined)
      try {
        await pushed
        return
      } catch (error) {
        if (!isFull(error as Error)) throw error
      }
    }
    await scripts.reply.run(client, [key], [replyTtlMs, ...replies])
  }

  /** Keeps jobs that are given up. Repeating it is harmless. */
  async bury(client: Redis, texts: string[], atMs: number): Promise<void> {
    await command(client, 'zadd', this.keys.dead, ...texts.flatMap(text => [Math.floor(atMs), text]))
  }

  /** Forgets settled requests. Always sent behind their replies: a crash in between repeats a reply, which is harmless. */
  async release(client: Redis, workerId: string, ids: string[]): Promise<void> {
    await command(client, 'hdel', this.keys.held(workerId), ...ids)
  }

  /** `reports`: this worker would report the queue's figures, if no other one does. */
  async beat(client: Redis, workerId: string, leaseMs: number, isNew: boolean, reports = false): Promise<Beat> {
    const { script, keys, args } = this.beatCommand(workerId, leaseMs, isNew, reports)
    const answer = await script.run(client, keys, args)
    const [now, held, cancelled, ended, figures, paused] = answer as BeatAnswer
    const nowUs = Number(now)
    const pausedMs = paused ? Number(paused) : undefined
    return { nowUs, held: held === 1, cancelled, ended, figures: figuresOf(nowUs, figures), pausedMs }
  }

  /** A beat that somebody else sends: the thread that stands in for a blocked loop. */
  beatCommand(
    workerId: string,
    leaseMs: number,
    isNew: boolean,
    reports = false,
  ): { script: Script; keys: string[]; args: (string | number)[] } {
    const { leases, cancelled, reporter, calls, paused } = this.keys
    const args = [workerId, leaseMs, isNew ? 1 : 0, cancelMemoryMs, reports ? reporterMs : 0]
    return { script: scripts.beat, keys: [leases, cancelled, reporter, calls, paused], args }
  }

  /** Puts held requests back, as they are or with another text. Returns how many were still held. */
  async handback(
    client: Redis,
    workerId: string,
    side: 'head' | 'tail',
    requests: { id: string; text?: string }[],
  ): Promise<number> {
    const { held, calls, bell, jobs, jobBell } = this.keys
    const pairs = requests.flatMap(({ id, text }) => [id, text ?? ''])
    const keys = [held(workerId), calls, bell, jobs, jobBell]
    return (await scripts.handback.run(client, keys, [side, ...pairs])) as number
  }

  /** Undefined when there is nothing to adopt: the other worker lives, or this one has no lease itself. */
  async adopt(client: Redis, lostId: string, workerId: string): Promise<Adopted | undefined> {
    const { leases, held } = this.keys
    const keys = [leases, held(lostId), held(workerId)]
    const [state, ...flat] = (await scripts.adopt.run(client, keys, [lostId, workerId, adoptBatch])) as [
      number,
      ...string[],
    ]
    if (state === -1) return undefined
    const requests: Adopted['requests'] = []
    for (let i = 0; i + 1 < flat.length; i += 2) requests.push({ id: flat[i]!, text: flat[i + 1]! })
    return { done: state === 1, requests }
  }

  /** True when the request still waited and is gone now; else the worker that runs it is told with its next beat. */
  async cancel(client: Redis, id: string, text: string): Promise<boolean> {
    const { calls, cancelled } = this.keys
    return (await scripts.cancel.run(client, [calls, cancelled], [id, text, cancelMemoryMs])) === 1
  }

  /** Ids this worker holds, as Redis knows it. */
  async heldIds(client: Redis, workerId: string): Promise<string[]> {
    return client.hkeys(this.keys.held(workerId))
  }

  async heldTexts(client: Redis, workerId: string, ids: string[]): Promise<(string | null)[]> {
    return client.hmget(this.keys.held(workerId), ...ids)
  }

  /** Ends the lease and puts back all that was not started. Returns how many went back. */
  async leave(client: Redis, workerId: string, started: string[]): Promise<number> {
    const { held, calls, bell, leases, jobs, jobBell, reporter } = this.keys
    const keys = [held(workerId), calls, bell, leases, jobs, jobBell, reporter]
    return (await scripts.leave.run(client, keys, [workerId, ...started])) as number
  }
}

type BeatFigures = [] | [length: number, at: string]
type BeatAnswer = [now: string, held: number, cancelled: string[], ended: string[], BeatFigures?, paused?: string]

const figuresOf = (nowUs: number, [length, at]: BeatFigures = []): QueueFigures | undefined => {
  if (length === undefined) return undefined
  if (length === 0) return { length, oldestMs: 0 }
  return { length, oldestMs: at ? Math.max(0, nowUs - Number(at)) / 1000 : undefined }
}
