import { monotonicMs } from '../clock.ts'
import { errorReply, isHeldJob, type Request } from '../message.ts'
import type { Queue } from '../queue.ts'
import type { Connection } from '../redis.ts'
import type { Settlement } from '../settlement.ts'
import type { EventMap, Events } from '../telemetry.ts'

export interface AdoptOptions {
  queue: Queue
  connection: Connection
  events: Events
  workerId(): string
  /** Marks a request as known, so that reconcile leaves it alone; false when it is known already. */
  take(id: string): boolean
  forget(ids: string[]): void
  /** Undefined for something that is not a request. */
  decode(text: string, id: string): Request | undefined
  /** May the task run twice? Asks the registry for tasks this worker does not have. */
  isIdempotent(task: string): Promise<boolean>
  settle(settlement: Settlement): void
}

/**
 * After an interruption of its own a worker adopts nothing for this long: when Redis was away every lease has ended,
 * and the others must have time to renew theirs.
 */
const graceMs = 2000
const interruptionMs = 1800
/** What lost its worker this often is not given to another one. */
const maxLosses = 3

/**
 * Takes over what lost workers held. An idempotent call that still has time, and any job, goes back to the head of its
 * list; any other call is answered WorkerLost at once, instead of keeping its caller waiting until the deadline. What its
 * workers died of, again and again, ends here: a call is answered, a job is kept with the dead ones.
 */
export class Adopt {
  readonly #options: AdoptOptions
  #lastBeatAt = monotonicMs()
  #notBefore = monotonicMs() + graceMs
  #underWay: Promise<void> | undefined

  constructor(options: AdoptOptions) {
    this.#options = options
  }

  /** Called with each beat: `ended` are workers whose leases have ended, `nowUs` is Redis' time. */
  onBeat(ended: string[], nowUs: number): void {
    const now = monotonicMs()
    if (now - this.#lastBeatAt > interruptionMs) this.#notBefore = now + graceMs
    this.#lastBeatAt = now
    if (ended.length === 0 || now < this.#notBefore || this.#underWay) return
    this.#underWay = this.#adoptFrom(ended, nowUs)
      .catch(() => undefined)
      .finally(() => {
        this.#underWay = undefined
      })
  }

  async stop(): Promise<void> {
    await this.#underWay
  }

  async #adoptFrom(ended: string[], nowUs: number): Promise<void> {
    const { queue, connection, events, workerId } = this.#options
    for (const lost of ended) {
      for (let done = false; !done; ) {
        const id = workerId()
        const adopted = await connection.send(client => queue.adopt(client, lost, id))
        if (!adopted || id !== workerId()) break
        done = adopted.done
        await this.redirect(adopted.requests, id, nowUs)
        events.emit('worker:lost', { worker: lost, queue: queue.name, adopted: adopted.requests.length, by: id })
      }
    }
  }

  /**
   * Decides about requests taken over from a lost worker; also those whose adoption was not answered, when reconcile
   * finds them.
   */
  async redirect(requests: { id: string; text: string }[], workerId: string, nowUs: number): Promise<void> {
    const { queue, connection, events, take, forget, settle } = this.#options
    const again: { id: string; text: string; event: EventMap['request:redelivered'] }[] = []
    for (const { id, text } of requests) {
      if (!take(id)) continue
      const verdict = await this.#verdict(text, id, nowUs)
      if ('again' in verdict) again.push({ id, text: verdict.again, event: verdict.event })
      else settle({ id, workerId, ...verdict, slot: false })
    }
    if (again.length === 0) return
    try {
      await connection.send(client => queue.handback(client, workerId, 'head', again))
      for (const { event } of again) events.emit('request:redelivered', event)
    } finally {
      // Did it fail, reconcile finds them again.
      forget(again.map(({ id }) => id))
    }
  }

  async #verdict(text: string, id: string, nowUs: number): Promise<Verdict> {
    const request = this.#options.decode(text, id)
    const over = { hubId: undefined, reply: '' }
    if (!request) return over
    const expired = request.ttlMs > 0 && request.atUs !== undefined && nowUs - request.atUs >= request.ttlMs * 1000
    if (expired) return over
    const losses = request.losses + 1
    const isJob = isHeldJob(id)
    if (losses < maxLosses && (isJob || (await this.#options.isIdempotent(request.task)))) {
      const event = { queue: this.#options.queue.name, task: request.task, id: request.id, losses }
      return { again: withLosses(text, losses), event }
    }
    const often =
      losses > 1 ? `${losses} workers that ran ${request.task} died` : `The worker that ran ${request.task} died`
    if (isJob) {
      const { events, queue } = this.#options
      events.emit('job:dead', { queue: queue.name, task: request.task, id: request.id, reason: often })
      return { ...over, dead: withLosses(text, losses) }
    }
    const error = { code: 'WorkerLost', message: `${often}; it may have been run.`, retryable: false }
    return {
      hubId: request.hubId,
      reply: errorReply(request.id, error, this.#options.workerId(), undefined),
    }
  }
}

type Verdict = { again: string; event: EventMap['request:redelivered'] } | Pick<Settlement, 'hubId' | 'reply' | 'dead'>

/** The request with its count of lost workers, spliced in as text: its payload is never encoded anew. */
const withLosses = (text: string, losses: number): string =>
  `${text
    .trimEnd()
    .replace(/,"losses":\d+\}$/, '}')
    .slice(0, -1)},"losses":${losses}}`
