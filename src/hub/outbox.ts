import type { Events } from '../figures/events.ts'
import { isBatchFull } from '../queue/batches.ts'
import { deliverNumbered } from '../queue/numbered.ts'
import type { Queue } from '../queue/queue.ts'
import type { Place } from '../redis/connection.ts'
import { explained } from '../redis/refusals.ts'
import type { Pushed } from '../wire/answers.ts'
import { monotonicMs } from '../wire/clock.ts'
import { messageOf } from '../wire/errors.ts'
import { stamped, unstamped } from '../wire/message.ts'
import type { RedisClock } from '../wire/redis-clock.ts'
import { detached } from '../wire/timers.ts'
import { Forecast } from './forecast.ts'
import type { Parcel } from './parcel.ts'

export interface OutboxOptions {
  /** Where the queue lives. */
  connection: Place
  queue: Queue
  hubId: string
  clock: RedisClock
  events: Events
  closing: AbortSignal
}

/** Taken off each ttl: a push that is on its way for longer has its time taken off in Redis. */
const wayMs = 2
/** So many that are over may wait: to look for them each time would cost more than they do. */
const leastOver = 64
/** Without an answer for this long nothing counts as being sent. */
const sendingMs = 500

/**
 * Requests of one hub for one queue. One push is under way at a time and what is called meanwhile goes with the next,
 * so batches grow with the load by themselves, and only the last push can ever be in doubt: when its answer is lost it
 * is repeated under the same number, before anything new, and Redis knows whether it had arrived.
 */
export class Outbox {
  readonly forecast = new Forecast()
  readonly #options: OutboxOptions
  /** Longest list that is pushed to, whatever a call could wait for. */
  maxLength = 0
  /** Calls whose answers are awaited, or that wait here to be sent. */
  inFlight = 0
  /** A list, because a set costs a busy hub a tenth of its processor time, most of it for keeping its tables alive. */
  #waiting: Parcel[] = []
  /** About how many of them are over since it was looked. */
  #over = 0
  #number = 0
  #answeredAt = Number.NEGATIVE_INFINITY
  /** What waits is being sent, or will be with the end of this tick. */
  #isBusy = false
  #running: Promise<void> = Promise.resolve()
  readonly #cancelling = new Set<Promise<void>>()

  get queueName(): string {
    return this.#options.queue.name
  }

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** True when something was pushed, so that there is a push number in Redis to clean up. */
  get used(): boolean {
    return this.#number > 0
  }

  /** How many wait here to be sent. */
  get unsent(): number {
    return this.#waiting.length
  }

  /** True while pushes are answered, so that what waits here has its turn soon. */
  get isSending(): boolean {
    return monotonicMs() - this.#answeredAt < sendingMs
  }

  /** Why there is no connection at the moment. */
  get whyDown(): string | undefined {
    return this.#options.connection.downReason?.message
  }

  add(parcel: Parcel): void {
    // A retry may be over before its time to be sent has come.
    if (parcel.settled) return
    this.#waiting.push(parcel)
    if (this.#isBusy) return
    this.#isBusy = true
    // Behind all that is called in this tick and in the promise reactions it sets off: they go together.
    process.nextTick(() => {
      this.#running = detached(() => this.#run())
    })
  }

  /** Lets go of a parcel whose call is over. When its caller gave up, its request is cancelled too. */
  drop(parcel: Parcel): void {
    // An outage may last, and what is over does not wait for its end.
    if (!parcel.placed && ++this.#over > leastOver && this.#over > this.#waiting.length / 2) {
      this.#waiting = this.#waiting.filter(({ settled }) => !settled)
      this.#over = 0
    }
    if (parcel.abandoned) this.#cancel(parcel)
    if (parcel.argsBeside !== undefined) this.#dropArgs(parcel.id)
  }

  /** Nobody runs it any more; what cannot be told to Redis now goes by itself. */
  #dropArgs(id: string): void {
    const { connection, queue } = this.#options
    connection.send(client => queue.dropArgs(client, id)).catch(() => undefined)
  }

  /**
   * Takes a request out of the list, or has its worker told. Does nothing for one whose push is under way; that is
   * cancelled once it is known to have arrived.
   */
  #cancel(parcel: Parcel): void {
    const { placed, id, task } = parcel
    if (!placed) return
    const { connection, queue, events } = this.#options
    const text = placed.ttlMs > 0 ? stamped(placed.at, placed.ttlMs, parcel.body) : ''
    const cancelling: Promise<void> = connection
      .send(client => queue.cancel(client, id, text))
      .then(
        removed => parcel.inside(() => events.emit('call:cancelled', { task, id, removed })),
        // The request runs or expires by itself then; nobody waits for it.
        () => undefined,
      )
      .finally(() => this.#cancelling.delete(cancelling))
    this.#cancelling.add(cancelling)
  }

  /** Of a hub that is closed: resolves when nothing is under way any more. */
  async over(): Promise<void> {
    await this.#running
    await Promise.all(this.#cancelling)
  }

  async #run(): Promise<void> {
    const { connection, closing } = this.#options
    while (this.#waiting.length > 0 && !closing.aborted) {
      if (!connection.isReady) await connection.whenReady(closing)
      const batch = this.#nextBatch()
      if (batch.length > 0) await this.#deliver(batch)
    }
    this.#isBusy = false
  }

  /** What goes with the next push. Calls that a list as long as it was a moment ago cannot serve in time are refused. */
  #nextBatch(): Parcel[] {
    const batch: Parcel[] = []
    const hopeless: { parcel: Parcel; about: number }[] = []
    const now = monotonicMs()
    const length = this.forecast.lengthAt(now)
    let chars = 0
    let taken = 0
    for (const parcel of this.#waiting) {
      const size = parcel.body.length + (parcel.argsBeside?.length ?? 0)
      if (isBatchFull(batch.length, chars, size)) break
      taken++
      if (parcel.settled) continue
      if (length !== undefined && length + batch.length >= this.forecast.lengthWithin(parcel.end - now, now))
        hopeless.push({ parcel, about: length + batch.length })
      else {
        chars += size
        batch.push(parcel)
      }
    }
    this.#waiting = this.#waiting.slice(taken)
    for (const { parcel, about } of hopeless) this.#refuseOne(parcel, about)
    return batch
  }

  /** Pushes a batch under one number until its outcome is known or nobody waits for it any more. */
  async #deliver(parcels: Parcel[]): Promise<void> {
    const { connection, queue, hubId, clock, closing } = this.#options
    const number = ++this.#number
    let ttls: number[] = []
    const delivered = await deliverNumbered({
      connection,
      closing,
      prepare: wasLost => {
        // Once a try is in doubt, all further ones are the same list: the answer counts how many of it were taken.
        if (!wasLost) parcels = parcels.filter(parcel => !parcel.settled)
        if (parcels.every(parcel => parcel.settled)) return undefined
        const now = monotonicMs()
        ttls = parcels.map(({ end }) => Math.max(1, Math.floor(end - now) - wayMs))
        const messages = parcels.map((parcel, index) => unstamped(ttls[index]!, parcel.body))
        return client => {
          parcels.forEach((parcel, index) => {
            parcel.inDoubt = true
            if (parcel.argsBeside !== undefined) queue.layArgs(client, parcel.id, parcel.argsBeside, ttls[index]!)
          })
          const maxLength = this.#maxLengthFor(leftOf(parcels, now), now)
          return queue.push(client, hubId, number, maxLength, messages, clock.atUs(now))
        }
      },
      onSetback: (error, wasLost) => {
        for (const parcel of parcels) {
          parcel.inDoubt = wasLost
          parcel.setback = error.message
        }
      },
    })
    if (delivered === 'over') return
    if (delivered === 'unknown') giveUp(parcels)
    else if ('refused' in delivered) refuse(parcels, delivered.refused)
    else this.#answered(parcels, ttls, delivered.answer)
  }

  /** The longest list in which a call with so much time left would be served in time. */
  #maxLengthFor(leftMs: number, now: number): number {
    return Math.min(this.maxLength, this.forecast.lengthWithin(leftMs, now))
  }

  #answered(batch: Parcel[], ttls: number[], { accepted, length, at, lateMs, repeated }: Pushed): void {
    const { queue, clock, events } = this.#options
    const now = monotonicMs()
    this.#answeredAt = now
    // A repeat tells the length of now and the time of its first try.
    if (!repeated) {
      this.forecast.see(length, accepted, leftOf(batch, now))
      clock.learn(Number(at), now)
    }
    batch.forEach((parcel, index) => {
      if (index >= accepted) this.#refuseOne(parcel, length)
      else {
        // The ttls of a repeat are those of the try that arrived, so its messages are not known exactly.
        const ttlMs = repeated ? 0 : Math.max(1, ttls[index]! - lateMs)
        parcel.placed = { at, ttlMs, ahead: repeated ? undefined : length + index }
        parcel.inDoubt = false
        if (parcel.abandoned) this.#cancel(parcel)
      }
    })
    if (!events.has('queue:pushed')) return
    const rejected = batch.length - accepted
    events.emit('queue:pushed', { queue: queue.name, count: accepted, rejected, length, repeated })
  }

  /** It would be behind `about` so many others, and cannot wait for them. */
  #refuseOne(parcel: Parcel, about: number): void {
    const now = monotonicMs()
    const leftMs = parcel.end - now
    const length = Math.round(about)
    const maxLength = this.#maxLengthFor(leftMs, now)
    const waitMs = Math.round(this.forecast.waitMs(length, now))
    const patienceMs = Math.round(this.forecast.patienceMs(leftMs, now))
    const { name } = this.#options.queue
    const reason =
      length >= this.maxLength
        ? `${length} requests wait in queue ${name}, and its limit is ${maxLength}.`
        : waitMs > patienceMs
          ? `About ${waitMs} ms of work waits in queue ${name}, and this call can wait only ${patienceMs} ms.`
          : `Calls to queue ${name} arrive faster than its workers serve them: ${length} requests wait, and the limit is now ${maxLength}.`
    const data = { length, maxLength, waitMs }
    parcel.refused('Overloaded', `${reason} Add workers or slots, or retry later.`, { data })
  }
}

/** Redis answered with an error, so nothing was enqueued: it refuses before it writes. */
const refuse = (parcels: Parcel[], error: unknown): void => {
  const message = `Redis refused the request: ${explained(messageOf(error))}.`
  for (const parcel of parcels) parcel.refused('NotEnqueued', message)
}

const giveUp = (parcels: Parcel[]): void => {
  const message = 'The connection broke while the request was sent, and Redis can no longer tell whether it arrived.'
  for (const parcel of parcels) parcel.refused('OutcomeUnknown', message)
}

/** How much time the most patient of these calls has left. */
const leftOf = (parcels: Parcel[], now: number): number =>
  parcels.reduce((most, { end }) => Math.max(most, end - now), 0)
