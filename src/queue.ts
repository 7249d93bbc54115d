import {
  type Adopted,
  type Beat,
  type Claimed,
  type Pushed,
  readAdopted,
  readBeat,
  readClaimed,
  readPushed,
} from './answers.ts'
import { command, Preset } from './client.ts'
import { blockSeconds } from './connections.ts'
import type { Keys, QueueKeys } from './keys.ts'
import { isFull, type Redis } from './redis.ts'
import { KeyedScript, type Script, scripts } from './scripts.ts'

/** What a worker asks a claim for. */
export interface ClaimOptions {
  /** Idle slots. */
  slots: number
  /** How many of them may go to jobs. */
  jobs: number
  /** Pairs of a task and the microseconds it runs at least, longest first. */
  runTimes: readonly (string | number)[]
}

/** A hub's push numbers are remembered this long, and a push in doubt is repeated for half of it at most. */
export const pushMemoryMs = 60_000

/** Replies nobody fetches go after this long. */
export const replyTtlMs = 60_000

/** Commands are kept encoded for as many hubs. */
const maxHubs = 1000

/** Each live worker has read the word by then: they look every second. */
const cancelMemoryMs = 5000

/** A worker that reports its queue and does not beat for this long is replaced by another one. */
export const reporterMs = 3000
const adoptBatch = 64

interface ReplyCommands {
  push: Preset
  expire: Preset
}

/** The queue's operations, one atomic step each: one method per script, and nothing above them writes a Redis command. */
export class Queue {
  readonly name: string
  readonly keys: QueueKeys
  readonly #allKeys: Keys
  readonly #clientIds = new WeakMap<Redis, Promise<number | undefined>>()
  readonly #waitForCalls: Preset
  readonly #waitForAll: Preset
  #push: { owner: string; script: KeyedScript } | undefined
  #claim: { owner: string; script: KeyedScript } | undefined
  #release: { owner: string; command: Preset } | undefined
  readonly #replies = new Map<string, ReplyCommands>()

  constructor(name: string, keys: Keys) {
    this.name = name
    this.keys = keys.queue(name)
    this.#allKeys = keys
    const { bell, jobBell } = this.keys
    this.#waitForCalls = new Preset('blpop', bell, blockSeconds)
    this.#waitForAll = new Preset('blpop', bell, jobBell, blockSeconds)
  }

  /** `countedAtUs` is Redis' time when the messages' ttls were counted, as far as that is known; else 0. */
  push(
    client: Redis,
    hubId: string,
    number: number,
    maxLength: number,
    messages: readonly string[],
    countedAtUs = 0,
  ): Promise<Pushed> {
    const { calls, bell, pushed } = this.keys
    if (this.#push?.owner !== hubId)
      this.#push = { owner: hubId, script: new KeyedScript(scripts.push, [calls, bell, pushed(hubId)]) }
    return this.#push.script.run(client, [number, pushMemoryMs, maxLength, countedAtUs, ...messages], readPushed)
  }

  /** Takes requests for idle slots. Undefined when the worker's lease has ended; then nothing was taken. */
  claim(client: Redis, workerId: string, wanted: ClaimOptions): Promise<Claimed | undefined> {
    const { calls, bell, held, leases, jobs, jobBell } = this.keys
    if (this.#claim?.owner !== workerId) {
      const keys = [calls, bell, held(workerId), leases, jobs, jobBell]
      this.#claim = { owner: workerId, script: new KeyedScript(scripts.claim, keys) }
    }
    return this.#claim.script.run(client, [workerId, wanted.slots, wanted.jobs, ...wanted.runTimes], readClaimed)
  }

  /**
   * Waits for the bell, and for that of the jobs when they are wanted, then claims, in one go: Redis runs the claim the
   * moment a bell wakes this connection. `onBlocked` is told how Redis calls the connection, for endWait().
   */
  waitAndClaim(
    client: Redis,
    workerId: string,
    wanted: ClaimOptions,
    onBlocked?: (clientId: number) => void,
  ): Promise<Claimed | undefined> {
    let refused: unknown
    // Ahead of the wait, so that it is answered while that goes on. Without the right to ask, the wait ends by itself.
    if (onBlocked)
      command(client, 'client', 'id').then(
        id => onBlocked(Number(id)),
        () => undefined,
      )
    const wait = wanted.jobs > 0 ? this.#waitForAll : this.#waitForCalls
    wait.send(client, []).catch(error => {
      refused = error
    })
    return this.claim(client, workerId, wanted).then(claimed => {
      // A bell that cannot be waited for, answered ahead of the claim, must not make this a busy loop.
      if (refused) throw refused
      return claimed
    })
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
   * Puts replies on a hub's list. As two plain commands, because the script costs Redis three times as much, and twelve times
   * as much with replies of 10 kB: its Lua hashes every byte that it is given (redis/redis#9449). Both leave in one packet, so
   * there is no list without an end of life. A full Redis refuses the plain push and takes the script.
   */
  reply(client: Redis, hubId: string, replies: readonly string[]): Promise<unknown> {
    const { push, expire } = this.#replyCommands(hubId)
    const pushed = push.send(client, replies)
    expire.send(client, []).catch(() => undefined)
    return pushed.catch(error => {
      if (!isFull(error as Error)) throw error
      return scripts.reply.run(client, [this.#allKeys.reply(hubId)], [replyTtlMs, ...replies])
    })
  }

  #replyCommands(hubId: string): ReplyCommands {
    let commands = this.#replies.get(hubId)
    if (!commands) {
      const key = this.#allKeys.reply(hubId)
      commands = { push: new Preset('rpush', key), expire: new Preset('pexpire', key, replyTtlMs) }
      if (this.#replies.size >= maxHubs) this.#replies.clear()
      this.#replies.set(hubId, commands)
    }
    return commands
  }

  /** Keeps jobs that are given up. Repeating it is harmless. */
  async bury(client: Redis, texts: string[], atMs: number): Promise<void> {
    await command(client, 'zadd', this.keys.dead, ...texts.flatMap(text => [Math.floor(atMs), text]))
  }

  /** Forgets settled requests. Always sent behind their replies: a crash in between repeats a reply, which is harmless. */
  async release(client: Redis, workerId: string, ids: readonly string[]): Promise<void> {
    if (this.#release?.owner !== workerId)
      this.#release = { owner: workerId, command: new Preset('hdel', this.keys.held(workerId)) }
    await this.#release.command.send(client, ids)
  }

  /** `reports`: this worker would report the queue's figures, if no other one does. */
  async beat(client: Redis, workerId: string, leaseMs: number, isNew: boolean, reports = false): Promise<Beat> {
    const { script, keys, args } = this.beatCommand(workerId, leaseMs, isNew, reports)
    return readBeat(await script.run(client, keys, args))
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
    return readAdopted(await scripts.adopt.run(client, keys, [lostId, workerId, adoptBatch]))
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
