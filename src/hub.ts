import { encodeArgs } from './arguments.ts'
import { Call, type Settled } from './call.ts'
import { Catalogue } from './catalogue.ts'
import { monotonicMs, signalAfter } from './clock.ts'
import { readSettings, type Settings } from './config.ts'
import { makeConnections } from './connections.ts'
import { Deadlines } from './deadlines.ts'
import { HubError, messageOf } from './errors.ts'
import { type CallOptions, type GatherEntry, type Gathered, gatherCalls } from './gather.ts'
import { newId } from './ids.ts'
import { type Keys, makeKeys } from './keys.ts'
import { makeLogger, subscribeLog } from './logger.ts'
import { type Reply, requestBody, requestTail } from './message.ts'
import { Outbox } from './outbox.ts'
import { type Overview, readOverview } from './overview.ts'
import { Queue } from './queue.ts'
import type { Connection } from './redis.ts'
import { explained } from './refusals.ts'
import { Inbox } from './replies.ts'
import { Resolver, type Route } from './resolver.ts'
import { subscribeStatsd } from './statsd.ts'
import { maxTimeoutMs, type Task } from './task.ts'
import { Events } from './telemetry.ts'

export type HubOptions = Partial<
  Pick<Settings, 'redis' | 'namespace' | 'name' | 'maxPayloadBytes' | 'maxBacklog' | 'statsd' | 'logLevel'>
>

/** How long close() waits for a connection to clean up over. */
const closePatienceMs = 1000

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
  readonly #catalogue: Catalogue
  readonly #resolver: Resolver
  readonly #inbox: Inbox
  readonly #outboxes = new Map<string, Outbox>()
  readonly #pending = new Map<string, Call>()
  readonly #deadlines = new Deadlines()
  readonly #closing = new AbortController()
  readonly #tail: string
  readonly #subscriptions: (() => void)[]
  #closed: Promise<void> | undefined

  /** @throws ConfigError */
  constructor(options: HubOptions = {}) {
    this.#settings = readSettings('hub', { options: { ...options }, env: process.env })
    const { redis: target, namespace, name, statsd, logLevel } = this.#settings
    this.#keys = makeKeys(namespace)
    this.#tail = requestTail(this.#keys.reply(this.id), name, undefined)
    const { commands, blocking } = makeConnections('hub', target, this.events)
    this.#commands = commands
    this.#blocking = blocking
    this.#catalogue = new Catalogue(this.#keys)
    this.#resolver = new Resolver(this.#commands, this.#catalogue, this.#keys, this.events)
    this.#inbox = new Inbox({
      connection: this.#blocking,
      key: this.#keys.reply(this.id),
      readKey: this.#keys.read(this.id),
      expected: () => this.#pending.size,
      onReply: (reply, again) => this.#deliver(reply, again),
      onMalformed: () => this.events.emit('problem', { where: 'inbox', reason: 'a reply that is not one was dropped' }),
      onProblem: error => this.events.emit('problem', { where: 'inbox', reason: explained(error.message) }),
    })
    this.#subscriptions = [
      subscribeLog(this.events, makeLogger(logLevel)),
      ...(statsd ? [subscribeStatsd(this.events, statsd)] : []),
    ]
  }

  /**
   * Calls a task and awaits its result.
   *
   * @param task `name:1.0` for exactly that version, `name:1` for the newest live 1.x, `name` for the newest live one;
   *   or what defineTask returned, for typed arguments and result
   * @param args any JSON value that fits the task's schema. Default {}
   * @throws HubError by its deadline at the latest; `code` says what happened, `ran` whether repeating is safe
   */
  call<A, R>(task: Task<A, R>, args: A, options?: CallOptions): Promise<R>
  call(task: string, args?: unknown, options?: CallOptions): Promise<unknown>
  call(task: string | Task<never, unknown>, args: unknown = {}, options: CallOptions = {}): Promise<unknown> {
    const startedAt = monotonicMs()
    const called = typeof task === 'string' ? task : task?.name?.full
    const wrong = this.#wrongCall(called, options)
    if (wrong) return Promise.reject(wrong)
    const route = this.#resolver.known(called)
    if (route) {
      return new Promise((resolve, reject) => this.#send(route, args, options, startedAt, resolve, reject))
    }
    return this.#callUnknown(called, args, options, startedAt)
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
    return this.#read(client => readOverview(client, this.#catalogue, this.#keys))
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

  /** Ends the hub: calls in flight settle as HubClosed or Aborted, its keys are deleted, its connections closed. */
  close(): Promise<void> {
    this.#closed ??= this.#shutDown()
    return this.#closed
  }

  async #shutDown(): Promise<void> {
    this.#closing.abort()
    for (const call of [...this.#pending.values()]) {
      const maybeRun = call.pushed !== undefined || call.inDoubt
      call.fail(
        maybeRun
          ? new HubError('Aborted', `The hub was closed while ${call.task} was running.`, {
              task: call.task,
              id: call.id,
            })
          : new HubError('HubClosed', undefined, { task: call.task, id: call.id }),
      )
    }
    this.#deadlines.stop()
    this.#blocking.discard(new Error('the hub was closed'))
    await Promise.all([this.#inbox.stop(), this.#blocking.close()])
    await this.#deleteKeys()
    await this.#commands.close()
    for (const end of this.#subscriptions) end()
  }

  /** What is left when Redis is away expires by itself. */
  async #deleteKeys(): Promise<void> {
    const pushed = [...this.#outboxes]
      .filter(([, outbox]) => outbox.used)
      .map(([queue]) => this.#keys.queue(queue).pushed(this.id))
    if (pushed.length === 0) return
    await this.#commands.whenReady(signalAfter(closePatienceMs))
    const keys = [this.#keys.reply(this.id), this.#keys.read(this.id), ...pushed]
    await this.#commands.send(client => Promise.all(keys.map(key => client.unlink(key)))).catch(() => undefined)
  }

  #wrongCall(called: string, options: CallOptions): HubError | undefined {
    if (this.#closing.signal.aborted) return new HubError('HubClosed', 'This hub was closed; make a new one.')
    if (typeof called !== 'string')
      return new HubError('NoSuchTask', 'The task must be a name like my_task:1.0, or what defineTask returned.')
    const { timeoutMs, signal } = options
    if (timeoutMs !== undefined && !(timeoutMs > 0)) {
      // A nested call whose time is up comes here with 0; it certainly was not sent.
      return typeof timeoutMs === 'number' && timeoutMs <= 0
        ? new HubError('Expired', `No time was left for ${called}.`, { task: called })
        : new HubError('InvalidArgs', `timeoutMs must be a number of milliseconds, not ${JSON.stringify(timeoutMs)}.`, {
            task: called,
          })
    }
    if (signal?.aborted)
      return new HubError('Aborted', `The signal had fired before ${called} was called.`, {
        task: called,
        cause: signal.reason,
      })
    this.#commands.open()
    this.#blocking.open()
    return undefined
  }

  /** The slow path: the name is new, or was not used for a while. */
  async #callUnknown(called: string, args: unknown, options: CallOptions, startedAt: number): Promise<unknown> {
    const patienceMs = Math.min(options.timeoutMs ?? 1000, 1000)
    const route = await this.#resolver.find(called, startedAt + patienceMs, this.#closing.signal, options.signal)
    return new Promise((resolve, reject) => this.#send(route, args, options, startedAt, resolve, reject))
  }

  #send(
    route: Route,
    args: unknown,
    options: CallOptions,
    startedAt: number,
    resolve: (value: unknown) => void,
    reject: (error: HubError) => void,
  ): void {
    const json = encodeArgs(route, args, this.#settings.maxPayloadBytes)
    if (json instanceof HubError) {
      reject(json)
      return
    }
    const id = newId()
    const tail =
      options.traceparent === undefined
        ? this.#tail
        : requestTail(this.#keys.reply(this.id), this.#settings.name, options.traceparent)
    const outbox = this.#outboxOf(route.queue)
    const call = new Call({
      id,
      task: route.task,
      body: requestBody(id, route.task, json, tail),
      startedAt,
      end: startedAt + Math.min(options.timeoutMs ?? route.timeoutMs, maxTimeoutMs),
      signal: options.signal,
      whyDown: () => this.#commands.downReason?.message,
      resolve,
      reject,
      onSettled: (settledCall, settled) => this.#onSettled(settledCall, settled, outbox),
    })
    this.#pending.set(id, call)
    this.#deadlines.add(call)
    this.#inbox.wake()
    outbox.add(call)
  }

  #outboxOf(queue: string): Outbox {
    let outbox = this.#outboxes.get(queue)
    if (!outbox) {
      outbox = new Outbox(
        this.#commands,
        new Queue(queue, this.#keys),
        this.id,
        this.#settings.maxBacklog,
        this.events,
        this.#closing.signal,
      )
      this.#outboxes.set(queue, outbox)
    }
    return outbox
  }

  #deliver(reply: Reply, again: boolean): void {
    const call = this.#pending.get(reply.id)
    if (call) call.answer(reply)
    else if (!again) this.events.emit('reply:late', { id: reply.id })
  }

  #onSettled(call: Call, settled: Settled, outbox: Outbox): void {
    this.#pending.delete(call.id)
    this.#deadlines.delete(call)
    if (call.abandoned) outbox.cancel(call)
    if (!this.events.has('call:settled')) return
    const { ok, error, us } = settled
    this.events.emit('call:settled', {
      task: call.task,
      id: call.id,
      ok,
      code: error?.code,
      ms: monotonicMs() - call.startedAt,
      us,
    })
  }

  async #read<T>(read: Parameters<typeof Connection.prototype.send<T>>[0]): Promise<T> {
    if (this.#closing.signal.aborted) throw new HubError('HubClosed', 'This hub was closed; make a new one.')
    this.#commands.open()
    await this.#commands.whenReady(signalAfter(2000, this.#closing.signal))
    const failed = (reason: string, cause?: unknown) =>
      new HubError('NotEnqueued', `The registry could not be read: ${explained(reason)}.`, { cause })
    if (!this.#commands.isReady) throw failed(this.#commands.downReason?.message ?? 'no answer in time')
    return this.#commands.send(read).catch(error => {
      throw failed(messageOf(error), error)
    })
  }
}
