import { heldAsJob, isHeldJob } from '../../jobs/held-job.ts'
import { endOf, failuresOf, isPutOff, unrun } from '../../jobs/verdict.ts'
import type { JobEnd } from '../../queue/job-queue.ts'
import { taskFor } from '../../task/any-task.ts'
import type { Task } from '../../task/task.ts'
import type { Claimed } from '../../wire/answers.ts'
import { monotonicMs } from '../../wire/clock.ts'
import type { WireError } from '../../wire/errors.ts'
import { decodeRequest, errorReply, leadingAt, leadingId, okReply, type Request, told } from '../../wire/message.ts'
import type { Phases } from '../../wire/phases.ts'
import type { WorkerContext } from '../context.ts'
import type { Execution } from '../executor.ts'
import { cutRun, refusedRun, runArgs } from '../merged-run.ts'
import type { Slot } from '../slots.ts'
import { Unserved } from '../unserved.ts'

const maxPutBack = 1000
/** After handing a request back a worker rests, so as not to take it again at once: at first so long, and then twice as long each time. */
const firstRestMs = 50
const longestRestMs = 400

/** From claimed list elements to running handlers, and from outcomes to replies. */
export class Intake {
  readonly #context: WorkerContext
  readonly #unserved: Unserved
  /** Requests that reconcile put back, and Redis' time then: the late answer of an earlier claim must not run them. */
  readonly #putBack = new Map<string, number>()
  readonly #restMs = { any: 0, jobs: 0 }
  #running = 0
  readonly #onIdle: (() => void)[] = []

  constructor(context: WorkerContext) {
    const { registrar, commands } = context
    this.#context = context
    this.#unserved = new Unserved(task => commands.send(client => registrar.whyUnserved(client, task)))
  }

  /**
   * Starts what a claim brought, `ageMs` after Redis made it if that is more than its way here. Returns how long to rest before
   * the next claim, of jobs or of anything, if what only others can run is in the list again.
   */
  take(claimed: Claimed, workerId: string, ageMs: number): { ms: number; ofJobs: boolean } | undefined {
    const { clock, executor } = this.#context
    this.#tell(claimed)
    const now = monotonicMs()
    clock.learn(claimed.nowUs, now)
    // Deadlines go on while an answer is on its way.
    const wayMs = (clock.atUs(now) - claimed.nowUs) / 1000
    const receivedAt = now - Math.max(ageMs, wayMs)
    const foreign: Request[] = []
    for (const element of claimed.requests) {
      const request = this.#accepted(element, workerId, claimed.nowUs)
      if (!request) continue
      if (element.isApart && element.argsBeside === undefined) {
        this.#expire(request, workerId, undefined)
        continue
      }
      if (this.#moves(request, workerId, claimed.nowUs)) continue
      if (executor.has(request.task)) this.#run(request, workerId, receivedAt, claimed.nowUs)
      else if (!this.#endForeign(request, workerId, claimed.nowUs)) foreign.push(request)
    }
    if (foreign.length > 0) return this.#returnForeign(foreign)
    this.#restMs.any = 0
    // A claim of calls alone says nothing of the jobs.
    if (claimed.requests.at(-1)?.isJob) this.#restMs.jobs = 0
    return undefined
  }

  #returnForeign(foreign: readonly Request[]): { ms: number; ofJobs: boolean } {
    void this.#handBack(foreign)
    const ofJobs = foreign.every(({ heldId }) => isHeldJob(heldId))
    const kind = ofJobs ? 'jobs' : 'any'
    this.#restMs[kind] = Math.min(longestRestMs, Math.max(firstRestMs, this.#restMs[kind] * 2))
    return { ms: this.#restMs[kind], ofJobs }
  }

  /** A job whose key belongs into another shard of the queue is not run here, where others of that key may run at the same time. */
  #moves(request: Request, workerId: string, nowUs: number): boolean {
    const { queue, sharding, forward } = this.#context
    const { heldId, job, atUs, ttlMs } = request
    if (job?.key === undefined || job.merged || job.run || !isHeldJob(heldId)) return false
    const home = sharding.homeOf(queue.name, job.key)
    const isOver = ttlMs > 0 && atUs !== undefined && nowUs - atUs >= ttlMs * 1000
    if (home === queue.name || isOver) return false
    forward.move(request, home, workerId, nowUs)
    return true
  }

  /** Claims of these that were made up to `nowUs` (Redis) are void; a later one is a new one. */
  ignoreClaimsOf(ids: readonly string[], nowUs: number): void {
    if (this.#putBack.size > maxPutBack) this.#putBack.clear()
    for (const id of ids) this.#putBack.set(id, nowUs)
  }

  /** Resolves when nothing runs, and all that ended is told of. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>(resolve => this.#onIdle.push(resolve))
    this.#context.measures.tell()
  }

  #tell({ expired, requests, left }: Claimed): void {
    const { measures, events, queue } = this.#context
    measures.counters.expired += expired
    if (!events.has('claim:taken') || requests.length + expired === 0) return
    events.emit('claim:taken', { queue: queue.name, count: requests.length, left, expired })
  }

  /** The request of a list element that is to be run, here or elsewhere; undefined when it is none, or not to be run. */
  #accepted(element: Claimed['requests'][number], workerId: string, nowUs: number): Request | undefined {
    const { slots, problem } = this.#context
    const request = this.#read(element, workerId)
    if (!request || (this.#putBack.get(request.heldId) ?? 0) >= nowUs) return undefined
    const isRepeated = slots.isRepeated(request.heldId)
    if (!slots.know(request.heldId, element.isJob ? leadingAt(element.text) : '')) return undefined
    if (!isRepeated) return request
    // It ended here before, and Redis has forgotten that: a replica was promoted that had not heard of it yet.
    const message = `${request.task} had already run when Redis failed over, and was not run again.`
    problem('failover')(new Error(message))
    this.#end(request, workerId, { code: 'WorkerLost', message, retryable: false }, undefined)
    return undefined
  }

  #read({ text, madeUpId, isJob, argsBeside }: Claimed['requests'][number], workerId: string): Request | undefined {
    const { settings, measures, events, queue, settle, slots } = this.#context
    try {
      const run = isJob ? cutRun(text, settings.bigint) : undefined
      const request = decodeRequest(run?.text ?? text, madeUpId, settings.namespace, argsBeside, settings.bigint)
      if (run) request.args = run.payloads
      if (isJob) request.heldId = heldAsJob(request.heldId)
      return request
    } catch (error) {
      measures.counters.malformed++
      events.emit('request:malformed', { queue: queue.name, reason: (error as Error).message })
      // Held all the same, under the id the claim function read or made up: release it like any other.
      const plainId = madeUpId ?? leadingId(text)
      if (plainId === undefined) return undefined
      const id = isJob ? heldAsJob(plainId) : plainId
      if (slots.know(id, isJob ? leadingAt(text) : ''))
        settle.add({ id, workerId, hubId: undefined, reply: '', slot: undefined })
      return undefined
    }
  }

  #run(request: Request, workerId: string, receivedAt: number, nowUs: number): void {
    const { executor, tasks, slots } = this.#context
    const { atUs = nowUs, job } = request
    const backlogUs = Math.max(0, nowUs - Math.max(atUs, job?.since ?? 0))
    const isJob = isHeldJob(request.heldId)
    if (isJob && request.ttlMs > 0 && (nowUs - atUs) / 1000 >= request.ttlMs) {
      this.#expireJob(request, workerId)
      return
    }
    const task = taskFor(tasks, request.task)!
    if (task.keyed === 'merged' && this.#endRefused(request, task, workerId)) return
    const ownMs = task.timeoutMs
    const callMs = request.ttlMs > 0 ? request.ttlMs - backlogUs / 1000 : ownMs
    const remainingMs = isJob ? task.jobTimeoutMs + monotonicMs() - receivedAt : callMs
    const slot = slots.take(isJob, receivedAt)
    this.#running++
    const onEnd = (execution: Execution) => {
      this.#finish(request, workerId, slot, backlogUs, execution)
      this.#ended()
    }
    const isStarted = executor.start(request, receivedAt, remainingMs, onEnd, backlogUs)
    if (isStarted) return
    this.#expire(request, workerId, slot)
    this.#ended()
  }

  /** Gives a run of merged jobs its payloads by key. True when it ends here: one of them is none that its task takes. */
  #endRefused(request: Request, task: Task, workerId: string): boolean {
    const run = runArgs(request)
    const job = run && request.job?.run && refusedRun(request.heldId, task, run, this.#context.settings.bigint)
    if (run) request.args = run
    if (!job) return false
    this.#tellFailed(request, job, 'InvalidArgs', 'a payload does not match the arguments of the task')
    this.#context.settle.add({ id: request.heldId, workerId, hubId: undefined, reply: '', job, slot: undefined })
    return true
  }

  #ended(): void {
    this.#running--
    if (this.#running === 0) for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Its time was up, where the claim function could not see that: found by reconcile, or pushed by hand. */
  #expire(request: Request, workerId: string, slot: Slot | undefined): void {
    const { measures, executor, events, queue } = this.#context
    const message = 'The deadline passed before the task was started.'
    const error = told(request, { code: 'Expired', message, retryable: true })
    measures.counters.expired++
    // Only for tasks of its own: anything may be written into a request.
    if (executor.has(request.task)) measures.expired(request, error)
    events.emit('request:expired', { queue: queue.name, task: request.task, id: request.id })
    this.#end(request, workerId, error, slot)
  }

  /** It waited for longer than anybody wants it. */
  #expireJob({ heldId, id, task }: Request, workerId: string): void {
    const { measures, events, queue, settle } = this.#context
    measures.counters.expired++
    events.emit('request:expired', { queue: queue.name, task, id })
    const job = unrun(heldId, 'expired')
    settle.add({ id: heldId, workerId, hubId: undefined, reply: '', job, slot: undefined })
  }

  /** True when a request for a task that this worker does not have ends here, because handing it back would be for ever. */
  #endForeign(request: Request, workerId: string, nowUs: number): boolean {
    const { settle, measures, events, queue } = this.#context
    const isJob = isHeldJob(request.heldId)
    if (request.ttlMs > 0 && request.atUs !== undefined) {
      // Its deadline ends it; where the claim function cannot see that, here.
      const isOver = nowUs - request.atUs >= request.ttlMs * 1000
      if (isOver && isJob) this.#expireJob(request, workerId)
      else if (isOver) this.#expire(request, workerId, undefined)
      if (isOver || !isJob) return isOver
    }
    const verdict = this.#unserved.verdict(request.task)
    if (!verdict) return false
    const { task, hubId, heldId } = request
    measures.counters.unserved++
    if (isJob) {
      const job = endOf(request, undefined, { ok: false, error: verdict, thrown: undefined }, false, queue.name)
      settle.add({ id: heldId, workerId, hubId: undefined, reply: '', job, slot: undefined })
      if (job) this.#tellFailed(request, job, verdict.code, verdict.message)
      return true
    }
    const error = told(request, verdict)
    this.#end(request, workerId, error, undefined)
    events.emit('request:unserved', { queue: queue.name, task, code: error.code, answered: hubId !== undefined })
    return true
  }

  /** Answers what did not run. */
  #end(request: Request, workerId: string, error: WireError, slot: Slot | undefined): void {
    const reply = errorReply(request, error, workerId, undefined)
    this.#context.settle.add({ id: request.heldId, workerId, hubId: request.hubId, reply, slot })
  }

  #finish(request: Request, workerId: string, slot: Slot, backlogUs: number, execution: Execution): void {
    const { settle, slots, measures } = this.#context
    const { outcome, queueMs, execMs, wasAborted, chunks } = execution
    if (chunks !== undefined) this.#context.streams.close(request)
    this.#context.progress.end(request)
    if (workerId !== this.#context.workerId()) return
    const us: Phases = {
      backlog: Math.round(backlogUs),
      queue: Math.round(queueMs * 1000),
      exec: Math.round(execMs * 1000),
    }
    const isJob = isHeldJob(request.heldId)
    const isLeft = !outcome.ok && outcome.error.code === 'WorkerLost'
    if (isLeft && (isJob || request.idempotent)) {
      // This worker leaves: what may run twice stays held, and goes back to the list in its last step.
      slots.free([slot])
      return
    }
    if (isJob) {
      const job = this.#endJob(request, outcome, wasAborted)
      settle.add({ id: request.heldId, workerId, hubId: undefined, reply: '', job, slot })
      if (isPutOff(job)) measures.jobs.putOff()
      else {
        measures.jobs.ran(us.backlog + us.queue, monotonicMs())
        measures.ran({ request, outcome, us, now: monotonicMs() })
      }
      return
    }
    if (!outcome.ok) outcome.error = told(request, outcome.error)
    const reply = outcome.ok
      ? okReply(request.id, outcome.result, workerId, us, chunks)
      : errorReply(request, outcome.error, workerId, us)
    // The caller's own deadline came before this one; nobody would read the reply.
    const isLate = request.ttlMs > 0 && backlogUs / 1000 + queueMs + execMs > request.ttlMs
    settle.add({ id: request.heldId, workerId, hubId: isLate ? undefined : request.hubId, reply, slot })
    measures.ran({ request, outcome, us, now: monotonicMs() })
  }

  /** What becomes of a job that ran; those who watch are told of its failure. */
  #endJob(request: Request, outcome: Execution['outcome'], wasAborted: boolean): JobEnd | undefined {
    const { tasks, queue } = this.#context
    const end = endOf(request, taskFor(tasks, request.task), outcome, wasAborted, queue.name)
    if (!outcome.ok && end) this.#tellFailed(request, end, outcome.error.code, outcome.error.message)
    return end
  }

  /** What became of a job that failed, or of each key of a run. */
  #tellFailed(request: Request, end: JobEnd, code: string, message: string): void {
    const { events, queue, measures } = this.#context
    const { task, id } = request
    for (const [at, { how, delayMs, tries }] of failuresOf(request, end).entries()) {
      const told = { queue: queue.name, task, id: end.words ? `${id}-${at + 1}` : id }
      if (how === 'dead') {
        measures.jobs.died()
        events.emit('job:dead', { ...told, reason: `${code}: ${message}` })
      } else if (how === 'putoff') events.emit('job:putoff', { ...told, delayMs, reason: message })
      else {
        measures.jobs.retried()
        events.emit('job:retried', { ...told, attempt: tries + 1, delayMs, code })
      }
    }
  }

  async #handBack(foreign: readonly Request[]): Promise<void> {
    const { queue, commands, slots, events, workerId, problem } = this.#context
    const ids = foreign.map(({ heldId }) => heldId)
    events.emit('request:handedback', { queue: queue.name, task: foreign[0]!.task, count: ids.length })
    // Before they are sent back, since they may come again ahead of the answer. Did it fail, reconcile finds them.
    slots.forget(ids)
    await commands.send(client => queue.handback(client, workerId(), 'tail', ids)).catch(problem('handback'))
  }
}
