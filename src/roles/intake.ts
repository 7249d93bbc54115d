import type { Claimed } from '../answers.ts'
import type { WorkerCounters } from '../cards.ts'
import { monotonicMs } from '../clock.ts'
import type { ErrorCode } from '../errors.ts'
import type { Execution, Executor } from '../executor.ts'
import type { Measures } from '../measures.ts'
import { decodeRequest, errorReply, heldAsJob, isHeldJob, leadingId, okReply, type Request } from '../message.ts'
import type { Phases } from '../phases.ts'
import { RedisClock } from '../redisclock.ts'
import type { RunTimes } from '../runtimes.ts'
import { type Held, heldOf, type Settlement } from '../settlement.ts'
import type { Slots } from '../slots.ts'
import { Tally } from '../tally.ts'
import type { Events } from '../telemetry.ts'

export interface IntakeOptions {
  namespace: string
  queueName: string
  executor: Executor
  slots: Slots
  counters: WorkerCounters
  measures: Measures
  runTimes: RunTimes
  events: Events
  workerId(): string
  /** The request ended: reply and release. */
  settle(settlement: Settlement): void
  /** What to answer when no worker of this queue takes the task; undefined as long as one may. */
  unserved(task: string): { code: ErrorCode; message: string } | undefined
  /** Puts requests back that only another worker can run. Resolves after a pause, in which their slots stay taken. */
  handBack(requests: Held[]): Promise<void>
  /** After that pause: nothing else would make the next claim. */
  onSlotsIdle(): void
  /** For a message without a time of its own. */
  timeoutMsOf(task: string): number
  isIdempotent(task: string): boolean
  /** How long it runs at least, as the claim script is told; 0 when it is not. */
  runsAtLeastMs(task: string): number
}

const maxPutBack = 1000

/** From claimed list elements to running handlers, and from outcomes to replies. */
export class Intake {
  readonly #options: IntakeOptions
  /** Requests that reconcile put back, and Redis' time then: the late answer of an earlier claim must not run them. */
  readonly #putBack = new Map<string, number>()
  /** Given up when the worker leaves, and safe to run again. */
  readonly #returning = new Set<string>()
  readonly #clock = new RedisClock()
  readonly #redisUs = (now: number): number => this.#clock.atUs(now)
  readonly #tally: Tally
  #running = 0
  #onIdle: (() => void)[] = []

  constructor(options: IntakeOptions) {
    this.#options = options
    this.#tally = new Tally({ ...options, redisUs: this.#redisUs })
  }

  /** Starts what a claim brought, `ageMs` after Redis made it if that is more than its way here. */
  take(claimed: Claimed, workerId: string, ageMs: number): void {
    const { counters, events, queueName } = this.#options
    const expired = claimed.expired + claimed.hopeless.length
    counters.expired += expired
    if (events.has('claim:taken') && (claimed.requests.length > 0 || expired > 0)) {
      events.emit('claim:taken', {
        queue: queueName,
        count: claimed.requests.length,
        left: claimed.left,
        expired,
      })
    }
    for (const text of claimed.hopeless) {
      const request = this.#tryDecode(text, undefined)
      if (request) this.#refuseHopeless(request, workerId, false)
    }
    const now = monotonicMs()
    this.#clock.learn(claimed.nowUs, now)
    // Deadlines go on while an answer is on its way.
    const wayMs = (this.#clock.atUs(now) - claimed.nowUs) / 1000
    const receivedAt = now - Math.max(ageMs, wayMs)
    const foreign: Request[] = []
    for (const claimedRequest of claimed.requests) {
      const request = this.#decode(claimedRequest, workerId)
      if (!request || (this.#putBack.get(request.heldId) ?? 0) >= claimed.nowUs) continue
      if (!this.#options.slots.take(request.heldId)) continue
      if (this.#options.executor.has(request.task)) this.#run(request, workerId, receivedAt, claimed.nowUs)
      else if (!this.#endForeign(request, workerId, claimed.nowUs)) foreign.push(request)
    }
    if (foreign.length > 0) void this.#handBack(foreign)
  }

  /** Redis' time of an answer that is here now. Where all slots are taken for long, claims do not tell it. */
  learnTime(nowUs: number): void {
    this.#clock.learn(nowUs, monotonicMs())
  }

  /** Claims of these that were made up to `nowUs` (Redis) are void; a later one is a new one. */
  ignoreClaimsOf(requests: { id: string }[], nowUs: number): void {
    if (this.#putBack.size > maxPutBack) this.#putBack.clear()
    for (const { id } of requests) this.#putBack.set(id, nowUs)
  }

  /** Requests that were started and are not settled; those that may run again are not among them. */
  unfinished(): string[] {
    return this.#options.slots.knownIds().filter(id => !this.#returning.has(id))
  }

  /** Reads a request taken over from a lost worker; undefined when it is none. */
  decodeAdopted(text: string, heldId: string): Request | undefined {
    return this.#tryDecode(text, heldId.replace(/^lost:/, ''))
  }

  #tryDecode(text: string, heldId: string | undefined): Request | undefined {
    try {
      return decodeRequest(text, heldId, this.#options.namespace)
    } catch {
      return undefined
    }
  }

  /** Resolves when nothing runs, and all that ended is told of. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>(resolve => this.#onIdle.push(resolve))
    this.#tally.tell()
  }

  #decode({ text, madeUpId, isJob, isTaken }: Claimed['requests'][number], workerId: string): Request | undefined {
    const { namespace, counters, events, queueName, settle, slots } = this.#options
    try {
      const request = decodeRequest(text, madeUpId, namespace)
      if (isJob) request.heldId = heldAsJob(request.heldId)
      request.isTaken = isTaken
      return request
    } catch (error) {
      counters.malformed++
      events.emit('request:malformed', { queue: queueName, reason: (error as Error).message })
      // Held all the same, under the id the claim script read or made up: release it like any other.
      const plainId = madeUpId ?? leadingId(text)
      if (plainId === undefined) return undefined
      const id = isJob ? heldAsJob(plainId) : plainId
      const taken = isTaken ? text : undefined
      if (slots.take(id)) settle({ id, workerId, hubId: undefined, reply: '', taken, slot: true })
      return undefined
    }
  }

  #run(request: Request, workerId: string, receivedAt: number, nowUs: number): void {
    const { executor, timeoutMsOf, runsAtLeastMs } = this.#options
    const backlogUs = request.atUs === undefined ? 0 : Math.max(0, nowUs - request.atUs)
    const remainingMs = request.ttlMs > 0 ? request.ttlMs - backlogUs / 1000 : timeoutMsOf(request.task)
    // The claim script drops them; what is taken without it comes as it is.
    if (request.isTaken && remainingMs > 0 && remainingMs < runsAtLeastMs(request.task)) {
      this.#refuseHopeless(request, workerId, true)
      return
    }
    this.#running++
    const isStarted = executor.start(request, receivedAt, remainingMs, execution => {
      this.#finish(request, workerId, backlogUs, execution, receivedAt + remainingMs)
      this.#ended()
    })
    if (isStarted) return
    this.#expire(request, workerId)
    this.#ended()
  }

  #ended(): void {
    this.#running--
    if (this.#running > 0) return
    const waiting = this.#onIdle
    this.#onIdle = []
    for (const resolve of waiting) resolve()
  }

  /** Its caller need not wait for the deadline. What the claim script dropped is not held. */
  #refuseHopeless(request: Request, workerId: string, isHeld: boolean): void {
    if (isHeld) this.#options.counters.expired++
    const message = `${request.task} usually runs longer than what was left of the call's time, so it was not started.`
    this.#countExpired(request, message)
    const reply = errorReply(request.id, { code: 'Expired', message, retryable: true }, workerId, undefined)
    this.#options.settle({ ...heldOf(request), workerId, hubId: request.hubId, reply, slot: isHeld })
  }

  /** Its time was up, where the claim script could not see that: found by reconcile, or pushed by hand. */
  #expire(request: Request, workerId: string): void {
    const { settle, counters, events, queueName } = this.#options
    const error = { code: 'Expired', message: 'The deadline passed before the task was started.', retryable: true }
    counters.expired++
    this.#countExpired(request, error.message)
    events.emit('request:expired', { queue: queueName, task: request.task, id: request.id })
    const reply = errorReply(request.id, error, workerId, undefined)
    settle({ ...heldOf(request), workerId, hubId: request.hubId, reply, slot: true })
  }

  /** Only for tasks of its own: anything may be written into a request. */
  #countExpired(request: Request, message: string): void {
    const { executor, measures } = this.#options
    if (executor.has(request.task)) measures.expired(request, message, this.#redisUs)
  }

  /** True when a request for a task that this worker does not have ends here, because handing it back would be for ever. */
  #endForeign(request: Request, workerId: string, nowUs: number): boolean {
    const { unserved, settle, counters, events, queueName } = this.#options
    if (request.ttlMs > 0 && request.atUs !== undefined) {
      // Its deadline ends it; where the claim script cannot see that, here.
      const isOver = nowUs - request.atUs >= request.ttlMs * 1000
      if (isOver) this.#expire(request, workerId)
      return isOver
    }
    const verdict = unserved(request.task)
    if (!verdict) return false
    counters.unserved++
    if (isHeldJob(request.heldId)) {
      settle({ ...heldOf(request), workerId, hubId: undefined, reply: '', dead: request.text, slot: true })
      events.emit('job:dead', { queue: queueName, task: request.task, id: request.id, reason: verdict.message })
      return true
    }
    // After a death nobody knows whether it was run.
    const code = request.losses > 0 ? 'WorkerLost' : verdict.code
    const { hubId } = request
    const reply = errorReply(request.id, { code, message: verdict.message }, workerId, undefined)
    settle({ ...heldOf(request), workerId, hubId, reply, slot: true })
    events.emit('request:unserved', { queue: queueName, task: request.task, code, answered: hubId !== undefined })
    return true
  }

  #finish(
    request: Request,
    workerId: string,
    backlogUs: number,
    { outcome, queueMs, execMs }: Execution,
    deadline: number,
  ): void {
    const { settle, slots, counters, runTimes, isIdempotent } = this.#options
    if (workerId !== this.#options.workerId()) return
    const us: Phases = {
      backlog: Math.round(backlogUs),
      queue: Math.round(queueMs * 1000),
      exec: Math.round(execMs * 1000),
    }
    const isLeft = !outcome.ok && outcome.error.code === 'WorkerLost'
    if (isLeft && (isHeldJob(request.heldId) || isIdempotent(request.task))) {
      // This worker leaves: what may run twice stays held, and goes back to the list in its last step.
      slots.free([request.heldId])
      this.#returning.add(request.heldId)
      return
    }
    if (outcome.ok) {
      counters.ok++
      runTimes.note(request.task, execMs)
    } else counters.failed++
    const now = monotonicMs()
    const reply = outcome.ok
      ? okReply(request.id, outcome.result, workerId, us)
      : errorReply(request.id, outcome.error, workerId, us)
    // The caller's own deadline came before this one; nobody would read the reply.
    const hubId = request.ttlMs > 0 && now > deadline ? undefined : request.hubId
    settle({
      id: request.heldId,
      taken: request.isTaken ? request.text : undefined,
      workerId,
      hubId,
      reply,
      slot: true,
    })
    this.#tally.add({ request, outcome, us, now })
  }

  async #handBack(foreign: Request[]): Promise<void> {
    const { handBack, onSlotsIdle, slots, events, queueName } = this.#options
    const ids = foreign.map(({ heldId }) => heldId)
    events.emit('request:handedback', { queue: queueName, task: foreign[0]!.task, count: ids.length })
    // Before they are sent back, since they may come again ahead of the answer. Did it fail, reconcile finds them.
    slots.forget(ids)
    await handBack(foreign.map(heldOf))
    slots.free(ids)
    onSlotsIdle()
  }
}
