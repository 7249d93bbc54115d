import { everyQueue, type QueueEntry } from '../../settings/queues.ts'
import { wholeQueue } from '../../wire/keys.ts'

interface OfQueue {
  context: { queue: { name: string } }
}

/**
 * Which of its queues a worker claims from first. Without weights that is the one named first, always; with them it is drawn anew for
 * each claim, so that none starves.
 */
export class QueueOrder {
  readonly #entries = new Map<string, { place: number; weight: number }>()
  readonly #isWeighted: boolean
  readonly #random: () => number

  constructor(entries: readonly QueueEntry[], random: () => number = Math.random) {
    this.#random = random
    for (const [place, { name, weight = 1 }] of entries.entries()) this.#entries.set(name, { place, weight })
    this.#isWeighted = entries.some(({ weight }) => weight !== undefined)
  }

  /** The one of these that goes first. */
  choose<T extends OfQueue>(queues: readonly T[]): T | undefined {
    if (queues.length < 2) return queues[0]
    if (this.#isWeighted) return this.#draw(queues)
    const first = Math.min(...queues.map(queue => this.#entryOf(queue).place))
    // Those that were found, and shards of one queue, share a place and a weight, and so have the same chance.
    return this.#draw(queues.filter(queue => this.#entryOf(queue).place === first))
  }

  /** All of these, the first one first. */
  sort<T extends OfQueue>(queues: readonly T[]): T[] {
    const left = [...queues]
    const sorted: T[] = []
    while (left.length > 0) sorted.push(...left.splice(left.indexOf(this.choose(left)!), 1))
    return sorted
  }

  #entryOf({ context }: OfQueue): { place: number; weight: number } {
    const { name } = context.queue
    return (this.#entries.get(name) ?? this.#entries.get(wholeQueue(name)) ?? this.#entries.get(everyQueue))!
  }

  #draw<T extends OfQueue>(queues: readonly T[]): T | undefined {
    let rest = this.#random() * queues.reduce((sum, queue) => sum + this.#entryOf(queue).weight, 0)
    for (const queue of queues) {
      rest -= this.#entryOf(queue).weight
      if (rest < 0) return queue
    }
    return queues.at(-1)
  }
}
