import { type FailureOverview, readFailures, readSlowCalls, type SlowCallOverview } from '../catalogue/call-lists.ts'
import { Catalogue, unreadableTeller } from '../catalogue/catalogue.ts'
import { type Overview, readOverview } from '../catalogue/overview.ts'
import { Events } from '../figures/events.ts'
import { makeLogger, subscribeLog } from '../outlets/log.ts'
import { subscribeStatsd } from '../outlets/statsd/statsd.ts'
import { type CallSpan, makeTracing, type Tracing } from '../outlets/tracing.ts'
import { checkQueueName, pauseQueue, resumeQueue } from '../queue/pause.ts'
import { command } from '../redis/client.ts'
import type { Connection } from '../redis/connection.ts'
import { makeConnections } from '../redis/connections.ts'
import { explained } from '../redis/refusals.ts'
import { type MeasuringSetting, readSettings, type Settings } from '../settings/read.ts'
import type { Task } from '../task/task.ts'
import { monotonicMs, signalAfter } from '../wire/clock.ts'
import { type ErrorCode, HubError, messageOf } from '../wire/errors.ts'
import { newId } from '../wire/ids.ts'
import { isQueueName, type Keys, makeKeys } from '../wire/keys.ts'
import { Dispatch } from './dispatch.ts'
import { type CallOptions, type GatherEntry, type Gathered, gatherCalls, type WithPhases } from './gather.ts'
import { Resolver, type Route } from './resolver.ts'
import { Routes } from './routes.ts'

export type HubOptions = Partial<
  Pick<Settings, 'redis' | 'namespace' | 'name' | 'maxPayloadBytes' | 'maxBacklog' | MeasuringSetting>
>

/** How long close() waits for a connection to clean up over. */
const closePatienceMs = 1000

const hubClosed = () => new HubError('HubClosed', 'This hub was closed; make a new one.')

const refusal = (task: string, code: ErrorCode, message: string, cause?: unknown) =>
  new HubError(code, message, { task, cause })

/**
 * The caller's object, one per process: turns calls into requests, and replies into results. It holds two connections
 * to Redis, whatever the number of calls in flight. Everything it promises is in README's "What a call promises".
 */
export class Hub {
  readonly id: string = newId()
  readonly events: Events = new Events()
  readonly #settings: Readonly<Settings>
  readonly #keys: Keys
  readonly #commands: Connection
  readonly #blocking: Connection
  readonly #tellUnreadable = unreadableTeller(this.events)
  readonly #routes: Routes
  readonly #dispatch: Dispatch
  readonly #tracing: Tracing | undefined
  readonly #closing = new AbortController()
  readonly #subscriptions: (() => void | Promise<void>)[]
  #closed: Promise<void> | undefined

  /** @throws ConfigError */
  constructor(options: HubOptions = {}) {
    this.#settings = readSettings('hub', { options: { ...options }, env: process.env })
    const { redis: target, namespace, statsd } = this.#settings
    this.#keys = makeKeys(namespace)
    this.#tracing = makeTracing(this.#settings.tracing)
    const { commands, blocking } = makeConnections('hub', target, this.events)
    this.#commands = commands
    this.#blocking = blocking
    const catalogue = new Catalogue(this.#keys, this.#tellUnreadable)
    const resolver = new Resolver(commands, catalogue, this.#keys, this.events)
    this.#routes = new Routes({ resolver, connection: commands, closing: this.#closing.signal })
    this.#dispatch = new Dispatch({
      hubId: this.id,
      settings: this.#settings,
      keys: this.#keys,
      commands,
      blocking,
      events: this.events,
      closing: this.#closing.signal,
    })
    this.#subscriptions = [
      subscribeLog(this.events, makeLogger(this.#settings)),
      ...(statsd === undefined ? [] : [subscribeStatsd(this.events, { ...this.#settings, statsd })]),
    ]
  }

  /** Prefix of every key, from the settings. */
  get namespace(): string {
    return this.#settings.namespace
  }

  /** Largest arguments it sends, in bytes of JSON. */
  get maxPayloadBytes(): number {
    return this.#settings.maxPayloadBytes
  }

  /**
   * Calls a task and awaits its result.
   *
   * @param task `name:1.0` for exactly that version, `name:1` for the newest live 1.x, `name` for the newest live one;
   *   or what defineTask returned, for typed arguments and result
   * @param args any JSON value that fits the task's schema. Default {}
   * @param options with `phases: true` it resolves to `{ result, phases }`: how long each part of the wait took
   * @throws HubError by its deadline at the latest; `code` says what happened, `ran` whether repeating is safe, `phases`
   *   where the time went if a worker replied
   */
  call<A, R>(task: Task<A, R>, args: A, options: CallOptions & { phases: true }): Promise<WithPhases<R>>
  call(task: string, args: unknown, options: CallOptions & { phases: true }): Promise<WithPhases>
  call<A, R>(task: Task<A, R>, args: A, options?: CallOptions & { phases?: false }): Promise<R>
  call<A, R>(task: Task<A, R>, args: A, options: CallOptions): Promise<R | WithPhases<R>>
  call(task: string, args?: unknown, options?: CallOptions): Promise<unknown>
  call(task: string | Task<never, unknown>, args: unknown = {}, options: CallOptions = {}): Promise<unknown> {
    const startedAt = monotonicMs()
    const called = typeof task === 'string' ? task : task?.name?.full
    const wrong = this.#wrongCall(called, options)
    if (wrong) return Promise.reject(this.#dispatch.refused(String(called), wrong, startedAt, undefined))
    const route = this.#routes.known(called, options.queue)
    if (!this.#tracing?.isHeard(options)) return this.#start(called, route, args, options, startedAt, undefined)
    const span = this.#tracing.startCall(route?.task ?? called, options)
    return this.#tracing.detached(() => this.#start(called, route, args, options, startedAt, span))
  }

  /**
   * Makes many calls at once and waits until each has settled; one that fails spoils none.
   *
   * @param calls what to call, by names of your own
   * @param options for all of them; an entry's own options win
   */
  gather<const C extends Record<string, GatherEntry>>(
    calls: C,
    options: CallOptions = {},
  ): Promise<{ [K in keyof C]: Gathered }> {
    return gatherCalls(calls, options, (task, args, callOptions) => this.call(task as string, args, callOptions))
  }

  /**
   * All tasks of the registry with their live workers, and all workers and queues: one consistent reading.
   * @throws HubError NotEnqueued when Redis is away or this user may not read it, HubClosed
   */
  async overview(): Promise<Overview> {
    const overview = await this.#ask(client => readOverview(client, this.#keys))
    overview.unreadable.forEach(this.#tellUnreadable)
    return overview
  }

  async tasks(): Promise<Overview['tasks']> {
    return (await this.overview()).tasks
  }

  async workers(): Promise<Overview['workers']> {
    return (await this.overview()).workers
  }

  async queues(): Promise<Overview['queues']> {
    return (await this.overview()).queues
  }

  /** The slowest calls of the last five minutes, slowest first, with what each waited for. */
  async slowCalls(): Promise<SlowCallOverview[]> {
    return this.#ask(client => readSlowCalls(client, this.#keys))
  }

  /**
   * Pauses a queue: within a second its workers take nothing more from it. They finish what they hold and keep their leases;
   * calls and jobs wait in Redis, calls until their deadlines. A queue that nobody serves can be paused too: workers that come
   * later find it so. It stays paused until resume(), whatever becomes of workers and callers. Repeating it is harmless.
   *
   * @returns since when it is paused, Redis milliseconds: the time of an earlier pause that still goes on
   * @throws ConfigError for what is not the name of a queue, HubError NotEnqueued when Redis is away or this user may not
   *   write it, HubClosed
   */
  async pause(queue: string): Promise<number> {
    checkQueueName(queue)
    const { pausedMs } = await this.#ask(
      client => pauseQueue(client, this.#keys, queue),
      `Queue ${queue} could not be paused`,
    )
    return pausedMs
  }

  /**
   * Ends the pause of a queue: within a second its workers go on. Repeating it is harmless.
   *
   * @returns whether it was paused
   * @throws as pause()
   */
  async resume(queue: string): Promise<boolean> {
    checkQueueName(queue)
    return this.#ask(client => resumeQueue(client, this.#keys, queue), `Queue ${queue} could not be resumed`)
  }

  /** Calls and jobs of the last hour that did not end well, newest first: the last ten of each task on each worker. */
  async failures(): Promise<FailureOverview[]> {
    return this.#ask(client => readFailures(client, this.#keys))
  }

  /** Ends the hub: calls in flight settle as HubClosed or Aborted, its keys are deleted, its connections closed. */
  close(): Promise<void> {
    this.#closed ??= this.#shutDown()
    return this.#closed
  }

  async #shutDown(): Promise<void> {
    this.#closing.abort()
    this.#routes.stop()
    await this.#dispatch.stop()
    const keys = this.#dispatch.usedKeys()
    if (keys.length > 0) {
      // What is left when Redis is away expires by itself.
      await this.#commands.whenReady(signalAfter(closePatienceMs))
      await this.#commands
        .send(client => Promise.all(keys.map(key => command(client, 'unlink', key))))
        .catch(() => undefined)
    }
    await this.#commands.close()
    await Promise.all(this.#subscriptions.map(end => end()))
  }

  #wrongCall(called: string, options: CallOptions): HubError | undefined {
    if (this.#closing.signal.aborted) return hubClosed()
    if (typeof called !== 'string')
      return new HubError('NoSuchTask', 'The task must be a name like my_task:1.0, or what defineTask returned.')
    const { timeoutMs, signal, queue } = options
    if (queue !== undefined && !isQueueName(queue)) {
      const given = typeof queue === 'string' ? `'${(queue as string).slice(0, 80)}'` : typeof queue
      return refusal(called, 'InvalidArgs', `queue must be the name of a queue, not ${given}.`)
    }
    if (timeoutMs !== undefined && !(timeoutMs > 0)) {
      // A nested call whose time is up comes here with 0; it certainly was not sent.
      if (typeof timeoutMs === 'number' && timeoutMs <= 0)
        return refusal(called, 'Expired', `No time was left for ${called}.`)
      const given = JSON.stringify(timeoutMs)
      return refusal(called, 'InvalidArgs', `timeoutMs must be a number of milliseconds, not ${given}.`)
    }
    if (signal?.aborted)
      return refusal(called, 'Aborted', `The signal had fired before ${called} was called.`, signal.reason)
    return undefined
  }

  #start(
    called: string,
    route: Route | undefined,
    args: unknown,
    options: CallOptions,
    startedAt: number,
    span: CallSpan | undefined,
  ): Promise<unknown> {
    this.#commands.open()
    this.#blocking.open()
    if (!route) return this.#callUnknown(called, args, options, startedAt, span)
    return new Promise((resolve, reject) =>
      this.#dispatch.send(route, args, options, { startedAt, span, resolve, reject }),
    )
  }

  /** The slow path: the name is new, or was not used for a while. */
  async #callUnknown(
    called: string,
    args: unknown,
    options: CallOptions,
    startedAt: number,
    span: CallSpan | undefined,
  ): Promise<unknown> {
    const patienceMs = Math.min(options.timeoutMs ?? 1000, 1000)
    try {
      const route = await this.#routes.find(called, options.queue, startedAt + patienceMs, options.signal)
      span?.resolved(route.task)
      // The signal or close() may have come in the same moment as the route.
      const wrong = this.#wrongCall(called, options)
      if (wrong) throw wrong
      return this.#start(called, route, args, options, startedAt, span)
    } catch (error) {
      throw this.#dispatch.refused(called, error as HubError, startedAt, span)
    }
  }

  /** `otherwise` begins the message of the error. */
  async #ask<T>(
    commands: Parameters<typeof Connection.prototype.send<T>>[0],
    otherwise = 'The registry could not be read',
  ): Promise<T> {
    if (this.#closing.signal.aborted) throw hubClosed()
    this.#commands.open()
    await this.#commands.whenReady(signalAfter(2000, this.#closing.signal))
    try {
      if (!this.#commands.isReady) throw this.#commands.downReason ?? new Error('no answer in time')
      return await this.#commands.send(commands)
    } catch (cause) {
      throw new HubError('NotEnqueued', `${otherwise}: ${explained(messageOf(cause))}.`, { cause })
    }
  }
}
