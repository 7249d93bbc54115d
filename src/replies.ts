import { backoffMs, sleep } from './clock.ts'
import { blockSeconds } from './connections.ts'
import { decodeReply, type Reply } from './message.ts'
import { type Connection, ConnectionLost, isFull, NotConnected, type Redis } from './redis.ts'

export interface InboxOptions {
  connection: Connection
  /** The hub's reply list. */
  key: string
  /** Whether anybody waits for a reply; when nobody does the inbox rests. */
  expecting(): boolean
  /** `again` marks what may have been read before, because the connection broke in between. */
  onReply(reply: Reply, again: boolean): void
  onMalformed(): void
  onProblem(error: Error): void
}

const maxPage = 256
const maxPageChars = 4_000_000
/** How often a full Redis, which refuses the blocking read, is asked instead. */
const fullPollMs = 20

/**
 * One reply list per hub, whatever it calls. Each round removes what the last one read, waits for an element, and reads
 * a page, in one write: replies are read before they are removed, so a cut connection loses none.
 *
 * The wait is a BLMOVE of the first element onto its own place. It needs no bell beside the list, so that a worker
 * replies with a plain RPUSH, and the element it returns is already the first reply.
 */
export class Inbox {
  readonly #options: InboxOptions
  readonly #closing = new AbortController()
  #loop: Promise<void> | undefined
  #read = 0
  #again = false
  #page = maxPage

  constructor(options: InboxOptions) {
    this.#options = options
  }

  /** Starts reading unless it does already. Called before each push. */
  wake(): void {
    if (this.#loop || this.#closing.signal.aborted) return
    this.#loop = this.#run().finally(() => {
      this.#loop = undefined
      // A call may have come between the last look and here.
      if (this.#options.expecting()) this.wake()
    })
  }

  async stop(): Promise<void> {
    this.#closing.abort()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { connection, expecting } = this.#options
    for (let failures = 0; (expecting() || this.#read > 0) && !this.#closing.signal.aborted; ) {
      await connection.whenReady(this.#closing.signal)
      try {
        this.#deliver(await connection.send(client => this.#round(client)))
        failures = 0
        // The calls these replies set off are written first; they are what somebody waits for.
        await new Promise(resolve => setImmediate(resolve))
      } catch (error) {
        if (this.#closing.signal.aborted) return
        await this.#recover(error as Error, failures++)
      }
    }
  }

  async #round(client: Redis): Promise<string[]> {
    const { key, expecting } = this.#options
    const trimmed = this.#read > 0 ? client.ltrim(key, this.#read, -1) : undefined
    if (!expecting()) {
      await trimmed
      this.#read = 0
      return []
    }
    const [, first, rest] = await Promise.all([
      trimmed,
      client.blmove(key, key, 'LEFT', 'LEFT', blockSeconds),
      client.lrange(key, 1, this.#page - 1),
    ])
    const page = first === null ? [] : [first, ...rest]
    this.#read = page.length
    return page
  }

  #deliver(page: string[]): void {
    let chars = 0
    for (const text of page) {
      chars += text.length
      const reply = decodeReply(text)
      if (reply) this.#options.onReply(reply, this.#again)
      else this.#options.onMalformed()
    }
    this.#again = false
    if (page.length > 0) this.#page = Math.max(1, Math.min(maxPage, Math.floor((maxPageChars * page.length) / chars)))
  }

  /**
   * Whether the last trim was run is unknown now, and running it twice would remove unread replies: so nothing is
   * removed, the list is read from its beginning, and what was seen before is recognised by its id.
   */
  async #recover(error: Error, failures: number): Promise<void> {
    const { connection, key } = this.#options
    this.#again = true
    if (isFull(error)) {
      // The trim was run (it frees memory); only the blocking read was refused.
      this.#read = 0
      await sleep(fullPollMs, this.#closing.signal)
      const page = await connection.send(client => client.lrange(key, 0, this.#page - 1)).catch(() => [] as string[])
      this.#read = page.length
      this.#deliver(page)
      return
    }
    this.#read = 0
    if (!(error instanceof ConnectionLost || error instanceof NotConnected)) this.#options.onProblem(error)
    if (!(error instanceof NotConnected)) await sleep(backoffMs(failures, 10, 1000), this.#closing.signal)
  }
}
