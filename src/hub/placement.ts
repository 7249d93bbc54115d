import type { Step } from '../jobs/chain.ts'
import { JobQueue } from '../queue/job-queue.ts'
import { formerHomeOf, homeOf, openShards, readShards, type Shards } from '../queue/shards.ts'
import type { Connection } from '../redis/connection.ts'
import { isRefusal } from '../redis/failures.ts'
import { monotonicMs, sleep } from '../wire/clock.ts'
import { HubError } from '../wire/errors.ts'
import { type Keys, wholeQueue } from '../wire/keys.ts'

/** A queue that is spread over shards, as a route has it. */
export interface Spread {
  shards: Shards
  /** Those that live workers serve, and slots of these. */
  live: ReadonlyMap<string, number>
}

/** A job that is not sent yet, and how its queue is spread. */
export interface PreparedStep extends Step {
  spread?: Spread | undefined
}

/** What a shard is chosen by. */
interface Load {
  /** Calls of this hub that wait for their answers. */
  inFlight: number
  /** Those of them that wait to be sent. */
  unsent: number
  isDown: boolean
}

/** A change is noted in all places within milliseconds; a place that lost it is told by workers, with a beat. */
const patienceMs = 5000
const lookAgainMs = 10

/** Into which shard of a queue work goes. */
export class Placement {
  readonly #commands: Connection
  readonly #keys: Keys
  #next = 0

  constructor(commands: Connection, keys: Keys) {
    this.#commands = commands
    this.#keys = keys
  }

  /** Undefined for a queue that has none, or whose record this user may not read. */
  async shardsOf(queue: string): Promise<Shards | undefined> {
    if (wholeQueue(queue) !== queue) return undefined
    const keys = this.#keys.queue(queue)
    try {
      const shards = await this.#commands.send(client => readShards(client, keys, queue))
      return shards && (shards.names.length > 1 || shards.earlier) ? shards : undefined
    } catch (error) {
      if (isRefusal(error)) return undefined
      throw error
    }
  }

  /** Where a key of a queue is. */
  async homeOf(queue: string, task: string, key: string): Promise<string> {
    const shards = await this.shardsOf(queue)
    return shards ? this.#homeIn(queue, shards, task, key) : queue
  }

  /** The same jobs, each in a shard of its queue where that is spread over several. */
  async spread<T extends readonly PreparedStep[]>(steps: T): Promise<T> {
    if (!steps.some(({ spread }) => spread)) return steps
    const placed = steps.map(async (step: PreparedStep) => {
      const { spread } = step
      return spread ? { ...step, queue: await this.#jobQueueOf(step, spread) } : step
    })
    return (await Promise.all(placed)) as unknown as T
  }

  /** Where a job goes. Those of merged tasks, and those that are unique, stay in the queue's own place, which it always has. */
  async #jobQueueOf({ queue, task, job }: Pick<Step, 'queue' | 'task' | 'job'>, { shards }: Spread): Promise<string> {
    const key = job?.key
    if (job?.merged) return queue
    if (key !== undefined) return this.#homeIn(queue, shards, task, key)
    return job?.unique === undefined ? this.#nextOf(openShards(shards)) : queue
  }

  /** One after the other, of those that can be reached. */
  #nextOf(names: readonly [string, ...string[]]): string {
    const isReady = (name: string) => this.#commands.at(this.#keys.queue(name).jobs).isReady
    for (let tried = 1; tried < names.length; tried++) {
      const name = names[this.#next++ % names.length]!
      if (isReady(name)) return name
    }
    return names[this.#next++ % names.length]!
  }

  /**
   * Where a job of a key goes: home, unless those that came before the number of shards was changed are where they were then: behind these it
   * keeps its order. A place that knows other shards than this hub has it look again; while a change is being noted, some do.
   */
  async #homeIn(queue: string, known: Shards, task: string, key: string): Promise<string> {
    let shards: Shards | undefined = known
    for (const end = monotonicMs() + patienceMs; shards; ) {
      const former = formerHomeOf(shards, key)
      if (former === undefined) return homeOf(openShards(shards), key)
      const { epoch } = shards
      const place = new JobQueue(former, this.#keys)
      const has = await this.#commands.send(client => place.hasKey(client, task, key, epoch))
      if (has !== undefined) return has ? former : homeOf(openShards(shards), key)
      if (monotonicMs() >= end)
        throw new HubError(
          'NotEnqueued',
          `The shards of queue ${queue} are changing, and not all of them know the new number yet.`,
          { task },
        )
      await sleep(lookAgainMs)
      shards = await this.shardsOf(queue)
    }
    return queue
  }
}

/**
 * So many calls go together into one shard. Spread one by one over three, those of 4 callers with 192 in flight took Redis 98 to 116 functions for each
 * thousand of them, so some 50.
 */
const mostTogether = 64

/** Into which shard of a queue calls go: where the call before it waits to be sent, for a few go together; else where there are fewer. */
export class Draw {
  /** By queue: where the last call went. */
  readonly #last = new Map<string, string>()

  /** @param live as a `Spread` has them */
  next(queue: string, live: Spread['live'], loadOf: (shard: string) => Load): string {
    if (live.size === 0) return queue
    const last = this.#last.get(queue)
    const { unsent, isDown } = last !== undefined && live.has(last) ? loadOf(last) : { unsent: 0, isDown: true }
    if (!isDown && unsent > 0 && unsent < mostTogether) return last!
    const shard = lighterOf(live, loadOf)
    this.#last.set(queue, shard)
    return shard
  }
}

/** Of two live shards that are drawn the one with fewer calls under way for each slot (power of two choices). */
const lighterOf = (live: ReadonlyMap<string, number>, loadOf: (shard: string) => Load): string => {
  const names = [...live.keys()]
  const first = names[Math.floor(Math.random() * names.length)]!
  if (names.length === 1) return first
  const rest = names.filter(name => name !== first)
  const second = rest[Math.floor(Math.random() * rest.length)]!
  const [a, b] = [loadOf(first), loadOf(second)]
  if (a.isDown !== b.isDown) return a.isDown ? second : first
  return a.inFlight / live.get(first)! <= b.inFlight / live.get(second)! ? first : second
}
