import { backoffMs, monotonicMs, sleep } from './clock.ts'
import { HubError, messageOf } from './errors.ts'
import { stamped, unstamped } from './message.ts'
import { type Pushed, pushMemoryMs, type Queue } from './queue.ts'
import { type Connection, ConnectionLost, isPassing, NotConnected } from './redis.ts'
import { explained } from './refusals.ts'
import type { Events } from './telemetry.ts'

/** A request on its way into a queue's list. */
export interface Parcel {
  readonly id: string
  readonly task: string
  readonly body: string
  /** Monotonic time of its call's deadline. */
  readonly end: number
  /** True once the call is over: it is not sent any more. */
  readonly settled: boolean
  /** True when its caller gave up: it need not run any more. */
  readonly abandoned: boolean
  /** Time and ttl of the message in the list, as far as they are known. */
  readonly pushed: { at: string; ttlMs: number } | undefined
  /** True from the moment it is written until Redis answered: it may be running. */
  inDoubt: boolean
  /** Why the last try to push it failed. */
  setback: string | undefined
  /** It is in the list, or was: `at` and `ttlMs` give the exact message. */
  enqueued(at: string, ttlMs: number): void
  /** It certainly is not. */
  refused(error: HubError): void
}

const maxBatch = 256
const maxBatchChars = 1_000_000

/**
 * Requests of one hub for one queue. One push is under way at a time and what is called meanwhile goes with the next,
 * so batches grow with the load by themselves, and only the last push can ever be in doubt: when its answer is lost it
 * is repeated under the same number, before anything new, and the script knows whether it had arrived.
 */
export class Outbox {
  readonly #connection: Connection
  readonly #queue: Queue
  readonly #hubId: string
  readonly #maxLength: number
  readonly #events: Events
  readonly #closing: AbortSignal
  #waiting: Parcel[] = []
  #number = 0
  #running = false
  #scheduled = false

  constructor(
    connection: Connection,
    queue: Queue,
    hubId: string,
    maxLength: number,
    events: Events,
    closing: AbortSignal,
  ) {
    this.#connection = connection
    this.#queue = queue
    this.#hubId = hubId
    this.#maxLength = maxLength
    this.#events = events
    this.#closing = closing
  }

  /** True when something was pushed, so that there is a push number in Redis to clean up. */
  get used(): boolean {
    return this.#number > 0
  }

  add(parcel: Parcel): void {
    this.#waiting.push(parcel)
    if (this.#running || this.#scheduled) return
    this.#scheduled = true
    // Behind all that is called in this tick and in the promise reactions it sets off: they go together.
    process.nextTick(() => {
      this.#scheduled = false
      if (!this.#running) void this.#run()
    })
  }

  /**
   * The caller of a request gave up: takes it out of the list, or has its worker told. Does nothing for one whose push is
   * under way; that is cancelled once it is known to have arrived.
   */
  cancel(parcel: Parcel): void {
    const { pushed, id, task } = parcel
    if (!pushed) return
    const text = pushed.ttlMs > 0 ? stamped(pushed.at, pushed.ttlMs, parcel.body) : ''
    this.#connection
      .send(client => this.#queue.cancel(client, id, text))
      .then(
        removed => this.#events.emit('call:cancelled', { task, id, removed }),
        // The request runs or expires by itself then; nobody waits for it.
        () => undefined,
      )
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.length > 0 && !this.#closing.aborted) {
      await this.#connection.whenReady(this.#closing)
      const batch = this.#nextBatch()
      if (batch.length > 0) await this.#deliver(batch)
    }
    this.#running = false
  }

  #nextBatch(): Parcel[] {
    const batch: Parcel[] = []
    let chars = 0
    let taken = 0
    for (const parcel of this.#waiting) {
      if (batch.length === maxBatch || (chars > 0 && chars + parcel.body.length > maxBatchChars)) break
      taken++
      if (parcel.settled) continue
      chars += parcel.body.length
      batch.push(parcel)
    }
    this.#waiting = this.#waiting.slice(taken)
    return batch
  }

  /** Pushes a batch under one number until its outcome is known or nobody waits for it any more. */
  async #deliver(parcels: Parcel[]): Promise<void> {
    const number = ++this.#number
    const firstTry = monotonicMs()
    let lost = false
    for (let attempt = 0; ; attempt++) {
      // Once a try is in doubt, all further ones are the same list: the answer counts how many of it were taken.
      if (!lost) parcels = parcels.filter(parcel => !parcel.settled)
      if (parcels.every(parcel => parcel.settled) || this.#closing.aborted) return
      const now = monotonicMs()
      if (lost && now - firstTry > pushMemoryMs / 2) return this.#giveUp(parcels)
      const ttls = parcels.map(({ end }) => Math.max(1, Math.floor(end - now)))
      try {
        const pushed = await this.#send(number, parcels, ttls)
        // Of a repeat the ttls are those of the try that arrived, so its messages are not known exactly.
        return this.#answered(parcels, pushed.repeated ? undefined : ttls, pushed)
      } catch (error) {
        lost ||= error instanceof ConnectionLost
        for (const parcel of parcels) {
          parcel.inDoubt = lost
          parcel.setback = (error as Error).message
        }
        if (!this.#mayRepeat(error as Error))
          return lost ? this.#giveUp(parcels) : this.#refuse(parcels, error as Error)
      }
      await sleep(backoffMs(attempt, 10, 500), this.#closing)
      await this.#connection.whenReady(this.#closing)
    }
  }

  #send(number: number, parcels: Parcel[], ttls: number[]): Promise<Pushed> {
    const messages = parcels.map((parcel, index) => unstamped(ttls[index]!, parcel.body))
    return this.#connection.send(client => {
      for (const parcel of parcels) parcel.inDoubt = true
      return this.#queue.push(client, this.#hubId, number, this.#maxLength, messages)
    })
  }

  #mayRepeat(error: Error): boolean {
    return error instanceof NotConnected || error instanceof ConnectionLost || isPassing(error)
  }

  #answered(batch: Parcel[], ttls: number[] | undefined, pushed: Pushed): void {
    batch.forEach((parcel, index) => {
      if (index >= pushed.accepted) parcel.refused(this.#tooLong(pushed.length))
      else {
        parcel.enqueued(pushed.at, ttls?.[index] ?? 0)
        if (parcel.abandoned) this.cancel(parcel)
      }
    })
    this.#events.emit('queue:pushed', {
      queue: this.#queue.name,
      count: pushed.accepted,
      refused: batch.length - pushed.accepted,
      length: pushed.length,
      repeated: pushed.repeated,
    })
  }

  #tooLong(length: number): HubError {
    return new HubError(
      'Overloaded',
      `${length} requests wait in queue ${this.#queue.name}, and its limit is ${this.#maxLength}. Add workers or slots, or try later.`,
      { data: { length, maxLength: this.#maxLength } },
    )
  }

  /** Redis answered with an error, so nothing was enqueued: the script refuses before it writes. */
  #refuse(parcels: Parcel[], error: Error): void {
    const message = `Redis refused the request: ${explained(messageOf(error))}.`
    for (const parcel of parcels) parcel.refused(new HubError('NotEnqueued', message))
  }

  /** The number may be forgotten soon; repeating the push after that could run it twice. */
  #giveUp(parcels: Parcel[]): void {
    for (const parcel of parcels) {
      parcel.refused(
        new HubError(
          'OutcomeUnknown',
          'The connection broke during the push, and Redis cannot tell any more whether it had arrived.',
        ),
      )
    }
  }
}
