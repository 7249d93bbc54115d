import { sleep } from '../wire/clock.ts'
import { clearTimeout, detached, setTimeout } from '../wire/timers.ts'
import { command } from './client.ts'
import type { NodeConnection } from './node-connection.ts'
import type { Topology } from './topology.ts'

export interface ReaderOptions {
  topology: Topology
  /** Whom to ask, the best first. Asked anew for each reading. */
  candidates(): NodeConnection[]
  /** Nobody can be asked, and why. */
  onFailure(error: Error): void
}

/** At most so often, however many commands are sent elsewhere. */
const leastMs = 100
/** While a node is away, or nobody serves a slot that is needed. */
const retryMs = 250
/** A node that is stopped says nothing, and another one may know. */
const answerMs = 500

/** Reads which node of a Cluster serves what, when something does not fit what is known, and again while a node is away. */
export class TopologyReader {
  readonly #options: ReaderOptions
  readonly #closing = new AbortController()
  #loop: Promise<void> | undefined
  #isWanted = false
  #turn = 0

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  read(): void {
    this.#isWanted = true
    if (this.#closing.signal.aborted) return
    this.#loop ??= detached(() => this.#run().finally(() => this.#rest()))
  }

  #rest(): void {
    this.#loop = undefined
    // It may have been wanted between the last look and here.
    if (this.#isWanted) this.read()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    const { topology } = this.#options
    while ((this.#isWanted || topology.lacksOne) && !signal.aborted) {
      this.#isWanted = false
      const isRead = await this.#readOnce()
      if (!isRead) this.#isWanted = true
      await sleep(isRead && !topology.lacksOne ? leastMs : retryMs, signal)
    }
  }

  async #readOnce(): Promise<boolean> {
    const { topology, candidates, onFailure } = this.#options
    const nodes = candidates()
    // Another one first each time: what the first one says may be of yesterday.
    const start = this.#turn++ % Math.max(1, nodes.length)
    for (const node of [...nodes.slice(start), ...nodes.slice(0, start)]) {
      try {
        const ranges = await inTime(node.send(client => command(client, 'cluster', 'slots')))
        if (!Array.isArray(ranges) || ranges.length === 0) throw new Error('the Cluster has no slots yet')
        topology.learn(ranges as never, node.host)
        return true
      } catch (error) {
        onFailure(error as Error)
      }
    }
    return false
  }
}

const inTime = <T>(asked: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${answerMs} ms`)), answerMs)
  })
  asked.catch(() => undefined)
  return Promise.race([asked, late]).finally(() => clearTimeout(timer))
}
