import type { JobQueue } from '../queue/job-queue.ts'
import type { Redis } from '../redis/connection.ts'
import { following, monotonicMs, within } from '../wire/clock.ts'
import { fromWire, HubError } from '../wire/errors.ts'
import { newId } from '../wire/ids.ts'
import { type Bigints, largeIn, mayHaveLarge, parseNumbers } from '../wire/json/numbers.ts'
import type { Reply } from '../wire/message.ts'
import { namesOf, refuseHubOptions, refuseWait } from '../wire/options.ts'
import { invalid } from '../wire/payload.ts'
import type { Progress } from '../wire/stream.ts'
import { hasEnded, type JobRecord, type JobStatus, movedTo, readJobRecord } from './job-record.ts'
import { hastenedMessage } from './job-text.ts'
import { readJobProgress } from './lists/job-progress.ts'

/** What a job needs of its hub. */
export interface JobHost {
  readonly hubId: string
  readonly bigints: Bigints
  /** Reads. Rejects with a HubError: NotEnqueued, HubClosed. */
  ask<T>(commands: (client: Redis) => Promise<T>): Promise<T>
  /** Changes something. Rejects with a HubError: OutcomeUnknown where it may have been done, NotEnqueued, HubClosed. */
  change<T>(commands: (client: Redis) => Promise<T>): Promise<T>
  /** Hears a reply of that ticket, until the returned function is called. */
  hear(ticket: string, onReply: (reply: Reply) => void): () => void
  /** Fires when the hub is closed. */
  readonly closing: AbortSignal
  /** What can be done with the jobs of a queue. */
  queueOf(name: string): JobQueue
}

/**
 * The answer that wakes who waits is pushed by the worker behind the step that ended the job; one that dies in between tells nobody.
 * So a wait looks again by itself after this long.
 */
const lookAgainMs = 5000
/** The same while Redis is away. */
const awayMs = 200
/** So often the number of shards may have changed while a job waited. */
const mostMoves = 16

/** How to wait for a result. */
export interface ResultOptions {
  /** Default 30 s. */
  timeoutMs?: number
  /** Aborting it ends the wait with Aborted. */
  signal?: AbortSignal
}

const resultNames = namesOf<ResultOptions>({ timeoutMs: true, signal: true })

/** An enqueued job. Its methods work only if it is tracked. */
export class Job<R = unknown> {
  readonly id: string
  /** `name:version` */
  readonly task: string
  /** True if it is a duplicate: this is the existing job, and no new one was enqueued. */
  readonly isTwin: boolean
  #jobQueue: JobQueue
  readonly #host: JobHost
  readonly #isToCome: boolean

  /** `isToCome`: it is enqueued when others have ended. */
  constructor(host: JobHost, jobQueue: JobQueue, id: string, task: string, { isTwin = false, isToCome = false } = {}) {
    this.#isToCome = isToCome
    this.#host = host
    this.#jobQueue = jobQueue
    this.id = id
    this.task = task
    this.isTwin = isTwin
  }

  /** Its queue; with shards, the shard that holds it. */
  get queue(): string {
    return this.#jobQueue.name
  }

  /**
   * The state of the job.
   *
   * @throws HubError NoSuchJob when it was not tracked or the record has expired, NotEnqueued when Redis is unreachable
   */
  async status(): Promise<JobStatus> {
    let progress: Progress | undefined
    const fields = await this.#follow(async client => {
      const told = readJobProgress(this.#jobQueue, client, this.id)
      const [record] = await Promise.all([
        this.#jobQueue.record(client, this.id),
        told.then(value => (progress = value)),
      ])
      return record
    })
    const { status } = this.#known(fields)
    return status.state === 'running' ? { ...status, progress } : status
  }

  /**
   * Waits until the job ends, without polling, and resolves to its result.
   *
   * @param options `timeoutMs`: default 30 s; `signal` ends the wait with Aborted
   * @throws HubError with the code of its last failure when it is dead, Expired, Aborted when it was cancelled, Timeout
   *   when it has not ended in time, NoSuchJob, NotEnqueued
   */
  async result(options: ResultOptions = {}): Promise<R> {
    refuseHubOptions(`result of job ${this.id}`, options, resultNames)
    refuseWait(`result of job ${this.id}`, options)
    const { timeoutMs = 30_000, signal } = options
    const { closing, hubId } = this.#host
    const end = monotonicMs() + timeoutMs
    const ticket = newId()
    const { controller: ended, release } = following(closing, signal)
    let answer: Reply | undefined
    let onAnswer: () => void = () => undefined
    const answered = new Promise<void>(resolve => {
      onAnswer = resolve
    })
    const deaf = this.#host.hear(ticket, reply => {
      answer = reply
      onAnswer()
    })
    try {
      for (;;) {
        const toComeMs = this.#isToCome ? end - monotonicMs() + lookAgainMs : 0
        const record = await this.#look(client => this.#jobQueue.await(client, this.id, ticket, hubId, toComeMs), end)
        if (answer) return this.#outcomeOf(answer)
        if (record && hasEnded(record.status)) return this.#ended(record)
        await within(
          answered,
          Math.min(end - monotonicMs(), record || this.#isToCome ? lookAgainMs : awayMs),
          ended.signal,
        )
        if (answer) return this.#outcomeOf(answer)
        if (closing.aborted) throw new HubError('HubClosed')
        if (signal?.aborted)
          throw this.#error('Aborted', `The caller stopped waiting for job ${this.id}.`, signal.reason)
        if (monotonicMs() >= end)
          throw this.#error('Timeout', `Job ${this.id} of ${this.task} did not end in time. The job continues.`)
      }
    } finally {
      deaf()
      release()
    }
  }

  /** Its record; undefined while it is to come, or Redis is away and there is time left. */
  async #look(read: (client: Redis) => Promise<string[]>, end: number): Promise<JobRecord | undefined> {
    try {
      const fields = await this.#follow(read)
      return this.#isToCome ? readJobRecord(fields, this.id, this.queue) : this.#known(fields)
    } catch (error) {
      if ((error as HubError).code === 'NotEnqueued' && monotonicMs() < end) return undefined
      throw error
    }
  }

  /**
   * Cancels the job: if it is waiting, it will not run; if it is running, the abort signal of its handler fires.
   *
   * @returns true if it will certainly not run to its end; false if its handler was notified, or it had already ended
   * @throws HubError NoSuchJob, NotEnqueued
   */
  async cancel(): Promise<boolean> {
    const state = await this.withdraw()
    if (state === '') throw this.#unknown()
    return state === 'waiting' || state === 'scheduled' || state === 'retrying' || state === 'cancelled'
  }

  /**
   * Runs it now if it is scheduled or retrying. It keeps its count of tries.
   *
   * @returns false if it is neither: it is already due, runs, has ended, or has a key (use JobKey.run())
   * @throws HubError NoSuchJob, NotEnqueued
   */
  async run(): Promise<boolean> {
    const { state, dueMs } = await this.status()
    if ((state !== 'scheduled' && state !== 'retrying') || dueMs === undefined) return false
    return this.#host.change(async client => {
      const lying = await this.#jobQueue.lyingAt(client, state, this.id, dueMs)
      if (lying === undefined) return false
      return (await this.#jobQueue.revive(client, [{ lying, message: hastenedMessage(lying) }])) === 1
    })
  }

  /** Marks it as not wanted any more, also where it `isToCome`. Resolves with its state as it was. @internal */
  async withdraw(isToCome = false): Promise<string> {
    const withdraw = () => this.#host.change(client => this.#jobQueue.withdraw(client, this.id, isToCome))
    const state = await withdraw()
    if (state !== 'moved') return state
    await this.#follow(client => this.#jobQueue.record(client, this.id))
    return withdraw()
  }

  /**
   * The chain of which it is a step; undefined if it is not in a chain.
   *
   * @throws HubError NoSuchJob, NotEnqueued
   */
  async chain(): Promise<Chain | undefined> {
    const { chain } = this.#known(await this.#follow(client => this.#jobQueue.record(client, this.id)))
    return chain && new Chain(this.#host, chain.id, chain.steps)
  }

  /** Fields of its record; of a job that was moved to another shard, of the one that it has there. */
  async #follow(read: (client: Redis) => Promise<string[]>): Promise<string[]> {
    for (let moves = 0; ; moves++) {
      const fields = await this.#host.ask(read)
      const shard = movedTo(fields, this.queue)
      if (shard === undefined || moves >= mostMoves) return fields
      this.#jobQueue = this.#host.queueOf(shard)
    }
  }

  #known(fields: string[]): JobRecord {
    const record = readJobRecord(fields, this.id, this.queue)
    if (!record) throw this.#unknown()
    return record
  }

  #ended({ status: { state, error }, result }: JobRecord): R {
    if (state === 'done') return (result === undefined || result === '' ? undefined : this.#read(result)) as R
    if (state === 'dead' && error) throw fromWire(error, { task: this.task, id: this.id })
    if (state === 'expired') throw this.#error('Expired', `Job ${this.id} of ${this.task} expired before it ran.`)
    throw this.#error('Aborted', `Job ${this.id} of ${this.task} was cancelled.`)
  }

  #read(result: string): unknown {
    const { bigints } = this.#host
    const value = parseNumbers(result, bigints)
    const problem = bigints !== 'exact' && bigints !== 'number' && mayHaveLarge(result) ? largeIn(value) : undefined
    if (problem) throw invalid('InvalidResult', [problem], { task: this.task, id: this.id })
    return value
  }

  #outcomeOf(reply: Reply): R {
    if (reply.ok) return reply.result as R
    throw fromWire(reply.error, { task: this.task, id: this.id })
  }

  #unknown(): HubError {
    const why = 'It was not tracked (enqueue it with tracked: true), or the record has expired'
    return this.#error('NoSuchJob', `There is no record of job ${this.id} in queue ${this.queue}. ${why}.`)
  }

  #error(code: 'Aborted' | 'Timeout' | 'Expired' | 'NoSuchJob', message: string, cause?: unknown): HubError {
    return new HubError(code, message, { task: this.task, id: this.id, cause })
  }
}

/** A job without a record: enqueue it with `tracked: true` to have its `status()`, `result()` and `cancel()`. */
export type UntrackedJob = Pick<Job, 'id' | 'task' | 'queue' | 'isTwin'>

/** A step of a chain: `pending` until the steps before it have succeeded. */
export type StepStatus = JobStatus | { id: string; queue: string; task: string; state: 'pending' }

const unknown = { error: undefined, enqueuedMs: undefined, dueMs: undefined, startedMs: undefined, endedMs: undefined }

/**
 * The states of the steps of a chain by those that have a record; undefined where none of these has come. A step comes when the one before it
 * is done: those before one that came were done, and those behind one that was cancelled or expired never come.
 */
export const stepStates = (
  steps: readonly Pick<JobStatus, 'id' | 'queue' | 'task'>[],
  found: readonly (JobStatus | undefined)[],
): StepStatus[] | undefined => {
  // What was cancelled before it came has a record, too.
  const latest = found.findLastIndex(step => step && (step.state !== 'cancelled' || step.enqueuedMs !== undefined))
  if (latest < 0) return undefined
  const stop = found.findIndex(step => step?.state === 'cancelled' || step?.state === 'expired')
  return steps.map(({ id, queue, task }, at): StepStatus => {
    const known = found[at]
    if (known) return known
    if (at > latest && (stop < 0 || at < stop)) return { id, queue, task, state: 'pending' }
    return { ...unknown, id, queue, task, tries: 0, worker: undefined, state: at < latest ? 'done' : 'cancelled' }
  })
}

/** Of the step in this place, counted from 0: the same however often it is made, so that it comes once. */
export const stepId = (chain: string, place: number): string => (place === 0 ? chain : `${chain}-${place + 1}`)

/** Jobs that run one after the other: each starts when the one before it has succeeded. All of them are tracked. */
export class Chain<R = unknown> {
  /** Id of the first job. */
  readonly id: string
  readonly steps: readonly Job[]

  constructor(host: JobHost, id: string, steps: readonly (readonly [queue: string, task: string])[]) {
    this.id = id
    this.steps = steps.map(
      ([queue, task], at) => new Job(host, host.queueOf(queue), stepId(id, at), task, { isToCome: at > 0 }),
    )
  }

  /**
   * The state of each step. If a step is dead, the chain continues when it is retried. Of a step whose record has
   * expired, or that will never start, only the state is known.
   *
   * @throws HubError NoSuchJob when the records of all steps have expired, NotEnqueued when Redis is unreachable
   */
  async status(): Promise<StepStatus[]> {
    const states = await this.statusWith(undefined)
    if (states) return states
    const message = `There is no record of chain ${this.id}. It was not tracked, or the records have expired.`
    throw new HubError('NoSuchJob', message, { id: this.id })
  }

  /** `own`: the status of one of its steps, which need not have a record. Undefined if no step is known. @internal */
  async statusWith(own: JobStatus | undefined): Promise<StepStatus[] | undefined> {
    const found = this.steps.map(step =>
      step.status().catch((error: HubError) => {
        if (error.code !== 'NoSuchJob') throw error
        return step.id === own?.id ? own : undefined
      }),
    )
    return stepStates(this.steps, await Promise.all(found))
  }

  /**
   * Waits until the chain ends, and resolves to the result of the last step.
   *
   * @throws HubError as Job.result(), for the first step that fails
   */
  async result(options: ResultOptions = {}): Promise<R> {
    refuseHubOptions(`result of chain ${this.id}`, options, resultNames)
    refuseWait(`result of chain ${this.id}`, options)
    const { timeoutMs = 30_000, signal } = options
    const end = monotonicMs() + timeoutMs
    let known: StepStatus[] = []
    let result: unknown
    for (const [at, step] of this.steps.entries()) {
      if (known[at]?.state === 'done' && at < this.steps.length - 1) continue
      const waiting = { timeoutMs: Math.max(1, end - monotonicMs()), ...(signal ? { signal } : {}) }
      result = await step.result(waiting).catch(async (error: HubError) => {
        // The records of the first steps of a long chain go while it goes on.
        if (at > 0 || error.code !== 'NoSuchJob') throw error
        known = await this.status()
      })
    }
    return result as R
  }

  /**
   * Cancels the steps that have not ended: no further step starts.
   *
   * @throws HubError as status()
   */
  async cancel(): Promise<void> {
    const known = await this.status()
    // From the end, so that none comes behind those that were looked at.
    for (const [at, step] of [...this.steps.entries()].reverse()) await step.withdraw(known[at]!.state === 'pending')
  }
}
