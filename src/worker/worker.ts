import { AsyncResource } from 'node:async_hooks'
import { Catalogue } from '../catalogue/catalogue.ts'
import { FieldWrites } from '../catalogue/registrar.ts'
import { Events } from '../figures/events.ts'
import { LoopDelay } from '../figures/loop-delay.ts'
import { Pulse } from '../figures/pulse.ts'
import type { WorkerLook } from '../figures/worker-look.ts'
import { isHeldJob } from '../jobs/held-job.ts'
import { blockedLines, makeLogger, subscribeLog } from '../outlets/log.ts'
import { subscribeStatsd } from '../outlets/statsd/statsd.ts'
import { taskLog } from '../outlets/task-log.ts'
import { makeTracing } from '../outlets/tracing.ts'
import { RedisGuards } from '../queue/guards.ts'
import { findUnfit, unfitError } from '../redis/boot-check.ts'
import type { Connection } from '../redis/connection.ts'
import { makeConnections } from '../redis/connections.ts'
import { explained } from '../redis/refusals.ts'
import { readQueues, refuseForwarders } from '../settings/queues.ts'
import { readSettings, type Settings } from '../settings/read.ts'
import { checkTasks } from '../task/exported.ts'
import type { Guards, Task, TaskMiddleware } from '../task/task.ts'
import { signalAfter } from '../wire/clock.ts'
import { ConfigError } from '../wire/errors.ts'
import { makeKeys } from '../wire/keys.ts'
import { namesOf, wrongOptions } from '../wire/options.ts'
import { clearTimeout, detached, setTimeout } from '../wire/timers.ts'
import type { CommonParts } from './crew.ts'
import { Crews } from './crews.ts'
import { Handlers } from './handlers.ts'
import { Health } from './health.ts'
import { Hooks, type WorkerHooks } from './hooks.ts'
import { finish, leave } from './leaving.ts'
import { makeNestedCalls } from './nested.ts'
import { Beats } from './queues/beats.ts'
import { QueueOrder } from './queues/queue-order.ts'
import { Sharding } from './queues/sharding.ts'
import { FetchLoop } from './roles/fetch.ts'
import { Find } from './roles/find.ts'
import { Inspect } from './roles/inspect.ts'
import { Keepalive } from './roles/keepalive.ts'
import { SlotPool } from './slot-pool.ts'
import { Threads } from './threads/threads.ts'

/** Options of a worker; omitted settings come from the environment or their defaults. */
export type WorkerOptions = Partial<Omit<Settings, 'name'>> &
  WorkerHooks & {
    /** The tasks of this worker: return values of defineTask. */
    // biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results go together here
    tasks: readonly Task<any, any>[]
  }

/** Its options that are no settings. */
const others: readonly string[] = ['tasks', 'onStart', 'lastWords'] satisfies (keyof WorkerOptions)[]
const stopOptionNames = namesOf<{ graceMs?: number }>({ graceMs: true })
/** How long start() waits for Redis. */
const patienceMs = 2000

/** Serves queues with a fixed number of slots, over two connections. */
export class Worker {
  readonly events: Events = new Events()
  readonly #crews: Crews
  readonly #common: CommonParts
  readonly #waiting: Connection
  readonly #find: Find
  readonly #inspect: Inspect
  readonly #health: Health
  readonly #nested: ReturnType<typeof makeNestedCalls>
  readonly #threads: Threads
  readonly #subscriptions: (() => void | Promise<void>)[]
  readonly #guards: Guards
  readonly #hooks: Hooks
  readonly #graceOver = new AbortController()
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  /** Redis may have something of this worker: leases, cards, requests that it holds. */
  #isKnown = false
  #isServing = false
  #stopped: Promise<void> | undefined

  /** @throws ConfigError */
  constructor(options: WorkerOptions) {
    const { events } = this
    const settings = readSettings('worker', { options, others, env: process.env })
    const { tasks: given, onStart, lastWords } = options ?? {}
    this.#hooks = new Hooks({ onStart, lastWords })
    const { statsd, slots: size, jobSlots = Math.ceil(size / 2) } = settings
    const threads = new Threads(reason => events.emit('problem', { where: 'threads', reason }))
    this.#threads = threads
    const tasks = threads.withHandlersIn(checkTasks(given), size)
    if (jobSlots > size) throw new ConfigError(`jobSlots is ${jobSlots}, but this worker has ${size} slots in all.`)
    const entries = readQueues(settings.queue)!
    refuseForwarders(entries, tasks.values())
    const logger = makeLogger(settings)
    this.#subscriptions = [subscribeLog(events, logger)]
    if (statsd !== undefined) this.#subscriptions.push(subscribeStatsd(events, { ...settings, statsd }))
    const { commands, blocking: waiting } = makeConnections('worker', settings.redis, events)
    this.#waiting = waiting
    const tracing = makeTracing(settings.tracing)
    const keys = makeKeys(settings.namespace)
    this.#guards = new RedisGuards(commands, keys)
    this.#find = new Find({
      entries,
      tasks: [...tasks.values()],
      commands,
      catalogue: new Catalogue(keys),
      isGone: queue => this.#common.sharding.isGone(queue),
      onFound: queue => this.#crews.add(queue),
    })
    this.#nested = makeNestedCalls(settings, this.#find.first[0], tracing)
    const pool = new SlotPool(size, jobSlots)
    const pulse = new Pulse([...tasks.keys()], threads.tasks)
    const problem = (error: Error) => events.emit('problem', { where: 'keepalive', reason: explained(error.message) })
    this.#common = {
      settings,
      tasks,
      commands,
      beats: new Beats(commands),
      events,
      isServing: () => this.#state === 'running',
      handlers: new Handlers([...tasks.values()]),
      log: (task, id) => taskLog(logger, task, id),
      nestedCall: this.#nested.call,
      pool,
      pulse,
      writes: new FieldWrites(),
      loop: new LoopDelay(),
      fetch: new FetchLoop({ commands, waiting, pool, order: new QueueOrder(entries) }),
      keepalive: new Keepalive({
        settings,
        pulse,
        addressOf: key => commands.addressOf(key),
        blockedLines: blockedLines(logger),
        onProblem: problem,
      }),
      startSpan: queue =>
        tracing && ((request, queueMs) => tracing.startRun(request, isHeldJob(request.heldId), queue, queueMs)),
      sharding: new Sharding({ commands, keys, onShards: queues => this.#find.addShards(queues) }),
      tasksOf: queue => this.#find.tasksOf(queue),
      serves: queue => this.#find.serves(queue),
    }
    this.#crews = new Crews({ common: this.#common, find: this.#find, waiting, graceOver: this.#graceOver.signal })
    this.#inspect = this.#makeInspect()
    this.#health = new Health({
      settings,
      crews: this.#crews.all,
      loop: this.#common.loop,
      state: () => (this.#state !== 'running' ? 'stopping' : this.#isServing ? 'serving' : 'starting'),
      isConnected: () => commands.isReady,
      onOpen: port => logger.info({ port }, 'probes are answered: /livez and /readyz'),
    })
    for (const queue of this.#find.first) this.#crews.add(queue)
  }

  /**
   * Adds middleware around the handlers of all tasks, for calls and jobs. The first one is outermost.
   *
   * @param middleware `next => async (request, ctx) => { ...; return next(request, ctx) }`
   * @throws ConfigError after the worker was started
   */
  use(middleware: TaskMiddleware): void {
    if (this.#state !== 'new') throw new ConfigError('use() comes before start().')
    this.#common.handlers.use(next => middleware(next, this.#guards))
  }

  /** Its id in the first queue; it has one per queue. A lost lease changes it. */
  get id(): string {
    return this.#crews.first.workerId()
  }

  /** Number of running requests. */
  get busy(): number {
    return this.#common.pool.busy
  }

  /** What it is running, for each of its queues: its runs, how long each has taken, and their last activity. */
  look(): WorkerLook[] {
    return this.#crews.all.map(({ show }) => show.look())
  }

  /**
   * Starts the worker. Resolves when it is registered, or after two seconds while Redis is unreachable: then it keeps
   * reconnecting, and an unfit Redis is a `problem` event until it is fit.
   *
   * @throws StartFailed when `onStart` fails
   * @throws ConfigError when `healthPort` is taken, or this Redis cannot be used (too old, a replica, evicting, or
   *   missing rights)
   */
  start(): Promise<void> {
    const onStart = AsyncResource.bind(() => this.#hooks.start())
    return detached(() => this.#start(onStart))
  }

  async #start(onStart: () => Promise<void>): Promise<void> {
    if (this.#state !== 'new') throw new ConfigError('A worker is started once; make a new one.')
    this.#state = 'running'
    // Behind the probes: what takes its time is seen to be starting.
    const begun = this.#health.open().then(onStart)
    await begun.catch(async error => {
      this.#state = 'stopped'
      await this.#health.close()
      throw error
    })
    // stop() may have been called meanwhile.
    if (this.#state !== 'running') return
    this.#hooks.watch()
    const { commands } = this.#common
    this.#waiting.open()
    commands.open()
    await commands.whenReady(signalAfter(patienceMs))
    if (this.#state !== 'running') return
    const unfit = await this.#inspect.look()
    if (this.#state !== 'running') return
    if (unfit?.length) {
      await Promise.all([this.#waiting.close(), commands.close(), this.#health.close()])
      this.#state = 'stopped'
      throw unfitError(unfit)
    }
    if (unfit) {
      this.#isKnown = true
      await this.#find.look()
      // One after the other: tasks that are nowhere yet belong to the queue that is named first. And none behind a stop(): its lease
      // would be nobody's.
      for (const { beat } of this.#crews.all) if (this.#state === 'running') await beat.beatNow()
      this.#serve()
    } else
      void this.#inspect
        .untilFit()
        .then(() => this.#find.look())
        .then(() => this.#serve())
  }

  #serve(): void {
    if (this.#state !== 'running') return
    this.#isKnown = true
    this.#isServing = true
    const { loop, pulse, fetch, keepalive } = this.#common
    loop.start(ms => {
      const tasks = pulse.tick()
      if (!tasks) return
      const { workerId, queue } = this.#crews.first
      this.events.emit('loop:blocked', { worker: workerId(), queue: queue.name, tasks, ms: Math.round(ms) })
    })
    this.#crews.start()
    fetch.start()
    keepalive.start()
    this.#find.start()
    void this.#inspect.watch()
  }

  #makeInspect(): Inspect {
    const { events } = this
    const keys = makeKeys(this.#common.settings.namespace)
    return new Inspect({
      connection: this.#common.commands,
      findUnfit: client =>
        findUnfit(
          client,
          this.#crews.all.map(({ queue }) => ({ role: 'worker', keys, queue: queue.name })),
        ),
      onUnfit: reasons => events.emit('problem', { where: 'redis', reason: unfitError(reasons).message }),
    })
  }

  /**
   * Stops the worker: it claims no more requests, running tasks may finish for `graceMs` (default: the setting, 10 s),
   * the rest returns to the queue, and the worker leaves the registry. A second call may shorten the grace period.
   *
   * @throws ConfigError for an unknown option
   */
  stop(options: { graceMs?: number } = {}): Promise<void> {
    const wrong = wrongOptions(options, stopOptionNames)
    if (wrong !== undefined) return Promise.reject(new ConfigError(`stop: ${wrong}`))
    const graceMs = options.graceMs ?? this.#common.settings.graceMs
    const timer = setTimeout(() => this.#graceOver.abort(), graceMs)
    this.#stopped ??= this.#shutDown().catch(error =>
      this.events.emit('problem', { where: 'stop', reason: error.message }),
    )
    return this.#stopped.finally(() => clearTimeout(timer))
  }

  async #shutDown(): Promise<void> {
    const { fetch, keepalive, commands, loop } = this.#common
    this.#state = 'stopping'
    this.#inspect.stop()
    await this.#find.stop()
    const crews = this.#crews.all
    const isKnown = this.#isKnown
    const announced = Promise.all(crews.map(({ farewell }) => (isKnown ? farewell.announce() : undefined)))
    fetch.stop()
    await this.#waiting.close()
    await fetch.settled()
    await announced
    await this.#crews.parted()
    const left = await Promise.all(crews.map(crew => finish(crew, isKnown, this.#graceOver.signal)))
    // Not before nothing runs any more: what runs may block the loop until its end.
    await Promise.all([keepalive.stop(), this.#threads.stop()])
    const stopped = await Promise.all(crews.map((crew, at) => leave(crew, isKnown, left[at]!)))
    loop.stop()
    await Promise.all([commands.close(), this.#nested.close(), this.#health.close()])
    this.#state = 'stopped'
    this.#hooks.stop()
    for (const event of stopped) this.events.emit('worker:stopped', event)
    await Promise.all(this.#subscriptions.map(end => end()))
  }
}
