import { isBatchFull } from '../queue/batches.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { deliverNumbered } from '../queue/numbered.ts'
import { maxBatchBytes } from '../queue/queue.ts'
import type { Place } from '../redis/connection.ts'
import { ConnectionLost, isTransient } from '../redis/failures.ts'
import { explained } from '../redis/refusals.ts'
import type { Enqueued } from '../wire/answers.ts'
import { monotonicMs } from '../wire/clock.ts'
import { Deadlines, type Timed } from '../wire/deadlines.ts'
import { type ErrorCode, HubError, messageOf } from '../wire/errors.ts'
import { detached } from '../wire/timers.ts'

export interface JobOutboxOptions {
  /** Where the queue lives. */
  connection: Place
  queue: JobQueue
  hubId: string
  /** They are acknowledged when a replica has them, too. */
  isDurable?: boolean
  closing: AbortSignal
}

/** A replica that is there answers within milliseconds; one that is away must not hold up what comes behind for longer. */
const replicaMs = 1000

/**
 * What a job counts for in a write. One that carries more than its arguments takes Redis some 30 us, another one 4: a hundred of these
 * are 3 ms in which it does nothing else.
 */
export const weightOf = (message: string): number =>
  message.length + (/^"ttl":\d+,"id":"[\w-]+","job":/.test(message) ? maxBatchBytes / 100 : 0)

/** Jobs that are acknowledged together, on their way into a queue. */
interface Parcel extends Timed {
  readonly messages: readonly string[]
  readonly weight: number
  settled: boolean
  inDoubt: boolean
  setback: string | undefined
  /** By place in `messages`: the id of the job that is there already. */
  accept(twins: ReadonlyMap<number, string>): void
  refuse(code: ErrorCode, message?: string): void
}

/**
 * Jobs of one hub for one queue. As with calls, one batch is under way at a time, under a number, and what comes meanwhile goes
 * with the next one; so only the last batch can be in doubt, and it is repeated until Redis says what became of it.
 */
export class JobOutbox {
  readonly #options: JobOutboxOptions
  readonly #deadlines = new Deadlines()
  #waiting: Parcel[] = []
  #number = 0
  #isBusy = false

  constructor(options: JobOutboxOptions) {
    this.#options = options
  }

  /** True when something was sent, so that there is a number in Redis to clean up. */
  get used(): boolean {
    return this.#number > 0
  }

  /**
   * Enqueues jobs, all of them or none: at most 256, and about 1 MB. Resolves when they are in Redis, with those, by place, that are not
   * because another one of their uniqueness is there.
   * @throws HubError NotEnqueued, OutcomeUnknown, HubClosed
   */
  enqueue(messages: readonly string[], timeoutMs: number): Promise<ReadonlyMap<number, string>> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        if (parcel.settled) return
        parcel.settled = true
        this.#deadlines.delete(parcel)
        act()
      }
      const parcel: Parcel = {
        messages,
        weight: messages.reduce((sum, message) => sum + weightOf(message), 0),
        deadline: monotonicMs() + timeoutMs,
        settled: false,
        inDoubt: false,
        setback: undefined,
        accept: twins => settle(() => resolve(twins)),
        refuse: (code, message) => settle(() => reject(new HubError(code, message))),
        expire: () => this.#expire(parcel),
      }
      this.#deadlines.add(parcel)
      this.#waiting.push(parcel)
      if (this.#isBusy) return
      this.#isBusy = true
      // Behind all that is enqueued in this tick: they go together.
      process.nextTick(() => void detached(() => this.#run()))
    })
  }

  /** Nobody will hear of what is not answered by now. */
  stop(): void {
    this.#end(this.#waiting)
    this.#deadlines.stop()
  }

  #end(parcels: readonly Parcel[]): void {
    for (const parcel of parcels) parcel.refuse(parcel.inDoubt ? 'OutcomeUnknown' : 'HubClosed')
  }

  async #run(): Promise<void> {
    const { connection, closing } = this.#options
    while (this.#waiting.length > 0 && !closing.aborted) {
      if (!connection.isReady) await connection.whenReady(closing)
      await this.#deliver(this.#nextBatch())
    }
    this.#isBusy = false
  }

  #nextBatch(): Parcel[] {
    const batch: Parcel[] = []
    let count = 0
    let weight = 0
    let taken = 0
    for (const parcel of this.#waiting) {
      if (count > 0 && isBatchFull(count + parcel.messages.length - 1, weight, parcel.weight)) break
      taken++
      if (parcel.settled) continue
      count += parcel.messages.length
      weight += parcel.weight
      batch.push(parcel)
    }
    this.#waiting = this.#waiting.slice(taken)
    return batch
  }

  async #deliver(parcels: Parcel[]): Promise<void> {
    const { connection, queue, hubId, closing, isDurable } = this.#options
    const number = ++this.#number
    let replicas = 0
    const delivered = await deliverNumbered<Enqueued>({
      connection,
      closing,
      prepare: wasLost => {
        if (!wasLost) parcels = parcels.filter(({ settled }) => !settled)
        if (parcels.every(({ settled }) => settled)) return undefined
        const messages = parcels.flatMap(parcel => parcel.messages)
        return async client => {
          for (const parcel of parcels) parcel.inDoubt = true
          const answer = await queue.enqueue(client, hubId, number, messages)
          if (isDurable) replicas = await queue.replicasOf(client, hubId, replicaMs).catch(unconfirmed)
          return answer
        }
      },
      onSetback: (error, wasLost) => {
        for (const parcel of parcels) {
          parcel.inDoubt = wasLost
          parcel.setback = error.message
        }
      },
    })
    if (delivered === 'over') this.#end(parcels)
    else if (delivered === 'unknown') for (const parcel of parcels) parcel.refuse('OutcomeUnknown', doubt)
    else if ('refused' in delivered) {
      const message = `Redis refused the job: ${explained(messageOf(delivered.refused))}.`
      for (const parcel of parcels) parcel.refuse('NotEnqueued', message)
    } else if (isDurable && replicas < 1) for (const parcel of parcels) parcel.refuse('OutcomeUnknown', unreplicated)
    else this.#accept(parcels, delivered.answer)
  }

  #accept(parcels: Parcel[], { twins }: Enqueued): void {
    let first = 0
    for (const { messages, accept } of parcels) {
      const own = [...twins].filter(([place]) => place >= first && place < first + messages.length)
      const from = first
      accept(new Map(own.map(([place, id]) => [place - from, id])))
      first += messages.length
    }
  }

  #expire(parcel: Parcel): void {
    if (parcel.inDoubt) {
      parcel.refuse('OutcomeUnknown', 'Redis did not confirm the job in time; it may have been enqueued.')
      return
    }
    const reason = explained(parcel.setback ?? this.#options.connection.downReason?.message ?? 'it did not answer')
    parcel.refuse('NotEnqueued', `Redis did not accept the job in time: ${reason}.`)
  }
}

/** They are there by now: what is transient is tried again as if the answer had been lost, and what stays so confirms nothing. */
const unconfirmed = (error: Error): number => {
  if (isTransient(error)) throw new ConnectionLost(error.message)
  return 0
}

const unreplicated = `The job is in Redis, but no replica confirmed it within ${replicaMs} ms. If the master fails before a replica has it, the job is lost.`
const doubt = 'The connection broke while the job was sent, and Redis can no longer tell whether it arrived.'
