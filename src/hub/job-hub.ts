import type { Batch } from '../jobs/batch.ts'
import { type BulkAction, type BulkQuery, type BulkStep, bulkStep, cancelOne, checkBulk, runOne } from '../jobs/bulk.ts'
import { checkTimes, type ScheduleTimes } from '../jobs/cron.ts'
import { DeadJobs } from '../jobs/dead.ts'
import { type EnqueueOptions, entryOptionNames, refuseTimes, type ScheduleOptions } from '../jobs/enqueue-options.ts'
import type { BatchOptions, ChainEntry, EnqueuedMany, EnqueueEntry, EnqueueManyOptions } from '../jobs/entries.ts'
import type { Chain, Job, JobHost, UntrackedJob } from '../jobs/job.ts'
import { type JobDetails, type JobPlace, jobPlaceNames, readJobDetails } from '../jobs/job-details.ts'
import type { JobKey } from '../jobs/job-key.ts'
import { type Schedule, Schedules } from '../jobs/schedules.ts'
import { JobQueue } from '../queue/job-queue.ts'
import type {
  AnyTasks,
  ArgsUnder,
  Called,
  Declaration,
  Given,
  NameOf,
  NoName,
  ResultOf,
  ResultUnder,
} from '../task/task.ts'
import { refuseHubOptions } from '../wire/options.ts'
import { nameOf, serialized } from './arguments.ts'
import { checkQueue, type Enqueuing } from './enqueuing.ts'
import { startBatch, startChain } from './flows.ts'
import { keyOf } from './job-keys.ts'
import { Onlooker } from './onlooker.ts'

/** An enqueue() call as middleware sees it. */
export interface EnqueueRequest {
  /** The task as named by the caller: `name:1.0`, `name:1` or `name`. */
  task: string
  args: unknown
  options: EnqueueOptions
}

/** The type of the last one. */
type LastOf<T> = T extends readonly [...unknown[], infer Last] ? Last : unknown

type Enqueue = (request: EnqueueRequest) => Promise<Job>
/** Wraps enqueue(): it can inspect or change the request, return a job itself, or throw. */
export type EnqueueMiddleware = (next: Enqueue) => Enqueue

/** @throws HubError InvalidArgs */
const checkPlace = (of: string, place: JobPlace): void => {
  refuseHubOptions(of, place, jobPlaceNames)
  if (place.queue !== undefined) checkQueue(place.queue)
}

/** What a hub does with jobs. */
export abstract class JobHub<Tasks = AnyTasks> extends Onlooker {
  protected abstract readonly enqueuing: Enqueuing
  protected abstract readonly jobHost: JobHost
  protected abstract readonly serviceName: string | undefined
  abstract readonly namespace: string
  readonly #innermost: Enqueue = ({ task, args, options }) => this.enqueuing.enqueue(task, args, options)
  readonly #middlewares: EnqueueMiddleware[] = []
  #enqueue = this.#innermost

  /**
   * Adds middleware around enqueue(). The first one is outermost. It does not apply to chains, batches, schedules and
   * enqueueMany().
   *
   * @param middleware `next => async request => { ...; return next(request) }`
   */
  use(middleware: EnqueueMiddleware): void {
    this.#middlewares.push(middleware)
    this.#enqueue = this.#middlewares.reduceRight((next, each) => each(next), this.#innermost)
  }

  /**
   * Enqueues a job: a worker runs the task in the background when it is due, and retries it when it fails. No worker
   * has to be live.
   *
   * @param task as for call()
   * @param given the arguments, a JSON value that matches the schema of the task, by default {}; then options
   * @returns the job, once it is in Redis. Without `tracked`, `keepResultMs` or `unique` it has no `status()`, `result()` or `cancel()`
   * @throws HubError InvalidArgs, PayloadTooLarge, NoSuchTask (pass the queue if no worker has declared the task yet),
   *   NotEnqueued when Redis was unreachable for `timeoutMs`, OutcomeUnknown, HubClosed
   */
  enqueue<
    A = unknown,
    R = unknown,
    T extends (keyof Tasks & string) | Declaration<never> = NoName<Tasks>,
    Tracked extends boolean | undefined = undefined,
    Kept extends number | undefined = undefined,
    Unique extends EnqueueOptions['unique'] = undefined,
  >(
    task: T | Declaration<A, R>,
    ...given: Given<
      ArgsUnder<Tasks, T, A>,
      EnqueueOptions & { tracked?: Tracked; keepResultMs?: Kept; unique?: Unique }
    >
  ): Promise<
    [Tracked, Kept, Unique] extends [false | undefined, undefined, false | undefined]
      ? UntrackedJob
      : Job<ResultUnder<Tasks, T, R>>
  >
  async enqueue(task: Called, args: unknown = {}, options: EnqueueOptions = {}): Promise<Job> {
    return this.#enqueue({ task: nameOf(task), args: serialized(task, args), options })
  }

  /**
   * Enqueues up to 100,000 jobs. All entries are checked before the first job is sent.
   *
   * @param options for all jobs; the options of an entry take precedence
   * @param how `checkOnly`: check the entries and send nothing; `onProgress`: receives the number of jobs confirmed so
   *   far
   * @throws as enqueue(); `data.index` is the invalid entry, `data.enqueued` the number of jobs confirmed before Redis
   *   became unreachable
   */
  enqueueMany<T extends readonly Called<Tasks>[]>(
    entries: { readonly [I in keyof T]: EnqueueEntry<T[I], Tasks> },
    options: EnqueueOptions = {},
    how: EnqueueManyOptions = {},
  ): Promise<EnqueuedMany> {
    return this.enqueuing.enqueueMany(entries as unknown as readonly EnqueueEntry[], options, how)
  }

  /**
   * Enqueues a chain: each job starts when the one before it has succeeded. All of them are tracked.
   *
   * @param entries set `pass` in the options of an entry to put the result of the previous step into that field of its
   *   arguments
   * @param options for all jobs; the options of an entry take precedence
   * @throws as enqueueMany()
   */
  chain<T extends readonly Called<Tasks>[]>(
    entries: { readonly [I in keyof T]: ChainEntry<T[I], Tasks> },
    options: EnqueueOptions = {},
  ): Promise<Chain<ResultOf<LastOf<T>, Tasks>>> {
    return startChain(this.enqueuing, this.jobHost, entries as unknown as readonly ChainEntry[], options) as never
  }

  /**
   * Enqueues up to 100,000 jobs as a batch: when all of them have ended, a follow-up job is enqueued once.
   *
   * @param options `then`: the follow-up job; `failed`: the follow-up job if one of the jobs failed; and options for
   *   all jobs
   * @throws as enqueueMany()
   */
  batch<
    T extends readonly Called<Tasks>[],
    Then extends Called<Tasks> = NameOf<Tasks>,
    Failed extends Called<Tasks> = NameOf<Tasks>,
  >(
    entries: { readonly [I in keyof T]: EnqueueEntry<T[I], Tasks> },
    options: EnqueueOptions & {
      then?: EnqueueEntry<Then, Tasks> | undefined
      failed?: EnqueueEntry<Failed, Tasks> | undefined
    } = {},
  ): Promise<Batch<ResultOf<Then, Tasks>, ResultOf<Failed, Tasks>>> {
    const each = entries as unknown as readonly EnqueueEntry[]
    return startBatch(this.enqueuing, this.jobHost, each, options as unknown as BatchOptions) as never
  }

  /**
   * Creates a schedule: a job is enqueued at the times of a cron entry, once each, however many workers run. The
   * workers of its queue do this. A schedule of the same name in that queue is replaced.
   *
   * @throws HubError as enqueue(), InvalidArgs for invalid times and for a name that is not 1 to 64 letters, digits,
   *   `.`, `-`, `_`
   */
  schedule<A = unknown, T extends (keyof Tasks & string) | Declaration<never> = NoName<Tasks>>(
    name: string,
    times: ScheduleTimes,
    task: T | Declaration<A>,
    ...given: Given<ArgsUnder<Tasks, T, A>, ScheduleOptions>
  ): Promise<Schedule>
  async schedule(
    name: string,
    times: ScheduleTimes,
    task: Called,
    args: unknown = {},
    options: ScheduleOptions = {},
  ): Promise<Schedule> {
    checkTimes(name, times)
    refuseTimes(name, options)
    refuseHubOptions('schedule', options, entryOptionNames)
    const [step] = await this.enqueuing.prepare([[task, args]], options)
    return this.schedules(step!.queue).write(name, times, step!, this.serviceName)
  }

  /** The schedules of a queue: list, pause, run or remove them. Throws HubError InvalidArgs for an invalid queue name. */
  schedules(queue: string): Schedules {
    checkQueue(queue)
    return new Schedules(this.jobHost, new JobQueue(queue, this.keys), (...given) => this.enqueuing.traced(...given))
  }

  /** The dead jobs of a queue: list, retry or delete them. Throws as schedules(). */
  dead(queue: string): DeadJobs {
    checkQueue(queue)
    return new DeadJobs(this.jobHost, queue, this.keys)
  }

  /**
   * A key of the jobs of a task: show its state, run it now, skip its first job or delete its waiting jobs.
   *
   * @param options `queue`: the queue of the key. Default: the queue of the task
   * @throws HubError NoSuchTask, InvalidArgs for an invalid key, NotEnqueued, HubClosed
   */
  key(task: Called<Tasks>, key: string, options: { queue?: string | undefined } = {}): Promise<JobKey> {
    return keyOf(this.enqueuing, this.jobHost, this.keys, nameOf(task), key, options)
  }

  /**
   * A tracked job, wherever it was enqueued.
   *
   * @param options `queue`: the queue of the job. Default: search all queues
   * @throws HubError NoSuchJob, NotEnqueued, HubClosed
   */
  job(id: string, options: { queue?: string | undefined } = {}): Promise<Job> {
    return this.enqueuing.job(id, options)
  }

  /**
   * Everything known about a job, tracked or not: its arguments, failures, times, chain and batch.
   *
   * @param place where it was last seen; required for an untracked job
   * @throws HubError NoSuchJob, NotEnqueued, HubClosed, InvalidArgs for an invalid queue name
   */
  async jobDetails(id: string, place: JobPlace = {}): Promise<JobDetails> {
    checkPlace('jobDetails', place)
    return readJobDetails(this.jobHost, this.keys, id, place)
  }

  /**
   * Cancels a job, tracked or not. An untracked job can be cancelled only while it waits, and not if it belongs to a
   * batch.
   *
   * @returns false if it had already ended or could not be cancelled
   * @throws as jobDetails()
   */
  async cancelJob(id: string, place: JobPlace = {}): Promise<boolean> {
    checkPlace('cancelJob', place)
    return cancelOne(this.jobHost, this.keys, id, place)
  }

  /**
   * Runs a scheduled or retrying job now, tracked or not. It keeps its count of tries.
   *
   * @returns false if it is no longer scheduled or retrying, or other jobs of its key are before it
   * @throws as jobDetails()
   */
  async runJob(id: string, place: JobPlace = {}): Promise<boolean> {
    checkPlace('runJob', place)
    return runOne(this.jobHost, this.keys, id, place)
  }

  /**
   * Changes matching jobs, or counts them if `action` is undefined, in bounded steps: each changes up to 200 jobs and
   * searches up to 10,000. To continue, call it again with `from: next` until there is no `next`.
   *
   * @throws HubError InvalidArgs, NotEnqueued, HubClosed
   */
  async bulkStep(action: BulkAction | undefined, query: BulkQuery): Promise<BulkStep> {
    checkBulk(action, query)
    return bulkStep(this.jobHost, this.keys, action, query)
  }
}
