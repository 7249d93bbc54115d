import { command } from '../redis/client.ts'
import type { Connection, Redis } from '../redis/connection.ts'
import { sleep } from '../wire/clock.ts'
import { ConfigError } from '../wire/errors.ts'
import { type Keys, longestSharded, type QueueKeys, shardName, wholeQueue } from '../wire/keys.ts'
import { checkQueueName } from './pause.ts'
import { homeOf, mostShards, noteShards, readShards, type Shards, servedShards, unsharded } from './shards.ts'
import { workIn } from './work-left.ts'

/** What a change still waits for. */
export interface ShardsLeft {
  /** Jobs, calls and what workers hold, in shards that are none any more; given up ones apart. */
  waiting: number
  dead: number
  /** Keys whose jobs are still where they were before. */
  keys: number
}

/**
 * So long nothing may be left before a change is over. Hubs put jobs for two seconds where they last knew that they belong, and repeat for half a
 * minute what they do not know to have arrived there; behind the end they do not look there any more.
 */
const defaultQuietMs = 35_000
const lookMs = 500
/** Of names for a new shard, so many are tried for one on the node with the fewest. */
const mostTried = 400
const page = 500
/** Members of a set that was added to before the change lie far from its end. */
const mostKeys = 1_000_000

/** Changes over how many shards a queue is spread, step by step: see `Shards`. Begun again after an end in the middle it goes on. */
export class Resharding {
  readonly #connection: Connection
  readonly #keys: Keys
  readonly #queue: string
  readonly #quietMs: number

  /** @throws ConfigError for what is no queue that can be spread */
  constructor(connection: Connection, keys: Keys, queue: string, quietMs = defaultQuietMs) {
    this.#quietMs = quietMs
    checkQueueName(queue)
    if (wholeQueue(queue) !== queue) throw new ConfigError(`${queue} is a shard; name its queue, ${wholeQueue(queue)}.`)
    if (queue.length > longestSharded)
      throw new ConfigError(`The name of a queue with shards has ${longestSharded} characters at most.`)
    this.#connection = connection
    this.#keys = keys
    this.#queue = queue
  }

  async read(): Promise<Shards> {
    const found = await this.#connection.send(client => readShards(client, this.#own, this.#queue))
    return found ?? unsharded(this.#queue)
  }

  /**
   * Spreads the queue over so many shards. What was begun before and ended in the middle is done first.
   * @throws ConfigError while something is left of how it was before the last change
   */
  async change(count: number): Promise<Shards> {
    const shards = await this.#opened(await this.read())
    if (shards.names.length === count) return shards
    const names = this.#namesOf(shards, count)
    if (shards.earlier)
      throw new ConfigError(
        `Queue ${this.#queue} is still being changed. First see that to its end: pshub shards ${this.#queue} ${shards.names.length}`,
      )
    if (await this.#isPaused()) throw new ConfigError(`Queue ${this.#queue} is paused: resume it first.`)
    const next = { epoch: shards.epoch + 1, names, isComing: true, earlier: shards.names }
    return this.#opened(await this.#note(next, shards.epoch))
  }

  /** Waits until nothing is left of how it was before. `onLeft` is told of each look. */
  async settle(onLeft: (left: ShardsLeft) => void, signal?: AbortSignal): Promise<Shards> {
    const shards = await this.#opened(await this.read())
    if (!shards.earlier) return shards
    for (let quietMs = 0; quietMs < this.#quietMs; quietMs += lookMs) {
      const left = await this.left(shards)
      onLeft(left)
      if (left.waiting + left.dead + left.keys > 0) quietMs = 0
      await sleep(lookMs, signal)
      if (signal?.aborted) return shards
    }
    return this.#note({ ...shards, epoch: shards.epoch + 1, earlier: undefined }, shards.epoch)
  }

  /** What there is of how it was before. */
  async left(shards: Shards): Promise<ShardsLeft> {
    const leaving = this.#leaving(shards)
    const work = (name: string) => this.#connection.send(client => workIn(client, this.#keys.queue(name)))
    const given = (name: string) =>
      this.#connection.send(client => command(client, 'zcard', this.#keys.queue(name).dead))
    const misplaced = (name: string) => this.#connection.send(client => this.#misplacedIn(client, name, shards))
    const [left, dead] = [await Promise.all(leaving.map(work)), await Promise.all(leaving.map(given))]
    const keys = await Promise.all((shards.earlier ?? []).map(misplaced))
    return {
      waiting: left.reduce((sum, { waiting, held }) => sum + waiting + held, 0),
      dead: dead.reduce<number>((sum, count) => sum + Number(count), 0),
      keys: keys.reduce((sum, count) => sum + count, 0),
    }
  }

  /** Shards that are none any more. */
  #leaving({ names, earlier = [] as never }: Shards): string[] {
    return earlier.filter(name => !names.includes(name))
  }

  /** A shard that comes is not paused, and would be served. */
  async #isPaused(): Promise<boolean> {
    return (await this.#connection.send(client => command(client, 'get', this.#own.paused))) !== null
  }

  get #own(): QueueKeys {
    return this.#keys.queue(this.#queue)
  }

  /** Ends the first step of a change: hubs put work into the new shards from now on. */
  #opened(shards: Shards): Promise<Shards> {
    if (!shards.isComing) return Promise.resolve(shards)
    return this.#note({ ...shards, epoch: shards.epoch + 1, isComing: false }, shards.epoch)
  }

  /** The queue's own place decides; all others have it before this ends. */
  async #note(shards: Shards, expected: number): Promise<Shards> {
    // Of the step before, which may have ended in the middle.
    const before = await this.read()
    if (before.epoch > 0) await this.#noteElsewhere(before)
    const { epoch } = before
    const isDone = epoch === expected && (await this.#noteAt(this.#queue, shards, expected))
    if (!isDone) throw new ConfigError(`Somebody else changes the shards of ${this.#queue}, too: try again.`)
    await this.#noteElsewhere(shards)
    return shards
  }

  async #noteElsewhere(shards: Shards): Promise<void> {
    const others = servedShards(shards).filter(name => name !== this.#queue)
    await Promise.all(others.map(name => this.#noteAt(name, shards)))
  }

  #noteAt(name: string, shards: Shards, expected?: number): Promise<boolean> {
    return this.#connection.send(client => noteShards(client, this.#keys.queue(name), shards, expected))
  }

  #namesOf({ names }: Shards, count: number): [string, ...string[]] {
    if (!Number.isInteger(count) || count < 1 || count > mostShards)
      throw new ConfigError(`A queue is spread over 1 to ${mostShards} shards.`)
    const chosen = names.slice(0, count) as [string, ...string[]]
    const used = new Set(names)
    while (chosen.length < count) {
      const name = this.#newName(chosen, used)
      used.add(name)
      chosen.push(name)
    }
    return chosen
  }

  /** On a Cluster it lies on the node that has the fewest of them; a name says where by its hash alone. */
  #newName(chosen: readonly string[], used: ReadonlySet<string>): string {
    const nodeOf = (name: string) => this.#connection.addressOf(this.#keys.queue(name).jobs) ?? ''
    const counts = new Map<string, number>()
    for (const name of chosen) counts.set(nodeOf(name), (counts.get(nodeOf(name)) ?? 0) + 1)
    let best: string | undefined
    for (let number = 2; number < mostTried + used.size; number++) {
      const name = shardName(this.#queue, number)
      if (used.has(name)) continue
      if (best === undefined || (counts.get(nodeOf(name)) ?? 0) < (counts.get(nodeOf(best)) ?? 0)) best = name
      if ((counts.get(nodeOf(best)) ?? 0) === 0) break
    }
    return best!
  }

  /** Keys in a place that belong elsewhere, wait or run. Those of merged jobs, which have no lines, belong where they are. */
  async #misplacedIn(client: Redis, place: string, { names }: Shards): Promise<number> {
    const { keyed, keysOf, running, later, line } = this.#keys.queue(place)
    const isMisplaced = async (task: string, key: string) =>
      homeOf(names, key) !== place && (await command(client, 'exists', line(task, key))) === 1
    let count = 0
    for (const task of (await command(client, 'zrange', keyed, 0, -1)) as string[]) {
      const runs = Object.entries((await command(client, 'hgetall', running(task))) as Record<string, string>)
      count += runs.filter(([key, run]) => homeOf(names, key) !== place && !run.includes(' m-')).length
      for await (const key of members(client, keysOf(task))) if (await isMisplaced(task, key)) count++
    }
    for await (const member of members(client, later)) {
      const end = member.indexOf(' ')
      if (await isMisplaced(member.slice(0, end), member.slice(end + 1))) count++
    }
    return count
  }
}

async function* members(client: Redis, set: string): AsyncGenerator<string> {
  for (let at = 0; at < mostKeys; at += page) {
    const found = (await command(client, 'zrange', set, at, at + page - 1)) as string[]
    yield* found
    if (found.length < page) return
  }
}
