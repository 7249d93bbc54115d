import { AsyncResource } from 'node:async_hooks'
import { Catalogue } from '../catalogue/catalogue.ts'
import { UnansweredReport } from '../catalogue/unanswered-report.ts'
import type { JobHost } from '../jobs/job.ts'
import { makeLogger, subscribeLog } from '../outlets/log.ts'
import { subscribeStatsd } from '../outlets/statsd/statsd.ts'
import { makeTracing, type Tracing } from '../outlets/tracing.ts'
import { JobQueue } from '../queue/job-queue.ts'
import { command } from '../redis/client.ts'
import type { Connection } from '../redis/connection.ts'
import { makeConnections, makeDurableConnection } from '../redis/connections.ts'
import { readSettings, type Settings } from '../settings/read.ts'
import {
  type AnyTasks,
  type ArgsUnder,
  type Called,
  type ChunkUnder,
  calledName,
  type Declaration,
  defaultTimeoutMs,
  type Given,
  type NoName,
  type ResultOf,
  type ResultUnder,
} from '../task/task.ts'
import { following, monotonicMs, signalAfter, within } from '../wire/clock.ts'
import type { HubError } from '../wire/errors.ts'
import { newId } from '../wire/ids.ts'
import { type Keys, makeKeys } from '../wire/keys.ts'
import type { Caller } from './call.ts'
import { type Answer, type CallOptions, type HubOptions, wrongCall } from './call-options.ts'
import { Dispatch } from './dispatch.ts'
import { Enqueuing } from './enqueuing.ts'
import { type GatherEntry, type Gathered, gatherCalls } from './gather.ts'
import { JobHub } from './job-hub.ts'
import { hubClosed } from './onlooker.ts'
import { Placement } from './placement.ts'
import { Resolver, type Route } from './resolver.ts'
import { Routes } from './routes.ts'
import { HubStream } from './streams/hub-stream.ts'
import { OpenStreams } from './streams/open-streams.ts'
import { progressListener } from './streams/progress-listener.ts'
import { streamCaller } from './streams/stream-caller.ts'
import { type StreamOptions, wrongStream } from './streams/stream-options.ts'

/** How long Redis may take to tell of a task, and how long close() waits for a connection to clean up over. */
const patienceMs = 1000
const callEvents = ['call:settled', 'call:retried', 'call:cancelled'] as const

/**
 * Makes calls and enqueues jobs; create one per process. A hub holds two connections to Redis, whatever the number of
 * calls in flight. docs/reliability.md describes its guarantees. `new Hub<Tasks>()`, with the types that `pshub types`
 * writes, types the tasks by their names; without it you can call any name.
 */
export class Hub<Tasks = AnyTasks> extends JobHub<Tasks> {
  readonly id: string = newId()
  readonly #settings: Readonly<Settings>
  protected readonly keys: Keys
  protected readonly commands: Connection
  readonly #blocking: Connection
  readonly #routes: Routes
  readonly #dispatch: Dispatch
  readonly #unanswered: UnansweredReport
  readonly #streams: OpenStreams
  protected readonly enqueuing: Enqueuing
  protected readonly jobHost: JobHost
  readonly #tracing: Tracing | undefined
  readonly #subscriptions: (() => void | Promise<void>)[]
  #closed: Promise<void> | undefined

  /** @throws ConfigError */
  constructor(options: HubOptions = {}) {
    super()
    this.#settings = readSettings('hub', { options, env: process.env })
    const { redis: target, namespace, statsd } = this.#settings
    this.keys = makeKeys(namespace)
    this.#tracing = makeTracing(this.#settings.tracing)
    const { commands, blocking } = makeConnections('hub', target, this.events)
    this.commands = commands
    this.#blocking = blocking
    const catalogue = new Catalogue(this.keys, this.tellUnreadable)
    const placement = new Placement(commands, this.keys)
    const resolver = new Resolver(commands, catalogue, this.keys, this.events, placement)
    this.#routes = new Routes({ resolver, connection: commands, closing: this.closing.signal })
    this.#dispatch = new Dispatch({
      hubId: this.id,
      settings: this.#settings,
      keys: this.keys,
      commands,
      blocking,
      events: this.events,
      closing: this.closing.signal,
      onUnanswered: (task, queue, error) => this.#unanswered.note(task, queue, error),
    })
    this.#unanswered = new UnansweredReport({ hubId: this.id, name: this.#settings.name, keys: this.keys, commands })
    this.jobHost = {
      bigints: this.#settings.bigint,
      hubId: this.id,
      ask: asked => this.ask(asked, 'Redis could not be queried about the job'),
      change: asked => this.change(asked, 'The command could not be run'),
      hear: (ticket, onReply) => {
        this.#blocking.open()
        return this.#dispatch.hear(ticket, onReply)
      },
      closing: this.closing.signal,
      queueOf: queue => new JobQueue(queue, this.keys),
    }
    this.enqueuing = new Enqueuing({
      host: this.jobHost,
      settings: this.#settings,
      keys: this.keys,
      commands,
      makeDurable: () => makeDurableConnection(target, this.events, commands),
      routes: this.#routes,
      placement,
      events: this.events,
      tracing: this.#tracing,
    })
    this.#streams = new OpenStreams({
      hubId: this.id,
      keys: this.keys,
      commands,
      closing: this.closing.signal,
      onProblem: reason => this.events.emit('problem', { where: 'stream', reason }),
    })
    this.#subscriptions = [
      subscribeLog(this.events, makeLogger(this.#settings)),
      ...(statsd === undefined ? [] : [subscribeStatsd(this.events, { ...this.#settings, statsd })]),
    ]
  }

  protected get serviceName(): string | undefined {
    return this.#settings.name
  }

  /** Prefix of every key in Redis, from the settings. */
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
   * @param task `name:1.0` for exactly that version, `name:1` for the newest live 1.x, `name` for the newest live
   *   version; or the return value of defineTask, for typed arguments and result
   * @param given the arguments, a JSON value that matches the schema of the task, by default {}; then options: with
   *   `phases: true` it resolves to `{ result, phases }`, with the time of each part of the wait
   * @throws HubError by the deadline at the latest; `code` says what happened, `ran` whether it is safe to repeat the
   *   call, `phases` where the time went if a worker replied
   */
  call<
    A = unknown,
    R = unknown,
    P extends boolean = false,
    T extends (keyof Tasks & string) | Declaration<never> = NoName<Tasks>,
  >(
    task: T | Declaration<A, R>,
    ...given: Given<ArgsUnder<Tasks, T, A>, CallOptions<P>>
  ): Promise<Answer<ResultUnder<Tasks, T, R>, P>>
  call(task: string | Declaration<never>, args: unknown = {}, options: CallOptions = {}): Promise<unknown> {
    const startedAt = monotonicMs()
    const called = calledName(task)
    const wrong = this.closing.signal.aborted ? hubClosed() : wrongCall(called, options)
    if (wrong) return Promise.reject(this.#dispatch.refused(String(called), wrong, startedAt, undefined))
    const listener = options.onProgress && progressListener(options.onProgress, this.events)
    return new Promise((resolve, reject) => {
      const caller = { startedAt, span: undefined, context: this.#context(), listener, resolve, reject }
      this.#begin(called, args, options, caller)
    })
  }

  /**
   * Calls a task and reads its chunks as the handler yields them: `for await (const chunk of hub.stream('chat:1.0',
   * args))`. The request is sent at once. Leaving the loop cancels the handler; reading slowly slows the handler down.
   * A failed call throws after the chunks that arrived before it. If the handler does not yield, the stream ends
   * without a chunk.
   *
   * @param task as for call()
   * @param given the arguments; then options: `timeoutMs` limits the whole stream, by default the timeout of the task;
   *   `idleMs` limits the wait for each chunk
   */
  stream<A = unknown, R = unknown, C = unknown, T extends (keyof Tasks & string) | Declaration<never> = NoName<Tasks>>(
    task: T | Declaration<A, R, C>,
    ...given: Given<ArgsUnder<Tasks, T, A>, StreamOptions>
  ): HubStream<ChunkUnder<Tasks, T, C>, ResultUnder<Tasks, T, R> | null>
  stream(task: string | Declaration<never>, args: unknown = {}, options: StreamOptions = {}): unknown {
    const startedAt = monotonicMs()
    const called = calledName(task)
    const wrong = this.closing.signal.aborted ? hubClosed() : wrongStream(called, options)
    const { idleMs, onProgress, ...callOptions }: StreamOptions = wrong ? {} : options
    const { controller: stopping, release } = following(callOptions.signal)
    const heard = onProgress && progressListener(onProgress, this.events).onPart
    const listener = new HubStream(called, this.#streams, { idleMs, onProgress: heard }, reason =>
      stopping.abort(reason),
    )
    if (wrong) {
      listener.onFailed(this.#dispatch.refused(String(called), wrong, startedAt, undefined))
      return listener
    }
    this.#streams.add(listener)
    const { signal } = stopping
    const caller = streamCaller(listener, { startedAt, context: this.#context(), onEnd: release })
    this.#begin(called, args, { ...callOptions, signal, phases: true }, caller)
    return listener
  }

  /**
   * Makes many calls at once and waits until each has settled; a failed call does not affect the others.
   *
   * @param calls the calls, by names of your choice
   * @param options for all calls; the options of an entry take precedence
   */
  gather<T extends Record<string, Called<Tasks>>>(
    calls: { readonly [K in keyof T]: GatherEntry<T[K], Tasks> },
    options: CallOptions = {},
  ): Promise<{ [K in keyof T]: Gathered<ResultOf<T[K], Tasks>> }> {
    const call = (task: Called, args: unknown, own: CallOptions) =>
      (this as unknown as Hub).call(task as string, args, own)
    return gatherCalls(calls as unknown as Record<string, GatherEntry>, options, call) as never
  }

  /**
   * The `dangerous` declaration of a task, for programs that let people run tasks: the reason, true if none was given,
   * undefined if the task is not dangerous. Calls are allowed either way.
   *
   * @throws HubError as a call that was not sent: NoSuchTask, NoWorkers, NotEnqueued, HubClosed
   */
  async dangerOf(task: string, { queue }: Pick<CallOptions, 'queue'> = {}): Promise<string | true | undefined> {
    const wrong = this.closing.signal.aborted ? hubClosed() : wrongCall(task, { queue })
    if (wrong) throw wrong
    this.commands.open()
    const route =
      this.#routes.known(task, queue) ?? (await this.#routes.find(task, queue, monotonicMs() + patienceMs, undefined))
    return route.dangerous
  }

  /** Closes the hub: calls in flight fail with HubClosed or Aborted, its keys are deleted, its connections closed. */
  close(): Promise<void> {
    this.#closed ??= this.#shutDown()
    return this.#closed
  }

  async #shutDown(): Promise<void> {
    this.closing.abort()
    this.#routes.stop()
    await Promise.all([this.enqueuing.stop(), this.#dispatch.stop()])
    await this.#streams.stop()
    const keys = [...this.#dispatch.usedKeys(), ...this.enqueuing.usedKeys()]
    if (keys.length > 0) {
      // What is left when Redis is away expires by itself.
      await this.commands.whenReady(signalAfter(patienceMs))
      await within(this.#dispatch.takenBack(), patienceMs)
      await this.commands
        .send(client => Promise.all(keys.map(key => command(client, 'unlink', key))))
        .catch(() => undefined)
    }
    await this.#unanswered.close()
    await this.commands.close()
    await Promise.all(this.#subscriptions.map(end => end()))
  }

  /** Of whoever calls now, where somebody listens for what becomes of calls. */
  #context(): AsyncResource | undefined {
    return callEvents.some(name => this.events.has(name)) ? new AsyncResource('pshub.call') : undefined
  }

  /** Under a span, where somebody traces. */
  #begin(called: string, args: unknown, options: CallOptions, caller: Caller): void {
    const route = this.#routes.known(called, options.queue)
    if (!this.#tracing?.isHeard(options)) {
      this.#start(called, route, args, options, caller)
      return
    }
    const span = this.#tracing.startCall(route?.task ?? called, options)
    this.#start(called, route, args, options, { ...caller, span })
  }

  #start(called: string, route: Route | undefined, args: unknown, options: CallOptions, caller: Caller): void {
    this.commands.open()
    this.#blocking.open()
    if (route) this.#dispatch.send(route, args, options, caller)
    else void this.#callUnknown(called, args, options, caller)
  }

  /** The slow path: the name is new, or was not used for a while. */
  async #callUnknown(called: string, args: unknown, options: CallOptions, caller: Caller): Promise<void> {
    const { startedAt, span } = caller
    const timeoutMs = options.timeoutMs ?? defaultTimeoutMs
    const deadline = startedAt + Math.min(timeoutMs, patienceMs)
    try {
      const route = await this.#routes.find(
        called,
        options.queue,
        deadline,
        options.signal,
        'hub',
        startedAt + timeoutMs,
      )
      span?.resolved(route.task)
      // The signal or close() may have come in the same moment as the route.
      const wrong = this.closing.signal.aborted ? hubClosed() : wrongCall(called, options)
      if (wrong) throw wrong
      this.#start(called, route, args, options, caller)
    } catch (error) {
      caller.reject(this.#dispatch.refused(called, error as HubError, startedAt, span))
    }
  }
}
