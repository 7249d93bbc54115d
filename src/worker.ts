import { bootCheck } from './bootcheck.ts'
import { Catalogue, type WorkerCounters } from './catalogue.ts'
import { sleep, within } from './clock.ts'
import { readSettings, type Settings } from './config.ts'
import { ConfigError, HubError } from './errors.ts'
import { Executor } from './executor.ts'
import { Hub } from './hub.ts'
import { newId } from './ids.ts'
import { makeKeys } from './keys.ts'
import { makeLogger, subscribeLog } from './logger.ts'
import type { Request } from './message.ts'
import { type Beat, blockSeconds, Queue } from './queue.ts'
import { Connection } from './redis.ts'
import { Registrar } from './registrar.ts'
import { BeatLoop } from './roles/beat.ts'
import { FetchLoop } from './roles/fetch.ts'
import { Intake, leaving } from './roles/intake.ts'
import { Reconcile } from './roles/reconcile.ts'
import { Settle } from './roles/settle.ts'
import { Slots } from './slots.ts'
import { subscribeStatsd } from './statsd.ts'
import { defaultTimeoutMs, isTask, type Task } from './task.ts'
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
  readonly #counters: WorkerCounters = { ok: 0, failed: 0, expired: 0, malformed: 0 }
  readonly #subscriptions: (() => void)[]
  #nestedHub: Hub | undefined
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
    const keys = makeKeys(this.#settings.namespace)
    const logger = makeLogger(this.#settings.logLevel)
    this.#subscriptions = [subscribeLog(this.events, logger)]
    if (this.#settings.statsd) this.#subscriptions.push(subscribeStatsd(this.events, this.#settings.statsd))
    this.#queue = new Queue(this.#settings.queue, keys)
    this.#slots = new Slots(this.#settings.slots)
    this.#commands = this.#connect('commands', 2000)
    this.#waiting = this.#connect('waiting', blockSeconds * 1000 + 1000)
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
      nestedCall: (from, task, args, callOptions) => this.#nestedCall(from, task, args, callOptions),
    })
    this.#intake = this.#makeIntake()
    this.#settle = this.#makeSettle()
    this.#fetch = this.#makeFetch()
    this.#reconcile = this.#makeReconcile()
    this.#beat = this.#makeBeat()
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
      await this.#refuseUnfit()
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
    let handedBack = wasRunning ? await this.#handBackUnknown() : 0
    await within(this.#intake.idle(), Number.POSITIVE_INFINITY, this.#graceOver.signal)
    const abandoned = this.#executor.abandonAll(leaving())
    await within(
      this.#intake.idle().then(() => this.#settle.drained()),
      patienceMs,
    )
    this.#settle.stop()
    await this.#beat.stop()
    if (wasRunning) handedBack += await this.#leave()
    this.#executor.stop()
    await Promise.all([this.#commands.close(), this.#nestedHub?.close()])
    this.#state = 'stopped'
    this.events.emit('worker:stopped', { worker: this.#id, queue: this.#queue.name, handedBack, abandoned })
    for (const end of this.#subscriptions) end()
  }

  /** The answer of the last claim may have been cut off: what it took goes back to others at once. */
  async #handBackUnknown(): Promise<number> {
    return this.#lastWords(async () => {
      const held = await this.#commands.send(client => this.#queue.heldIds(client, this.#id))
      const unknown = held.filter(id => !this.#slots.knows(id))
      if (unknown.length === 0) return 0
      return this.#commands.send(client => this.#queue.handback(client, this.#id, 'head', unknown))
    })
  }

  async #leave(): Promise<number> {
    return this.#lastWords(async () => {
      const handedBack = await this.#commands.send(client => this.#queue.leave(client, this.#id, []))
      await this.#commands.send(client => this.#registrar.remove(client, [this.#id]))
      return handedBack
    })
  }

  /** While Redis is away nothing can be handed back; the lease ends by itself and others adopt what is held. */
  async #lastWords(work: () => Promise<number>): Promise<number> {
    if (!this.#commands.isReady) return 0
    try {
      return await work()
    } catch (error) {
      this.#problem('stop')(error as Error)
      return 0
    }
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

  #nestedCall(
    from: Request,
    task: string,
    args: unknown,
    options: { timeoutMs: number; signal: AbortSignal },
  ): Promise<unknown> {
    const { redis, namespace, maxPayloadBytes, maxBacklog, logLevel } = this.#settings
    this.#nestedHub ??= new Hub({ redis, namespace, maxPayloadBytes, maxBacklog, logLevel, name: this.#queue.name })
    const { timeoutMs, signal } = options
    return this.#nestedHub.call(task, args ?? {}, {
      ...(timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs }),
      signal,
      traceparent: from.traceparent,
    })
  }

  async #refuseUnfit(): Promise<void> {
    const findings = await this.#commands.send(bootCheck).catch(() => [])
    const unfit = findings.filter(({ level }) => level === 'error').map(({ message }) => message)
    if (unfit.length === 0) return
    await Promise.all([this.#waiting.close(), this.#commands.close()])
    this.#state = 'stopped'
    throw new ConfigError(`This Redis cannot be used: ${unfit.join('; ')}.`)
  }

  #connect(role: string, stallMs: number): Connection {
    return new Connection({
      target: this.#settings.redis,
      name: `pshub-worker-${role}`,
      stallMs,
      onUp: () => this.events.emit('redis:up', { role: `worker ${role}` }),
      onDown: reason => this.events.emit('redis:down', { role: `worker ${role}`, reason: reason.message }),
    })
  }

  #problem(where: string): (error: Error) => void {
    return error => this.events.emit('problem', { where, reason: error.message })
  }
}

const checkTasks = (tasks: unknown): ReadonlyMap<string, Task> => {
  if (!Array.isArray(tasks) || tasks.length === 0)
    throw new ConfigError("A worker needs 'tasks': an array of what defineTask returned.")
  const byName = new Map<string, Task>()
  for (const task of tasks) {
    if (!isTask(task)) throw new ConfigError("'tasks' holds something that defineTask did not return.")
    if (byName.has(task.name.full)) throw new ConfigError(`The task ${task.name.full} is given twice.`)
    byName.set(task.name.full, task)
  }
  return byName
}
