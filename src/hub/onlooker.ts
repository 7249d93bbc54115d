import { type FailureOverview, readFailures, readSlowCalls, type SlowCallOverview } from '../catalogue/call-lists.ts'
import { KeptCards, type WorkerCard } from '../catalogue/cards.ts'
import { Catalogue } from '../catalogue/catalogue.ts'
import { KeptCharts } from '../catalogue/kept-charts.ts'
import { KeptSessions } from '../catalogue/kept-sessions.ts'
import { KeptTemplates } from '../catalogue/kept-templates.ts'
import { type CallPlace, readCallPlace } from '../catalogue/looks/call-place.ts'
import { type Overview, readOverview } from '../catalogue/overview.ts'
import { unreadableTeller } from '../catalogue/unreadable.ts'
import { readWorkerTasks, type WorkerTask } from '../catalogue/worker-tasks.ts'
import { Events } from '../figures/events.ts'
import {
  checkJobsQuery,
  type FoundKeys,
  findKeys,
  type JobsListing,
  type JobsQuery,
  readJobs,
} from '../jobs/lists/listing.ts'
import { checkQueueName, pauseQueue, resumeQueue } from '../queue/pause.ts'
import type { Connection } from '../redis/connection.ts'
import { ConnectionLost } from '../redis/failures.ts'
import { explained } from '../redis/refusals.ts'
import { signalAfter } from '../wire/clock.ts'
import { HubError, messageOf } from '../wire/errors.ts'
import type { Keys } from '../wire/keys.ts'

type Commands<T> = Parameters<typeof Connection.prototype.send<T>>[0]

export const hubClosed = (): HubError => new HubError('HubClosed', 'This hub was closed; make a new one.')

/** The read side of a hub: the registry, queues, jobs and keys, and pausing queues. */
export abstract class Onlooker {
  readonly events: Events = new Events()
  /** Sessions that a service on this hub, such as the registry, keeps in Redis. */
  readonly sessions: KeptSessions = new KeptSessions(
    () => this.keys,
    (commands, otherwise) => this.ask(commands, otherwise),
  )
  /** Charts that a service on this hub, such as the registry, keeps in Redis. */
  readonly charts: KeptCharts = new KeptCharts(
    () => this.keys,
    (commands, otherwise) => this.ask(commands, otherwise),
  )
  /** Named arguments that a service on this hub, such as the registry, keeps in Redis. */
  readonly templates: KeptTemplates = new KeptTemplates(
    () => this.keys,
    (commands, otherwise) => this.ask(commands, otherwise),
  )
  /** Tells once of what in Redis is not what its key is for. */
  protected readonly tellUnreadable = unreadableTeller(this.events)
  /** Read before, for the next look. */
  readonly #cards = new KeptCards()
  protected readonly closing = new AbortController()
  protected abstract readonly keys: Keys
  protected abstract readonly commands: Connection

  /**
   * Reads all tasks of the registry with their live workers, and all workers and queues, at one moment.
   *
   * @throws HubError NotEnqueued when Redis is unreachable or this user may not read it, HubClosed
   */
  async overview(): Promise<Overview> {
    const overview = await this.ask(client => readOverview(client, this.keys, this.#cards))
    overview.unreadable.forEach(this.tellUnreadable)
    return overview
  }

  /** The tasks of `overview()`, with their workers and figures. */
  async tasks(): Promise<Overview['tasks']> {
    return (await this.overview()).tasks
  }

  /** The workers of `overview()`. */
  async workers(): Promise<Overview['workers']> {
    return (await this.overview()).workers
  }

  /** The figures of a worker per task, by name:version: of the last minute, and since its start. */
  async workerTasks(worker: WorkerCard): Promise<Record<string, WorkerTask>> {
    return this.ask(client => readWorkerTasks(client, this.keys, worker))
  }

  /** The queues of `overview()`. */
  async queues(): Promise<Overview['queues']> {
    return (await this.overview()).queues
  }

  /** The slowest calls of the last five minutes, slowest first, with the time of each phase. */
  async slowCalls(): Promise<SlowCallOverview[]> {
    return this.ask(client => readSlowCalls(client, this.keys))
  }

  /**
   * Pauses a queue: within a second its workers stop claiming requests from it. They finish their running requests and
   * keep their leases. Calls wait in Redis until their deadlines, jobs until resume(). You can pause a queue without
   * workers. The pause outlives restarts of workers and callers; pausing twice is harmless.
   *
   * @returns since when it is paused, Redis milliseconds
   * @throws ConfigError for an invalid queue name, HubError NotEnqueued when Redis is unreachable or this user may not
   */
  async pause(queue: string): Promise<number> {
    checkQueueName(queue)
    const { pausedMs } = await this.change(
      client => pauseQueue(client, this.keys, queue),
      `Queue ${queue} could not be paused`,
    )
    return pausedMs
  }

  /**
   * Resumes a queue: within a second its workers claim requests again. Resuming twice is harmless.
   *
   * @returns whether it was paused
   * @throws as pause()
   */
  async resume(queue: string): Promise<boolean> {
    checkQueueName(queue)
    return this.change(client => resumeQueue(client, this.keys, queue), `Queue ${queue} could not be resumed`)
  }

  /** Where the request of a call waits or which worker holds it, by its id; undefined if neither. Throws as overview(). */
  async callPlace(id: string): Promise<CallPlace | undefined> {
    return this.ask(client => readCallPlace(client, this.keys, id))
  }

  /** Calls and jobs of the last hour that failed, newest first: the last ten of each task on each worker. */
  async failures(): Promise<FailureOverview[]> {
    return this.ask(client => readFailures(client, this.keys))
  }

  /**
   * Counts the waiting, scheduled, retrying and dead jobs of queues. With a `state` it also lists these jobs, without
   * their arguments.
   *
   * @throws HubError InvalidArgs for an invalid query, NotEnqueued when Redis is unreachable or this user may not read
   *   it, HubClosed
   */
  async jobs(query: JobsQuery = {}): Promise<JobsListing> {
    checkJobsQuery(query)
    return this.ask(
      client => readJobs(client, new Catalogue(this.keys, this.tellUnreadable), this.keys, query),
      'The jobs could not be read',
    )
  }

  /**
   * Finds keys with waiting or running jobs by their text or its beginning, ignoring case, in all tasks and queues.
   * Returns at most `limit` (default 10) and searches at most 10,000 keys. `sees` hides the keys of tasks for which it
   * returns false.
   *
   * @throws HubError NotEnqueued when Redis is unreachable or this user may not read it, HubClosed
   */
  async findKeys(text: string, limit = 10, sees: (task: string) => boolean = () => true): Promise<FoundKeys> {
    return this.ask(
      client => findKeys(client, new Catalogue(this.keys, this.tellUnreadable), this.keys, text, limit, sees),
      'The keys could not be read',
    )
  }

  /** Reads. `otherwise` begins the message of the error. @throws HubError NotEnqueued, HubClosed */
  protected ask<T>(commands: Commands<T>, otherwise = 'The registry could not be read'): Promise<T> {
    return this.#send(commands, otherwise, false)
  }

  /** Changes something: where the connection breaks it may have been done. @throws HubError OutcomeUnknown, NotEnqueued, HubClosed */
  protected change<T>(commands: Commands<T>, otherwise: string): Promise<T> {
    return this.#send(commands, otherwise, true)
  }

  async #send<T>(commands: Commands<T>, otherwise: string, isChange: boolean): Promise<T> {
    if (this.closing.signal.aborted) throw hubClosed()
    this.commands.open()
    await this.commands.whenReady(signalAfter(2000, this.closing.signal))
    try {
      if (!this.commands.isReady) throw this.commands.downReason ?? new Error('no answer in time')
      return await this.commands.send(commands)
    } catch (cause) {
      const why = explained(messageOf(cause))
      if (isChange && cause instanceof ConnectionLost)
        throw new HubError('OutcomeUnknown', `${otherwise}, or it was and the reply was lost: ${why}.`, { cause })
      throw new HubError('NotEnqueued', `${otherwise}: ${why}.`, { cause })
    }
  }
}
