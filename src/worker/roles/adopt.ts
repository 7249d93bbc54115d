import type { HeldText } from '../../wire/answers.ts'
import { monotonicMs } from '../../wire/clock.ts'
import type { WireError } from '../../wire/errors.ts'
import { decodeRequest, errorReply, type Request } from '../../wire/message.ts'
import type { WorkerContext } from '../context.ts'
import { plainId } from '../held.ts'

/**
 * After an interruption of its own a worker adopts nothing for this long, and after a step of Redis' clock: every lease has ended
 * then, and the others must have time to renew theirs.
 */
const graceMs = 2000
const interruptionMs = 1800

/**
 * Takes over what lost workers held. An idempotent call that still has time, and any job, goes back to the head of its
 * list; any other call is answered WorkerLost at once, instead of keeping its caller waiting until the deadline. What its
 * workers died of, again and again, ends: a call is answered, a job is kept with the dead ones. All of that is decided in Redis;
 * what is left to do here is to answer, and to tell.
 */
export class Adopt {
  readonly #context: WorkerContext
  #lastBeatAt = monotonicMs()
  #notBefore = monotonicMs() + graceMs
  #underWay: Promise<void> | undefined

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /** Called with each beat: `ended` are workers whose leases have ended. */
  onBeat(ended: readonly string[]): void {
    const now = monotonicMs()
    if (now - this.#lastBeatAt > interruptionMs) this.#notBefore = now + graceMs
    this.#notBefore = Math.max(this.#notBefore, this.#context.clock.steppedAt + graceMs)
    this.#lastBeatAt = now
    if (ended.length === 0 || now < this.#notBefore || this.#underWay) return
    this.#underWay = this.#adoptFrom(ended).finally(() => {
      this.#underWay = undefined
    })
  }

  async stop(): Promise<void> {
    await this.#underWay
  }

  async #adoptFrom(ended: readonly string[]): Promise<void> {
    for (const lost of ended)
      await this.#adoptAll(lost).catch((error: Error) => {
        // Those behind it are not to wait for what is wrong with this one.
        if (error.name === 'ReplyError') this.#context.problem('adopt')(error)
      })
  }

  async #adoptAll(lost: string): Promise<void> {
    const { queue, commands, events, workerId, forward, problem } = this.#context
    for (let done = false; !done; ) {
      const id = workerId()
      const adopted = await commands.send(client => queue.adopt(client, lost, id))
      if (!adopted || id !== workerId()) return
      done = adopted.done
      this.answer(adopted.toAnswer, id)
      forward.send(adopted.outs, id)
      for (const held of adopted.redelivered) this.#tell('request:redelivered', held)
      for (const held of adopted.dead) {
        this.#context.measures.jobs.died()
        this.#tell('job:dead', held)
      }
      for (const { id: heldId, ticket, hubId } of adopted.told) {
        const held = adopted.dead.find(each => each.id === heldId)
        const request = held && this.#decode(held)
        if (!request) continue
        const reply = errorReply({ ...request, id: ticket }, lostError(request), id, undefined)
        await commands.send(client => queue.reply(client, hubId, [reply])).catch(problem('adopt'))
      }
      const count = adopted.toAnswer.length + adopted.redelivered.length + adopted.dead.length
      events.emit('worker:lost', { worker: lost, queue: queue.name, adopted: count, by: id })
    }
  }

  /** Answers calls taken over from a lost worker; also those whose adoption was not answered, when reconcile finds them. */
  answer(requests: readonly HeldText[], workerId: string): void {
    const { slots, settle } = this.#context
    for (const held of requests) {
      if (!slots.know(held.id)) continue
      const request = this.#decode(held)
      // Nobody can be told of what is no request.
      const reply = request ? errorReply(request, lostError(request), workerId, undefined) : ''
      settle.add({ id: held.id, workerId, hubId: request?.hubId, reply, slot: undefined })
    }
  }

  #tell(event: 'request:redelivered' | 'job:dead', held: HeldText): void {
    const { queue, events } = this.#context
    const request = this.#decode(held)
    if (!request) return
    const { task, id, losses } = request
    if (event === 'job:dead') events.emit(event, { queue: queue.name, task, id, reason: reasonOf(request) })
    else events.emit(event, { queue: queue.name, task, id, losses })
  }

  #decode({ id, text }: HeldText): Request | undefined {
    try {
      return decodeRequest(text, plainId(id), this.#context.settings.namespace)
    } catch {
      return undefined
    }
  }
}

const reasonOf = ({ task, losses }: Request): string =>
  losses > 1
    ? `${losses} workers that ran ${task} crashed or lost their lease`
    : `The worker that ran ${task} crashed or lost its lease`

const lostError = (request: Request): WireError => ({
  code: 'WorkerLost',
  message: `${reasonOf(request)}.`,
  retryable: false,
})
