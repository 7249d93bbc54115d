import { epochIn, homeOf, noteShards, parseShards, type Shards, servedShards } from '../../queue/shards.ts'
import type { Connection } from '../../redis/connection.ts'
import { type Keys, wholeQueue } from '../../wire/keys.ts'

export interface ShardingOptions {
  commands: Connection
  keys: Keys
  /** These shards are to be served, unless they are already. */
  onShards(queues: readonly string[]): void
}

/** Over which shards the queues of a worker are spread, as its beats tell. */
export class Sharding {
  readonly #options: ShardingOptions
  /** By the whole queue. */
  readonly #known = new Map<string, Shards>()
  /** By queue or shard: what its place said last. */
  readonly #read = new Map<string, { text: string; epoch: number }>()

  constructor(options: ShardingOptions) {
    this.#options = options
  }

  /** What the place of a queue or shard said last, for its claims; 0 for nothing. Of what cannot be read, too: it must not keep work back. */
  epochOf(queue: string): number {
    return this.#read.get(queue)?.epoch ?? 0
  }

  /** The shard where the jobs of a key run that were taken in this one. */
  homeOf(queue: string, key: string): string {
    const shards = this.#known.size === 0 ? undefined : this.#known.get(wholeQueue(queue))
    return shards ? homeOf(shards.names, key) : queue
  }

  /** It was a shard, and is none any more; nor may there be anything of before. */
  isGone(queue: string): boolean {
    const shards = this.#known.get(wholeQueue(queue))
    return shards !== undefined && !servedShards(shards).includes(queue)
  }

  /** What the place of a queue or shard says. A place that is behind what is known elsewhere is brought up to that. */
  async onBeat(queue: string, text: string | undefined): Promise<void> {
    const whole = wholeQueue(queue)
    const known = this.#known.get(whole)
    // Each beat brings it, and it is nearly always what it was.
    const isNews = text !== this.#read.get(queue)?.text
    if (text === undefined) this.#read.delete(queue)
    else if (isNews) this.#read.set(queue, { text, epoch: epochIn(text) })
    const told = isNews ? parseShards(text, whole) : known
    if (told && told.epoch > (known?.epoch ?? 0)) {
      this.#known.set(whole, told)
      this.#options.onShards(servedShards(told))
    } else if (known && this.epochOf(queue) < known.epoch && servedShards(known).includes(queue)) {
      const { commands, keys } = this.#options
      await commands.send(client => noteShards(client, keys.queue(queue), known))
    }
  }
}
