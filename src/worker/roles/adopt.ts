import type { EventMap } from '../../figures/events.ts'
import { isHeldJob } from '../../jobs/held-job.ts'
import { monotonicMs } from '../../wire/clock.ts'
import { decodeRequest, errorReply, type Request, withLosses } from '../../wire/message.ts'
import type { WorkerContext } from '../context.ts'
import { type HeldText, type Settlement, withoutLost } from '../held.ts'

/**
 * After an interruption of its own a worker adopts nothing for this long, and after a step of Redis' clock: every lease has ended
 * then, and the others must have time to renew theirs.
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
  readonly #context: WorkerContext
  #lastBeatAt = monotonicMs()
  #notBefore = monotonicMs() + graceMs
  #underWay: Promise<void> | undefined

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /** Called with each beat: `ended` are workers whose leases have ended, `nowUs` is Redis' time. */
  onBeat(ended: readonly string[], nowUs: number): void {
    const now = monotonicMs()
    if (now - this.#lastBeatAt > interruptionMs) this.#notBefore = now + graceMs
    this.#notBefore = Math.max(this.#notBefore, this.#context.clock.steppedAt + graceMs)
    this.#lastBeatAt = now
    if (ended.length === 0 || now < this.#notBefore || this.#underWay) return
    this.#underWay = this.#adoptFrom(ended, nowUs).finally(() => {
      this.#underWay = undefined
    })
  }

  async stop(): Promise<void> {
    await this.#underWay
  }

  async #adoptFrom(ended: readonly string[], nowUs: number): Promise<void> {
    for (const lost of ended)
      await this.#adoptAll(lost, nowUs).catch((error: Error) => {
        // Those behind it are not to wait for what is wrong with this one.
        if (error.name === 'ReplyError') this.#context.problem('adopt')(error)
      })
  }

  async #adoptAll(lost: string, nowUs: number): Promise<void> {
    const { queue, commands, events, workerId } = this.#context
    for (let done = false; !done; ) {
      const id = workerId()
      const adopted = await commands.send(client => queue.adopt(client, lost, id))
      if (!adopted || id !== workerId()) return
      done = adopted.done
      await this.redirect(adopted.requests, id, nowUs)
      events.emit('worker:lost', { worker: lost, queue: queue.name, adopted: adopted.requests.length, by: id })
    }
  }

  /**
   * Decides about requests taken over from a lost worker; also those whose adoption was not answered, when reconcile
   * finds them.
   */
  async redirect(requests: readonly HeldText[], workerId: string, nowUs: number): Promise<void> {
    const { queue, commands, slots, events, settle } = this.#context
    const again: { id: string; text: string; event: EventMap['request:redelivered'] }[] = []
    for (const { id, text } of requests) {
      if (!slots.know(id)) continue
      const verdict = await this.#verdict(text, id, nowUs)
      if ('again' in verdict) again.push({ id, text: verdict.again, event: verdict.event })
      else settle.add({ id, workerId, ...verdict, slot: undefined })
    }
    if (again.length === 0) return
    try {
      await commands.send(client => queue.handback(client, workerId, 'head', again))
      for (const { event } of again) events.emit('request:redelivered', event)
    } finally {
      // Did it fail, reconcile finds them again.
      slots.forget(again.map(({ id }) => id))
    }
  }

  async #verdict(text: string, id: string, nowUs: number): Promise<Verdict> {
    const { queue, commands, events, registrar, workerId } = this.#context
    const request = this.#decode(text, id)
    const over = { hubId: undefined, reply: '' }
    if (!request) return over
    const { task, ttlMs, atUs } = request
    if (ttlMs > 0 && atUs !== undefined && nowUs - atUs >= ttlMs * 1000) return over
    const losses = request.losses + 1
    const isJob = isHeldJob(id)
    if (losses < maxLosses && (isJob || (await registrar.isIdempotent(task, commands)))) {
      const event = { queue: queue.name, task, id: request.id, losses }
      return { again: withLosses(text, losses), event }
    }
    const often = losses > 1 ? `${losses} workers that ran ${task} died` : `The worker that ran ${task} died`
    if (isJob) {
      events.emit('job:dead', { queue: queue.name, task, id: request.id, reason: often })
      return { ...over, dead: withLosses(text, losses) }
    }
    const error = { code: 'WorkerLost' as const, message: `${often}; it may have been run.`, retryable: false }
    return { hubId: request.hubId, reply: errorReply(request, error, workerId(), undefined) }
  }

  #decode(text: string, id: string): Request | undefined {
    try {
      return decodeRequest(text, withoutLost(id), this.#context.settings.namespace)
    } catch {
      return undefined
    }
  }
}

type Verdict = { again: string; event: EventMap['request:redelivered'] } | Pick<Settlement, 'hubId' | 'reply' | 'dead'>
