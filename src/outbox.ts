import type { Pushed } from './answers.ts'
import { backoffMs, monotonicMs, sleep } from './clock.ts'
import { HubError, messageOf } from './errors.ts'
import type { Forecast } from './forecast.ts'
import { stamped, unstamped } from './message.ts'
import { pushMemoryMs, type Queue } from './queue.ts'
import { type Connection, ConnectionLost, isTransient } from './redis.ts'
import type { RedisClock } from './redisclock.ts'
import { explained } from './refusals.ts'
import type { Events } from './telemetry.ts'

/** Where a message is in its list: with its time and ttl, which make its exact text, and its place there if that is known. */
export interface Placed {
  at: string
  ttlMs: number
  /** How many others were before it. */
  ahead: number | undefined
}

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
  /** Undefined until it is known to be in the list. */
  readonly placed: Placed | undefined
  /** True from the moment it is written until Redis answered: it may be running. */
  inDoubt: boolean
  /** Why the last try to push it failed. */
  setback: string | undefined
  /** It is in the list, or was. */
  enqueued(placed: Placed): void
  /** It certainly is not. */
  refused(error: HubError): void
}

export interface OutboxOptions {
  connection: Connection
  queue: Queue
  hubId: string
  forecast: Forecast
  clock: RedisClock
  events: Events
  closing: AbortSignal
}

const maxBatch = 256
const maxBatchChars = 1_000_000
/** Taken off each ttl: a push that is on its way for longer has its time taken off by the script. */
const wayMs = 2
/** Without an answer for this long nothing counts as being sent. */
const sendingMs = 500

/**
 * Requests of one hub for one queue. One push is under way at a time and what is called meanwhile goes with the next,
 * so batches grow with the load by themselves, and only the last push can ever be in doubt: when its answer is lost it
 * is repeated under the same number, before anything new, and the script knows whether it had arrived.
 */
export class Outbox {
  readonly #options: OutboxOptions
  readonly #connection: Connection
  readonly #queue: Queue
  readonly #closing: AbortSignal
  /** Longest list that is pushed to, whatever a call could wait for. */
  maxLength = 0
  /** Only of calls that are not over: an outage may last, and they do not wait for its end. */
  readonly #waiting = new Set<Parcel>()
  #number = 0
  #answeredAt = Number.NEGATIVE_INFINITY
  #running = false
  #scheduled = false

  constructor(options: OutboxOptions) {
    this.#options = options
    this.#connection = options.connection
    this.#queue = options.queue
    this.#closing = options.closing
  }

  /** True when something was pushed, so that there is a push number in Redis to clean up. */
  get used(): boolean {
    return this.#number > 0
  }

  /** True while pushes are answered, so that what waits here has its turn soon. */
  get isSending(): boolean {
    return monotonicMs() - this.#answeredAt < sendingMs
  }

  add(parcel: Parcel): void {
    // A retry may be over before its time to be sent has come.
    if (parcel.settled) return
    this.#waiting.add(parcel)
    if (this.#running || this.#scheduled) return
    this.#scheduled = true
    // Behind all that is called in this tick and in the promise reactions it sets off: they go together.
    process.nextTick(() => {
      this.#scheduled = false
      if (!this.#running) void this.#run()
    })
  }

  /** Lets go of a parcel whose call is over. When its caller gave up, its request is cancelled too. */
  drop(parcel: Parcel): void {
    this.#waiting.delete(parcel)
    if (parcel.abandoned) this.#cancel(parcel)
  }

  /**
   * Takes a request out of the list, or has its worker told. Does nothing for one whose push is under way; that is
   * cancelled once it is known to have arrived.
   */
  #cancel(parcel: Parcel): void {
    const { placed, id, task } = parcel
    if (!placed) return
    const text = placed.ttlMs > 0 ? stamped(placed.at, placed.ttlMs, parcel.body) : ''
    this.#connection
      .send(client => this.#queue.cancel(client, id, text))
      .then(
        removed => this.#options.events.emit('call:cancelled', { task, id, removed }),
        // The request runs or expires by itself then; nobody waits for it.
        () => undefined,
      )
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.size > 0 && !this.#closing.aborted) {
      if (!this.#connection.isReady) await this.#connection.whenReady(this.#closing)
      const batch = this.#nextBatch()
      if (batch.length > 0) await this.#deliver(batch)
    }
    this.#running = false
  }

  /** What goes with the next push. Calls that a list as long as it was a moment ago cannot serve in time are refused. */
  #nextBatch(): Parcel[] {
    const batch: Parcel[] = []
    const { forecast } = this.#options
    const now = monotonicMs()
    const length = forecast.lengthAt(now)
    let chars = 0
    for (const parcel of this.#waiting) {
      if (batch.length === maxBatch || (chars > 0 && chars + parcel.body.length > maxBatchChars)) break
      this.#waiting.delete(parcel)
      if (length !== undefined && length + batch.length >= forecast.lengthWithin(parcel.end - now, now)) {
        parcel.refused(this.#overloaded(length + batch.length, parcel))
        continue
      }
      chars += parcel.body.length
      batch.push(parcel)
    }
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
      const ttls = parcels.map(({ end }) => Math.max(1, Math.floor(end - now) - wayMs))
      try {
        const pushed = await this.#send(number, parcels, ttls, now)
        // Of a repeat the ttls are those of the try that arrived, so its messages are not known exactly.
        return this.#answered(parcels, pushed.repeated ? undefined : ttls, pushed)
      } catch (error) {
        lost ||= error instanceof ConnectionLost
        for (const parcel of parcels) {
          parcel.inDoubt = lost
          parcel.setback = (error as Error).message
        }
        if (!isTransient(error)) return lost ? this.#giveUp(parcels) : this.#refuse(parcels, error as Error)
      }
      await sleep(backoffMs(attempt, 10, 500), this.#closing)
      await this.#connection.whenReady(this.#closing)
    }
  }

  #send(number: number, parcels: Parcel[], ttls: number[], countedAt: number): Promise<Pushed> {
    const { hubId, clock } = this.#options
    const messages = parcels.map((parcel, index) => unstamped(ttls[index]!, parcel.body))
    return this.#connection.send(client => {
      for (const parcel of parcels) parcel.inDoubt = true
      const countedAtUs = clock.atUs(countedAt)
      return this.#queue.push(client, hubId, number, this.#maxLengthFor(parcels, countedAt), messages, countedAtUs)
    })
  }

  /** The longest list in which the most patient of these would be served in time. */
  #maxLengthFor(parcels: Parcel[], now: number): number {
    return Math.min(this.maxLength, this.#options.forecast.lengthWithin(leftOf(parcels, now), now))
  }

  #answered(batch: Parcel[], ttls: number[] | undefined, pushed: Pushed): void {
    const { forecast, clock, events } = this.#options
    const now = monotonicMs()
    this.#answeredAt = now
    // A repeat tells the length of now and the time of its first try.
    if (!pushed.repeated) {
      forecast.see(pushed.length, pushed.accepted, leftOf(batch, now))
      clock.learn(Number(pushed.at), now)
    }
    batch.forEach((parcel, index) => {
      if (index >= pushed.accepted) parcel.refused(this.#overloaded(pushed.length, parcel))
      else {
        const ttlMs = ttls ? Math.max(1, ttls[index]! - pushed.lateMs) : 0
        parcel.enqueued({ at: pushed.at, ttlMs, ahead: pushed.repeated ? undefined : pushed.length + index })
        if (parcel.abandoned) this.#cancel(parcel)
      }
    })
    if (!events.has('queue:pushed')) return
    events.emit('queue:pushed', {
      queue: this.#queue.name,
      count: pushed.accepted,
      refused: batch.length - pushed.accepted,
      length: pushed.length,
      repeated: pushed.repeated,
    })
  }

  #overloaded(about: number, parcel: Parcel): HubError {
    const { forecast } = this.#options
    const now = monotonicMs()
    const length = Math.round(about)
    const maxLength = this.#maxLengthFor([parcel], now)
    const waitMs = Math.round(forecast.waitMs(length, now))
    const patienceMs = Math.round(forecast.patienceMs(parcel.end - now, now))
    const name = this.#queue.name
    const reason =
      length >= this.maxLength
        ? `${length} requests wait in queue ${name}, and its limit is ${maxLength}.`
        : waitMs > patienceMs
          ? `About ${waitMs} ms of work waits in queue ${name}, and this call could wait ${patienceMs} ms.`
          : `More is called than queue ${name} serves: ${length} requests wait, and while that is so no more than ${maxLength} may.`
    return new HubError('Overloaded', `${reason} Add workers or slots, or try later.`, {
      data: { length, maxLength, waitMs },
    })
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

/** How much time the most patient of these calls has left. */
const leftOf = (parcels: Parcel[], now: number): number => {
  let end = now
  for (const parcel of parcels) end = Math.max(end, parcel.end)
  return end - now
}
