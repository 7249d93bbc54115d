import { findUnfit } from './bootcheck.ts'
import { Catalogue, type WorkerCounters } from './catalogue.ts'
import { sleep, within } from './clock.ts'
import { readSettings, type Settings } from './config.ts'
import { makeConnections } from './connections.ts'
import { ConfigError, HubError } from './errors.ts'
import { Executor } from './executor.ts'
import { newId } from './ids.ts'
import { makeKeys } from './keys.ts'
import { makeLogger, subscribeLog } from './logger.ts'
import { NestedCalls } from './nested.ts'
import { type Beat, Queue } from './queue.ts'
import type { Connection } from './redis.ts'
import { Registrar } from './registrar.ts'
import { BeatLoop } from './roles/beat.ts'
import { Farewell } from './roles/farewell.ts'
import { FetchLoop } from './roles/fetch.ts'
import { Intake, leaving } from './roles/intake.ts'
import { Reconcile } from './roles/reconcile.ts'
import { Settle } from './roles/settle.ts'
import { Slots } from './slots.ts'
import { subscribeStatsd } from './statsd.ts'
import { checkTasks, defaultTimeoutMs, type Task } from './task.ts'
import { taskLog } from './tasklog.ts'
import { Events } from './telemetry.ts'

export type WorkerOptions = Partial<Omit<Settings, 'name'>> & {
  /** What this worker runs, as defineTask returned it. */
  // biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results go together here
  tasks: readonly Task<any, any>[]
}

/** After handing a request back to others a worker pauses, so as not to take it again at once. */
const handbackPauseMs = 50
/** How long start() waits for Redis, and stop() for the last confirmations. */
const patienceMs = 2000

/**
 * Serves one queue with a fixed number of slots, over two connections. It composes the roles and orders their start and
 * stop; what each of them does is said in its own file.
 */
export class Worker {
  readonly events: Events = new Events()
  readonly #settings: Readonly<Settings>
  readonly #tasks: ReadonlyMap<string, Task>
  readonly #queue: Queue
  readonly #commands: Connection
  readonly #waiting: Connection
  readonly #slots: Slots
  readonly #executor: Executor
  readonly #intake: Intake
  readonly #settle: Settle
  readonly #fetch: FetchLoop
  readonly #beat: BeatLoop
  readonly #reconcile: Reconcile
  readonly #registrar: Registrar
  readonly #farewell: Farewell
  readonly #counters: WorkerCounters = { ok: 0, failed: 0, expired: 0, malformed: 0 }
  readonly #subscriptions: (() => void)[]
  readonly #nested: NestedCalls
  #id = newId()
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  #stopped: Promise<void> | undefined
  #graceOver = new AbortController()
  #redisNowUs = 0

  /** @throws ConfigError */
  constructor(options: WorkerOptions) {
    const { tasks, ...settings } = options
    this.#settings = readSettings('worker', { options: settings, env: process.env })
    this.#tasks = checkTasks(tasks)
    this.#nested = new NestedCalls(this.#settings)
    const keys = makeKeys(this.#settings.namespace)
    const logger = makeLogger(this.#settings.logLevel)
    this.#subscriptions = [subscribeLog(this.events, logger)]
    if (this.#settings.statsd) this.#subscriptions.push(subscribeStatsd(this.events, this.#settings.statsd))
    this.#queue = new Queue(this.#settings.queue, keys)
    this.#slots = new Slots(this.#settings.slots)
    const { commands, blocking } = makeConnections('worker', this.#settings.redis, this.events)
    this.#commands = commands
    this.#waiting = blocking
    this.#registrar = new Registrar(
      new Catalogue(keys),
      this.#queue,
      [...this.#tasks.values()],
      this.#slots.size,
      this.events,
    )
    this.#executor = new Executor({
      tasks: this.#tasks,
      maxResultBytes: this.#settings.maxPayloadBytes,
      log: (task, id) => taskLog(logger, task, id),
      nestedCall: (from, task, args, callOptions) => this.#nested.call(from, task, args, callOptions),
    })
    this.#intake = this.#makeIntake()
    this.#settle = this.#makeSettle()
    this.#fetch = this.#makeFetch()
    this.#reconcile = this.#makeReconcile()
    this.#beat = this.#makeBeat()
    this.#farewell = this.#makeFarewell()
  }

  /** Changes when the lease was lost. */
  get id(): string {
    return this.#id
  }

  /** Requests that run now. */
  get busy(): number {
    return this.#slots.busy
  }

  /**
   * Starts serving. Resolves when the worker is registered, or after two seconds while Redis is away: it goes on trying.
   * @throws ConfigError when this Redis cannot keep the promises (too old, a replica, evicting)
   */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new ConfigError('A worker is started once; make a new one.')
    this.#state = 'running'
    this.#waiting.open()
    this.#commands.open()
    await this.#commands.whenReady(AbortSignal.timeout(patienceMs))
    if (this.#commands.isReady) {
      const unfit = await findUnfit(this.#commands)
      if (unfit) {
        await Promise.all([this.#waiting.close(), this.#commands.close()])
        this.#state = 'stopped'
        throw unfit
      }
      await this.#beat.beatNow()
    }
    this.#beat.start()
    this.#fetch.start()
    this.events.emit('worker:started', {
      worker: this.#id,
      queue: this.#queue.name,
      slots: this.#slots.size,
      tasks: [...this.#tasks.keys()],
    })
  }

  /**
   * Stops taking work, lets what runs finish for `graceMs` (default: the setting, 10 s), puts the rest back, and says
   * goodbye to the registry. Never rejects. A second call may shorten the grace of the first.
   */
  stop(options: { graceMs?: number } = {}): Promise<void> {
    const graceMs = options.graceMs ?? this.#settings.graceMs
    const timer = setTimeout(() => this.#graceOver.abort(), graceMs)
    this.#stopped ??= this.#shutDown().catch(error => this.#problem('stop')(error))
    return this.#stopped.finally(() => clearTimeout(timer))
  }

  async #shutDown(): Promise<void> {
    const wasRunning = this.#state === 'running'
    this.#state = 'stopping'
    this.#fetch.stop()
    await this.#waiting.close()
    await this.#fetch.settled()
    let handedBack = wasRunning ? await this.#farewell.handBackUnknown() : 0
    await within(this.#intake.idle(), Number.POSITIVE_INFINITY, this.#graceOver.signal)
    const abandoned = this.#executor.abandonAll(leaving())
    await within(
      this.#intake.idle().then(() => this.#settle.drained()),
      patienceMs,
    )
    this.#settle.stop()
    await this.#beat.stop()
    if (wasRunning) handedBack += await this.#farewell.leave()
    this.#executor.stop()
    await Promise.all([this.#commands.close(), this.#nested.close()])
    this.#state = 'stopped'
    this.events.emit('worker:stopped', { worker: this.#id, queue: this.#queue.name, handedBack, abandoned })
    for (const end of this.#subscriptions) end()
  }

  #makeIntake(): Intake {
    return new Intake({
      namespace: this.#settings.namespace,
      queueName: this.#queue.name,
      executor: this.#executor,
      slots: this.#slots,
      counters: this.#counters,
      events: this.events,
      workerId: () => this.#id,
      settle: settlement => this.#settle.add(settlement),
      handBack: ids => this.#handBackToOthers(ids),
      timeoutMsOf: task => this.#tasks.get(task)?.timeoutMs ?? defaultTimeoutMs,
      isIdempotent: task => this.#tasks.get(task)?.idempotent ?? false,
    })
  }

  #makeSettle(): Settle {
    return new Settle({
      queue: this.#queue,
      connection: this.#commands,
      workerId: () => this.#id,
      onSlotsIdle: count => {
        this.#slots.free(count)
        this.#fetch.next(true)
      },
      onReleased: ids => this.#slots.forget(ids),
      onProblem: this.#problem('settle'),
    })
  }

  #makeFetch(): FetchLoop {
    return new FetchLoop({
      queue: this.#queue,
      waiting: this.#waiting,
      commands: this.#commands,
      workerId: () => this.#id,
      idleSlots: () => this.#slots.idle,
      onClaimed: (claimed, workerId) => {
        // Under an identity that was lost: others have adopted it.
        if (workerId === this.#id) this.#intake.take(claimed, workerId)
      },
      onNoLease: () => this.#beat.beatNow(),
      onProblem: this.#problem('fetch'),
    })
  }

  #makeReconcile(): Reconcile {
    return new Reconcile({
      queue: this.#queue,
      connection: this.#commands,
      workerId: () => this.#id,
      knows: id => this.#slots.knows(id),
      onFound: (found, workerId) => this.#intake.takeFound(found, workerId, this.#redisNowUs),
    })
  }

  #makeBeat(): BeatLoop {
    return new BeatLoop({
      queue: this.#queue,
      connection: this.#commands,
      leaseMs: this.#settings.leaseMs,
      workerId: () => this.#id,
      onLost: () => this.#becomeNew(),
      publish: (client, nowMs, first) =>
        this.#registrar.publish(client, this.#id, nowMs, first, {
          seen: nowMs,
          busy: this.#slots.busy,
          draining: this.#state === 'stopping',
          counters: this.#counters,
        }),
      onBeat: beat => this.#onBeat(beat),
      onProblem: this.#problem('beat'),
    })
  }

  #makeFarewell(): Farewell {
    return new Farewell({
      queue: this.#queue,
      connection: this.#commands,
      registrar: this.#registrar,
      workerId: () => this.#id,
      knows: id => this.#slots.knows(id),
      onProblem: this.#problem('stop'),
    })
  }

  #onBeat(beat: Beat): void {
    this.#redisNowUs = beat.nowUs
    for (const id of beat.cancelled) {
      this.#executor.abort(id, new HubError('Aborted', 'The caller gave up waiting.'))
    }
    if (this.#state === 'running') this.#reconcile.look().catch(() => undefined)
  }

  /** The lease was lost: others own what we held. What runs is aborted and settles nothing; we go on as somebody new. */
  #becomeNew(): void {
    const worker = this.#id
    this.#id = newId()
    const aborted = this.#executor.abandonAll(leaving())
    this.#slots.reset()
    this.events.emit('lease:lost', { worker, queue: this.#queue.name, aborted })
  }

  async #handBackToOthers(ids: string[]): Promise<void> {
    await this.#commands
      .send(client => this.#queue.handback(client, this.#id, 'tail', ids))
      .catch(this.#problem('handback'))
    await sleep(handbackPauseMs)
    queueMicrotask(() => this.#fetch.next())
  }

  #problem(where: string): (error: Error) => void {
    return error => this.events.emit('problem', { where, reason: error.message })
  }
}
