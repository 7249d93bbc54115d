import { maxBatchBytes, replyTtlMs } from '../queue/queue.ts'
import { command } from '../redis/client.ts'
import type { Place, Redis } from '../redis/connection.ts'
import { blockSeconds } from '../redis/connections.ts'
import { isFull, isPassing, isRefusal, NotConnected } from '../redis/failures.ts'
import { explained } from '../redis/refusals.ts'
import { backoffMs, monotonicMs, sleep } from '../wire/clock.ts'
import type { Bigints } from '../wire/json/numbers.ts'
import { decodeReply, type Reply } from '../wire/message.ts'
import type { StreamPart } from '../wire/stream.ts'
import { detached } from '../wire/timers.ts'

export interface InboxOptions {
  /** Where its reply list lives. */
  connection: Place
  /** The hub's reply list. */
  key: string
  /** Where the last reply taken off it is kept. */
  readKey: string
  bigints?: Bigints
  /** How many replies are waited for; while none is the inbox rests. */
  expected(): number
  /** `again` marks what may have been read before, because the connection broke in between. */
  onReply(reply: Reply | StreamPart, again: boolean): void
  /** Something went wrong that no caller will hear of. */
  onProblem(reason: string): void
}

/** So many replies are read at first, and never more than that. In between the largest ones say how many. */
const firstPage = 8
const maxPage = 256
/** The second list is cut when it holds more than this. */
const maxKeptChars = 16_000
/** The first entry of the second list, which is no reply. */
const opener = ''
/** How often a full Redis, which refuses the blocking read, is asked instead. */
const fullPollMs = 20

/**
 * One reply list per hub, whatever it calls. Each round waits for a reply and reads all that are there, in one write.
 * Replies are read before they are removed, so a cut connection loses none:
 *
 * 1. BLMOVE takes the first reply and keeps it in a second list, which is cut to its last entry from time to time. That list is
 *    made ahead of it, with an end of life: made by the BLMOVE it would stay for ever where this process is killed before more is run.
 * 2. LRANGE reads the rest; LTRIM removes them at the beginning of the next round, which is only sent once they are here.
 *
 * It needs no bell beside the list, so that a worker replies with a plain RPUSH. A lone reply is removed by the BLMOVE
 * itself: a command ahead of the blocking one would be answered at once and wake this process once more per call.
 */
export class Inbox {
  readonly #options: InboxOptions
  readonly #closing = new AbortController()
  #loop: Promise<void> | undefined
  /** Entries at the head of the reply list that were delivered and are not removed yet. */
  #delivered = 0
  /** About what the second list holds. */
  #keptChars = 0
  #expiresAt = 0
  /** A round's answer was lost: what it moved may be in the second list and nowhere else. */
  #unsure = false
  /** Rounds that failed since one succeeded; outlives the loop, which ends and begins with the calls it reads for. */
  #failures = 0
  #page = firstPage

  constructor(options: InboxOptions) {
    this.#options = options
  }

  /** Starts reading unless it does already. Called before each push. */
  wake(): void {
    if (this.#loop || this.#closing.signal.aborted) return
    this.#loop = detached(() => this.#run().finally(() => this.#rest()))
  }

  async stop(): Promise<void> {
    this.#closing.abort()
    await this.#loop
  }

  #rest(): void {
    this.#loop = undefined
    // A call may have come between the last look and here.
    if (this.#options.expected() > 0) this.wake()
  }

  async #run(): Promise<void> {
    const { connection, expected } = this.#options
    const { signal } = this.#closing
    // What nobody needs any more once all calls are settled is not left in Redis.
    while ((expected() > 0 || this.#unsure || this.#delivered > 0 || this.#keptChars > 0) && !signal.aborted) {
      // The calls of this moment, or those that the last replies set off, are written first; they are what somebody waits for. With 8
      // processes and 4 calls in flight in each that took 13 % off the processor time of all, and 16 % off the middle of the waits.
      await new Promise(resolve => setImmediate(resolve))
      if (!connection.isReady) await connection.whenReady(signal)
      try {
        if (this.#unsure) await this.#readAgain()
        else {
          if (expected() > 0) this.#deliver(await connection.send(client => this.#round(client)), false)
          else await connection.send(client => this.#tidy(client))
          this.#failures = 0
        }
      } catch (error) {
        if (signal.aborted) return
        await this.#recover(error as Error, this.#failures++)
      }
    }
  }

  #round(client: Redis): Promise<string[]> {
    const { key, readKey, expected } = this.#options
    const expires = monotonicMs() > this.#expiresAt - replyTtlMs / 2
    const trims = this.#keptChars > maxKeptChars
    const removed = this.#delivered > 0 ? command(client, 'ltrim', key, this.#delivered, -1) : undefined
    const opened = expires ? this.#open(client) : undefined
    const first = command(client, 'blmove', key, readKey, 'LEFT', 'RIGHT', blockSeconds) as Promise<string | null>
    // A lone caller can have no second reply; each command costs it some of its wait, and so does each promise.
    const hasRest = expected() > 1
    if (!removed && !trims && !hasRest && !expires) return first.then(text => this.#took(text, []))
    const all = [
      first,
      hasRest ? command(client, 'lrange', key, 0, this.#page - 1) : [],
      removed,
      trims ? command(client, 'ltrim', readKey, -1, -1) : undefined,
      opened,
    ]
    return Promise.all(all).then(([text, rest]) => {
      if (trims) this.#keptChars = 0
      return this.#took(text as string | null, rest as string[])
    })
  }

  /** Makes the second list with an end of life, or puts its end off. */
  async #open(client: Redis): Promise<void> {
    const { readKey } = this.#options
    const expiresAt = monotonicMs() + replyTtlMs
    await Promise.all([command(client, 'rpush', readKey, opener), command(client, 'pexpire', readKey, replyTtlMs)])
    this.#expiresAt = expiresAt
    // It is there now, whatever comes: to be removed when nobody waits any more.
    this.#keptChars += 1
  }

  /** What a round brought. */
  #took(first: string | null, rest: string[]): string[] {
    this.#delivered = rest.length
    if (first === null) return rest
    this.#keptChars += first.length + 64
    return [first, ...rest]
  }

  /** Nobody waits: leaves nothing behind. */
  async #tidy(client: Redis): Promise<void> {
    const { key, readKey } = this.#options
    await Promise.all([
      this.#delivered > 0 ? command(client, 'ltrim', key, this.#delivered, -1) : undefined,
      command(client, 'unlink', readKey),
    ])
    this.#delivered = 0
    this.#keptChars = 0
    this.#expiresAt = 0
  }

  /** `again`: some of these may have been delivered before. */
  #deliver(page: string[], again: boolean): void {
    let longest = 0
    for (const text of page) {
      longest = Math.max(longest, text.length)
      const reply = decodeReply(text, this.#options.bigints)
      if (reply) this.#options.onReply(reply, again)
      else this.#options.onProblem('dropped an invalid reply')
    }
    // Twice as many at the most: a page is asked for before anybody knows how large its replies are.
    if (longest > 0) this.#page = Math.max(1, Math.min(maxPage, this.#page * 2, Math.floor(maxBatchBytes / longest)))
  }

  /** Whether the last round was run is unknown now: nothing is removed before both lists were read again. */
  async #recover(error: Error, failures: number): Promise<void> {
    const { expected, onProblem } = this.#options
    const full = isFull(error)
    // What passes by itself the callers hear of.
    if (error.name === 'ReplyError' && !full && !isPassing(error)) onProblem(explained(error.message))
    // The trim ahead of a refused command was run, and may be run again only with a new count.
    this.#delivered = 0
    this.#expiresAt = 0
    // Where Redis refuses even this and nobody waits, what is left goes by itself.
    this.#unsure = expected() > 0 || !isRefusal(error)
    if (!this.#unsure) this.#keptChars = 0
    if (!(error instanceof NotConnected))
      await sleep(full ? fullPollMs : backoffMs(failures, 10, 1000), this.#closing.signal)
  }

  /**
   * Reads both lists from their beginning; what was delivered before is recognised by its id. A full Redis, which refuses
   * the BLMOVE, is read this way all along.
   */
  async #readAgain(): Promise<void> {
    const { connection, key, readKey } = this.#options
    const [kept, waiting] = (await connection.send(client =>
      Promise.all([command(client, 'lrange', readKey, 0, -1), command(client, 'lrange', key, 0, this.#page - 1)]),
    )) as [string[], string[]]
    this.#unsure = false
    this.#keptChars = kept.reduce((sum, text) => sum + text.length + 64, 0)
    this.#delivered = waiting.length
    this.#deliver([...kept.filter(text => text !== opener), ...waiting], true)
  }
}
