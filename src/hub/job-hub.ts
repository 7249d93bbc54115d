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

/** What is given to enqueue(), on its way through what use() was given. */
export interface EnqueueRequest {
  /** As it was named: `name:1.0`, `name:1` or `name`. */
  task: string
  args: unknown
  options: EnqueueOptions
}

/** The type of the last one. */
type LastOf<T> = T extends readonly [...unknown[], infer Last] ? Last : unknown

type Enqueue = (request: EnqueueRequest) => Promise<Job>
/** Wraps what is behind it: may look at a request, change it, answer by itself, or throw. */
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
   * Puts something around enqueue(): what was given first is outermost. Chains, batches, schedules and enqueueMany() go without it.
   *
   * @param middleware `next => async request => { ...; return next(request) }`
   */
  use(middleware: EnqueueMiddleware): void {
    this.#middlewares.push(middleware)
    this.#enqueue = this.#middlewares.reduceRight((next, each) => each(next), this.#innermost)
  }

  /**
   * Enqueues a job: the task is run in the background, once it is due, and again when it fails. No worker need live.
   *
   * @param task as for call()
   * @param given the arguments, any JSON value that fits the task's schema, by default {}; then options
   * @returns the job, once it is in Redis. Without `tracked`, `keepResultMs` or `unique` it has no `status()`, `result()` or `cancel()`
   * @throws HubError InvalidArgs, PayloadTooLarge, NoSuchTask (name its queue, if nobody has declared it yet), NotEnqueued when Redis
   *   was away for `timeoutMs`, OutcomeUnknown, HubClosed
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
   * Enqueues up to 100,000 jobs. All of them are checked before the first is sent.
   *
   * @param options for all of them; an entry's own options win
   * @param how `checkOnly`: nothing is sent; `onProgress` hears how many were confirmed so far
   * @throws as enqueue(); `data.index` names the entry that is wrong, `data.enqueued` how many were confirmed before Redis was away
   */
  enqueueMany<T extends readonly Called<Tasks>[]>(
    entries: { readonly [I in keyof T]: EnqueueEntry<T[I], Tasks> },
    options: EnqueueOptions = {},
    how: EnqueueManyOptions = {},
  ): Promise<EnqueuedMany> {
    return this.enqueuing.enqueueMany(entries as unknown as readonly EnqueueEntry[], options, how)
  }

  /**
   * Enqueues jobs one after the other: the next one starts when the one before is done. Each of them is tracked.
   *
   * @param entries with `pass` in an entry's options, that field of its arguments gets the result of the step before it
   * @param options for all of them; an entry's own options win
   * @throws as enqueueMany()
   */
  chain<T extends readonly Called<Tasks>[]>(
    entries: { readonly [I in keyof T]: ChainEntry<T[I], Tasks> },
    options: EnqueueOptions = {},
  ): Promise<Chain<ResultOf<LastOf<T>, Tasks>>> {
    return startChain(this.enqueuing, this.jobHost, entries as unknown as readonly ChainEntry[], options) as never
  }

  /**
   * Enqueues jobs that belong together, up to 100,000: when all have ended, what is to follow is enqueued, once.
   *
   * @param options `then`: what follows; `failed`: what follows instead where one of them did not end well; and options for all jobs
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
   * Has a job enqueued at its times, once each, however many workers there are. Workers of its queue keep that up. A schedule of the same
   * name in that queue is replaced.
   *
   * @throws HubError as enqueue(), InvalidArgs for times that cannot be and for a name that is not 1 to 64 letters, digits, `.`, `-`, `_`
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

  /** The schedules of a queue: to look at, to pause, to run now, to remove. Throws HubError InvalidArgs for what is no queue's name. */
  schedules(queue: string): Schedules {
    checkQueue(queue)
    return new Schedules(this.jobHost, new JobQueue(queue, this.keys), (...given) => this.enqueuing.traced(...given))
  }

  /** The jobs of a queue that were given up: to look at, to be tried again, to be deleted. Throws as schedules(). */
  dead(queue: string): DeadJobs {
    checkQueue(queue)
    return new DeadJobs(this.jobHost, queue, this.keys)
  }

  /**
   * A key of a task's jobs: where it is and what waits of it; to have it run now, to skip what it is stuck at, to delete what waits.
   *
   * @param options `queue`: where it is. Default: the one that its task is known in
   * @throws HubError NoSuchTask, InvalidArgs for what is no key, NotEnqueued, HubClosed
   */
  key(task: Called<Tasks>, key: string, options: { queue?: string | undefined } = {}): Promise<JobKey> {
    return keyOf(this.enqueuing, this.jobHost, this.keys, nameOf(task), key, options)
  }

  /**
   * A tracked job, wherever it was enqueued.
   *
   * @param options `queue`: where it is. Default: all queues are asked
   * @throws HubError NoSuchJob, NotEnqueued, HubClosed
   */
  job(id: string, options: { queue?: string | undefined } = {}): Promise<Job> {
    return this.enqueuing.job(id, options)
  }

  /**
   * All that is known of a job, tracked or not: its arguments, failures, times, its chain and its batch.
   *
   * @param place where it was seen; needed for one that is not tracked
   * @throws HubError NoSuchJob, NotEnqueued, HubClosed, InvalidArgs for what is no queue's name
   */
  async jobDetails(id: string, place: JobPlace = {}): Promise<JobDetails> {
    checkPlace('jobDetails', place)
    return readJobDetails(this.jobHost, this.keys, id, place)
  }

  /**
   * Cancels a job, tracked or not. Of those that are not tracked only one that waits can be, and none of a batch.
   *
   * @returns false when it had ended, or nothing could be done about it
   * @throws as jobDetails()
   */
  async cancelJob(id: string, place: JobPlace = {}): Promise<boolean> {
    checkPlace('cancelJob', place)
    return cancelOne(this.jobHost, this.keys, id, place)
  }

  /**
   * Has a job taken now that waits for its time or its next try, tracked or not; its tries go on as they are.
   *
   * @returns false when it does not wait so any more, or others of its key are before it
   * @throws as jobDetails()
   */
  async runJob(id: string, place: JobPlace = {}): Promise<boolean> {
    checkPlace('runJob', place)
    return runOne(this.jobHost, this.keys, id, place)
  }

  /**
   * Changes jobs that match, or counts them where no action is named, in steps that are bounded: up to 200 are changed, 10,000 looked
   * at. Called again with `from: next` it goes on, until there is no `next`.
   *
   * @throws HubError InvalidArgs, NotEnqueued, HubClosed
   */
  async bulkStep(action: BulkAction | undefined, query: BulkQuery): Promise<BulkStep> {
    checkBulk(action, query)
    return bulkStep(this.jobHost, this.keys, action, query)
  }
}
