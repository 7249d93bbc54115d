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
import { BellWaits } from './bellwaits.ts'
import { command } from './client.ts'
import type { Keys, QueueKeys } from './keys.ts'
import { leadingId } from './message.ts'
import { isFull, type Redis } from './redis.ts'
import { ReplyLists } from './replylists.ts'
import { KeyedScript, type Script, scripts } from './scripts.ts'
import { heldIdOf, isAdopted, readTake, TakenCalls, type TakenRequest } from './taken.ts'
import { Preset, Volley } from './volley.ts'

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

/** Each live worker has read the word by then: they look every second. */
const cancelMemoryMs = 5000

/** A worker that reports its queue and does not beat for this long is replaced by another one. */
export const reporterMs = 3000
const adoptBatch = 64

/**
 * For so long a worker that left, or was adopted from, can take nothing by itself: its last wait may still be on its way. A wait that
 * has arrived ends after two seconds; of one that is adopted from, a broken network may deliver it much later.
 */
const leftMs = 5000
const adoptedMs = 600_000

/** The queue's operations, one atomic step each: one method per script, and nothing above them writes a Redis command. */
export class Queue {
  readonly name: string
  readonly keys: QueueKeys
  readonly waits: BellWaits
  readonly taken: TakenCalls
  readonly replies: ReplyLists
  #push: { owner: string; script: KeyedScript } | undefined
  #claim: { owner: string; script: KeyedScript } | undefined
  #release: { owner: string; command: Preset } | undefined

  constructor(name: string, keys: Keys) {
    this.name = name
    this.keys = keys.queue(name)
    this.taken = new TakenCalls(this.keys)
    this.replies = new ReplyLists(keys)
    this.waits = new BellWaits(this.keys)
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
   * moment a bell wakes this connection. `onBlocked` is told how Redis calls the connection, for waits.end().
   */
  waitAndClaim(
    client: Redis,
    workerId: string,
    wanted: ClaimOptions,
    onBlocked?: (clientId: number) => void,
  ): Promise<Claimed | undefined> {
    let refused: unknown
    this.waits.sayWho(client, onBlocked)
    this.waits
      .command(wanted.jobs > 0)
      .send(client)
      .catch(error => {
        refused = error
      })
    return this.claim(client, workerId, wanted).then(claimed => {
      // A bell that cannot be waited for, answered ahead of the claim, must not make this a busy loop.
      if (refused) throw refused
      return claimed
    })
  }

  /**
   * The same for a call that is expected to come alone: it is taken without the claim script, which then claims what else there is.
   * For a worker with a second idle slot: it has taken the bell's token, and unless it claims what is left, nobody is woken for
   * that. Together, because a handler that is started in between may block the loop.
   */
  waitAndTake(
    client: Redis,
    workerId: string,
    wanted: ClaimOptions,
    onBlocked?: (clientId: number) => void,
  ): Promise<Claimed | undefined> {
    this.waits.sayWho(client, onBlocked)
    const volley = new Volley(client).add(this.waits.command(wanted.jobs > 0))
    this.taken.addTake(volley, workerId)
    return volley.answers.then(([rung, ...answers]) => {
      if (rung instanceof Error) throw rung
      // A full Redis refuses the move, and runs the script.
      if (answers.some(answer => answer instanceof Error && isFull(answer))) return this.claim(client, workerId, wanted)
      const { text, nowUs, left, hasLease } = readTake(answers)
      // Whom another bell woke, or none, must look for jobs as well.
      const jobsLeft = (rung as string[] | null)?.[0] === this.keys.bell ? 0 : 1
      const claimed: Claimed = { nowUs, left, jobsLeft, expired: 0, hopeless: [], requests: [] }
      if (text === undefined) return hasLease ? claimed : undefined
      const id = leadingId(text)
      if (id === undefined || !hasLease)
        return this.#moveTaken(client, workerId, wanted, text, hasLease ? claimed : undefined)
      claimed.requests.push({ text, madeUpId: undefined, isJob: false, isTaken: true })
      return left === 0 ? claimed : this.#withRest(client, workerId, wanted, claimed)
    })
  }

  /** What was taken without a lease goes back, and what has no id is held under one that is made up. */
  async #moveTaken(
    client: Redis,
    workerId: string,
    wanted: ClaimOptions,
    text: string,
    claimed: Claimed | undefined,
  ): Promise<Claimed | undefined> {
    const id = heldIdOf(text, claimed?.nowUs ?? 0)
    if (!claimed) {
      await this.handback(client, workerId, 'head', [{ id, taken: text }])
      return undefined
    }
    await this.taken.hold(client, workerId, [{ id, text }])
    claimed.requests.push({ text, madeUpId: id, isJob: false, isTaken: false })
    return claimed.left === 0 ? claimed : this.#withRest(client, workerId, wanted, claimed)
  }

  async #withRest(client: Redis, workerId: string, wanted: ClaimOptions, taken: Claimed): Promise<Claimed> {
    const rest = await this.claim(client, workerId, { ...wanted, slots: wanted.slots - 1 })
    // With the time of the take: what reconcile put back since must not run.
    return rest ? { ...rest, nowUs: taken.nowUs, requests: [...taken.requests, ...rest.requests] } : taken
  }

  /** Keeps jobs that are given up. Repeating it is harmless. */
  async bury(client: Redis, texts: string[], atMs: number): Promise<void> {
    await command(client, 'zadd', this.keys.dead, ...texts.flatMap(text => [Math.floor(atMs), text]))
  }

  /** Forgets settled requests. Always sent behind their replies: a crash in between repeats a reply, which is harmless. */
  release(
    client: Redis,
    workerId: string,
    ids: readonly string[],
    taken: readonly TakenRequest[] = [],
  ): Promise<unknown> {
    if (taken.length === 0) return this.#forget(client, workerId, ids)
    const volley = new Volley(client)
    for (const { text } of taken) this.taken.addRelease(volley, workerId, text)
    if (ids.length > 0) volley.add(this.#forgetting(workerId), ids)
    return volley.answers.then(answers => {
      answers.forEach((answer, index) => {
        const isOthers = index < taken.length && answer instanceof Error && isAdopted(answer)
        if (answer instanceof Error && !isOthers) throw answer
      })
      // Reconcile took their claim for a lost one.
      const moved = taken.filter((_, index) => answers[index] === 0).map(({ id }) => id)
      return moved.length > 0 ? this.#forget(client, workerId, moved) : undefined
    })
  }

  #forget(client: Redis, workerId: string, ids: readonly string[]): Promise<unknown> {
    return this.#forgetting(workerId).send(client, ids)
  }

  #forgetting(workerId: string): Preset {
    if (this.#release?.owner !== workerId)
      this.#release = { owner: workerId, command: new Preset('hdel', this.keys.held(workerId)) }
    return this.#release.command
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

  /**
   * Puts held requests back, as they are or with another text. `taken` is the text of one that is not in the held hash. Returns how
   * many were still held.
   */
  async handback(
    client: Redis,
    workerId: string,
    side: 'head' | 'tail',
    requests: { id: string; text?: string; taken?: string | undefined }[],
  ): Promise<number> {
    const { held, calls, bell, jobs, jobBell } = this.keys
    const taken = requests.flatMap(({ id, taken }) => (taken === undefined ? [] : [{ id, text: taken }]))
    if (taken.length > 0) await this.taken.hold(client, workerId, taken)
    const pairs = requests.flatMap(({ id, text }) => [id, text ?? ''])
    const keys = [held(workerId), calls, bell, jobs, jobBell]
    return (await scripts.handback.run(client, keys, [side, ...pairs])) as number
  }

  /** Undefined when there is nothing to adopt: the other worker lives, or this one has no lease itself. */
  async adopt(client: Redis, lostId: string, workerId: string): Promise<Adopted | undefined> {
    const { leases, held, taken } = this.keys
    const keys = [leases, held(lostId), held(workerId), taken(lostId)]
    return readAdopted(await scripts.adopt.run(client, keys, [lostId, workerId, adoptBatch, adoptedMs]))
  }

  /** True when the request still waited and is gone now; else the worker that runs it is told with its next beat. */
  async cancel(client: Redis, id: string, text: string): Promise<boolean> {
    const { calls, cancelled } = this.keys
    return (await scripts.cancel.run(client, [calls, cancelled], [id, text, cancelMemoryMs])) === 1
  }

  /** Ids this worker holds in its hash, as Redis knows it. */
  async heldIds(client: Redis, workerId: string): Promise<string[]> {
    return client.hkeys(this.keys.held(workerId))
  }

  async heldTexts(client: Redis, workerId: string, ids: string[]): Promise<(string | null)[]> {
    return client.hmget(this.keys.held(workerId), ...ids)
  }

  /** Ends the lease and puts back all that was not started. Returns how many went back. */
  async leave(client: Redis, workerId: string, started: string[]): Promise<number> {
    const { held, calls, bell, leases, jobs, jobBell, reporter, taken } = this.keys
    const keys = [held(workerId), calls, bell, leases, jobs, jobBell, reporter, taken(workerId)]
    return (await scripts.leave.run(client, keys, [workerId, leftMs, ...started])) as number
  }
}
