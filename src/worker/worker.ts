import { Registrar } from '../catalogue/registrar.ts'
import { Events } from '../figures/events.ts'
import { Pulse } from '../figures/pulse.ts'
import type { WorkerLook } from '../figures/worker-look.ts'
import { blockedLines, makeLogger, subscribeLog } from '../outlets/log.ts'
import { subscribeStatsd } from '../outlets/statsd/statsd.ts'
import { taskLog } from '../outlets/task-log.ts'
import { makeTracing, type Tracing } from '../outlets/tracing.ts'
import { RedisGuards } from '../queue/guards.ts'
import { JobQueue } from '../queue/job-queue.ts'
import { Queue } from '../queue/queue.ts'
import { unfitError } from '../redis/boot-check.ts'
import { makeConnections } from '../redis/connections.ts'
import { readSettings, type Settings } from '../settings/read.ts'
import { checkTasks, type Guards, type Task, type TaskMiddleware } from '../task/task.ts'
import { signalAfter, within } from '../wire/clock.ts'
import { ConfigError, HubError } from '../wire/errors.ts'
import { newId } from '../wire/ids.ts'
import { makeKeys } from '../wire/keys.ts'
import { RedisClock } from '../wire/redis-clock.ts'
import { type Crew, makeCrew } from './crew.ts'
import { Executor } from './executor.ts'
import { checkHooks, runOnce, type WorkerHooks, watchLastWords } from './hooks.ts'
import { Measures } from './measures.ts'
import { makeNestedCalls } from './nested.ts'
import { Slots } from './slots.ts'

export type WorkerOptions = Partial<Omit<Settings, 'name'>> &
  WorkerHooks & {
    /** What this worker runs, as defineTask returned it. */
    // biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results go together here
    tasks: readonly Task<any, any>[]
  }

/** How long start() waits for Redis, and stop() for the last confirmations. */
const patienceMs = 2000

/**
 * Serves one queue with a fixed number of slots, over two connections. It owns identity and life: start and stop order;
 * what is done in between is the crew's, role by role.
 */
export class Worker {
  readonly events: Events = new Events()
  readonly #crew: Crew
  readonly #nested: ReturnType<typeof makeNestedCalls>
  readonly #tracing: Tracing | undefined
  readonly #subscriptions: (() => void | Promise<void>)[]
  readonly #guards: Guards
  readonly #hooks: WorkerHooks
  #endWatch: (() => void) | undefined
  readonly #graceOver = new AbortController()
  #id = newId()
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  /** Redis may have something of this worker: a lease, cards, requests that it holds. */
  #isKnown = false
  #stopped: Promise<void> | undefined

  /** @throws ConfigError */
  constructor(options: WorkerOptions) {
    const { events } = this
    const { tasks: given, onStart, lastWords, ...own } = options
    this.#hooks = { onStart, lastWords }
    checkHooks(this.#hooks)
    const settings = readSettings('worker', { options: own, env: process.env })
    const tasks = checkTasks(given)
    const { statsd, slots: size, jobSlots = Math.ceil(size / 2) } = settings
    if (jobSlots > size) throw new ConfigError(`jobSlots is ${jobSlots}, but this worker has ${size} slots in all.`)
    const logger = makeLogger(settings)
    this.#subscriptions = [subscribeLog(events, logger)]
    if (statsd !== undefined) this.#subscriptions.push(subscribeStatsd(events, { ...settings, statsd }))
    const { commands, blocking } = makeConnections('worker', settings.redis, events)
    const slots = new Slots(size, jobSlots)
    events.on('redis:up', () => slots.onReconnected())
    const tracing = makeTracing(settings.tracing)
    this.#tracing = tracing
    this.#nested = makeNestedCalls(settings, tracing)
    const pulse = new Pulse([...tasks.keys()])
    const keys = makeKeys(settings.namespace)
    const queue = new Queue(settings.queue, keys)
    this.#guards = new RedisGuards(commands, keys)
    const clock = new RedisClock()
    this.#crew = makeCrew({
      settings,
      tasks,
      queue,
      jobQueue: new JobQueue(settings.queue, keys),
      commands,
      waiting: blocking,
      slots,
      executor: new Executor({
        tasks,
        pulse,
        maxPayloadBytes: settings.maxPayloadBytes,
        log: (task, id) => taskLog(logger, task, id),
        startSpan: tracing && ((request, queueMs) => tracing.startRun(request, settings.queue, queueMs)),
        nestedCall: this.#nested.call,
      }),
      pulse,
      blockedLines: blockedLines(logger),
      registrar: new Registrar({ keys, queue, tasks: [...tasks.values()], settings, events }),
      clock,
      measures: new Measures({ queueName: queue.name, slots, clock, events }),
      events,
      workerId: () => this.#id,
      becomeNew: () => this.#becomeNew(),
      isServing: () => this.#state === 'running',
    })
  }

  /**
   * Puts something around the handlers of all tasks, for calls and jobs: what was given first is outermost.
   *
   * @param middleware `next => async (request, ctx) => { ...; return next(request, ctx) }`
   * @throws ConfigError once the worker was started
   */
  use(middleware: TaskMiddleware): void {
    if (this.#state !== 'new') throw new ConfigError('use() comes before start().')
    this.#crew.executor.use(next => middleware(next, this.#guards))
  }

  /** Changes when the lease was lost. */
  get id(): string {
    return this.#id
  }

  /** Requests that run now. */
  get busy(): number {
    return this.#crew.slots.busy
  }

  /** What it is doing now: its runs, for how long, and what each was seen doing last. */
  look(): WorkerLook {
    return this.#crew.show.look()
  }

  /**
   * Starts serving. Resolves when the worker is registered, or after two seconds while Redis is away: it goes on trying, and
   * what it finds unfit then is a `problem` event, and not served until it is fit.
   * @throws StartFailed when `onStart` fails
   * @throws ConfigError when this Redis cannot keep the promises (too old, a replica, evicting, without needed rights)
   */
  start(): Promise<void> {
    return this.#tracing ? this.#tracing.detached(() => this.#start()) : this.#start()
  }

  async #start(): Promise<void> {
    if (this.#state !== 'new') throw new ConfigError('A worker is started once; make a new one.')
    this.#state = 'running'
    const { onStart, lastWords } = this.#hooks
    if (onStart) await this.#runHook(onStart)
    // stop() may have been called meanwhile.
    if (this.#state !== 'running') return
    if (lastWords) this.#endWatch = watchLastWords(lastWords)
    const { waiting, commands, inspect, beat, settings, slots, tasks } = this.#crew
    waiting.open()
    commands.open()
    await commands.whenReady(signalAfter(patienceMs))
    // stop() may have been called meanwhile.
    if (this.#state !== 'running') return
    const unfit = await inspect.look()
    if (this.#state !== 'running') return
    if (unfit?.length) {
      await Promise.all([waiting.close(), commands.close()])
      this.#state = 'stopped'
      throw unfitError(unfit)
    }
    if (unfit) {
      this.#isKnown = true
      await beat.beatNow()
      this.#serve()
    } else void inspect.untilFit().then(() => this.#serve())
    if (this.#state !== 'running') return
    this.events.emit('worker:started', {
      worker: this.#id,
      queue: settings.queue,
      slots: slots.size,
      tasks: [...tasks.keys()],
    })
  }

  async #runHook(onStart: () => unknown): Promise<void> {
    try {
      await runOnce(onStart)
    } catch (error) {
      this.#state = 'stopped'
      throw error
    }
  }

  #serve(): void {
    // stop() may have been called meanwhile.
    if (this.#state !== 'running') return
    this.#isKnown = true
    const { measures, pulse, queue, beat, fetch, keepalive, inspect } = this.#crew
    measures.loop.start(ms => {
      const tasks = pulse.tick()
      if (!tasks) return
      this.events.emit('loop:blocked', { worker: this.#id, queue: queue.name, tasks, ms: Math.round(ms) })
    })
    beat.start()
    fetch.start()
    keepalive.start()
    void inspect.watch()
  }

  /**
   * Stops taking work, lets what runs finish for `graceMs` (default: the setting, 10 s), puts the rest back, and says
   * goodbye to the registry. Never rejects. A second call may shorten the grace of the first.
   */
  stop(options: { graceMs?: number } = {}): Promise<void> {
    const graceMs = options.graceMs ?? this.#crew.settings.graceMs
    const timer = setTimeout(() => this.#graceOver.abort(), graceMs)
    this.#stopped ??= this.#shutDown().catch(error =>
      this.events.emit('problem', { where: 'stop', reason: error.message }),
    )
    return this.#stopped.finally(() => clearTimeout(timer))
  }

  async #shutDown(): Promise<void> {
    const { intake, settle, fetch, beat, keepalive, adopt, due, tick, forward, farewell, inspect } = this.#crew
    const { commands, waiting, executor, measures, queue } = this.#crew
    this.#state = 'stopping'
    inspect.stop()
    const announced = this.#isKnown ? farewell.announce() : undefined
    fetch.stop()
    await waiting.close()
    await fetch.settled()
    await announced
    let handedBack = this.#isKnown ? await farewell.handBackUnknown() : 0
    await within(intake.idle(), Number.POSITIVE_INFINITY, this.#graceOver.signal)
    const abandoned = executor.abandonAll(
      new HubError('WorkerLost', 'The worker was stopped before the task had finished.'),
    )
    await within(
      intake
        .idle()
        .then(() => settle.drained())
        .then(() => forward.drained()),
      patienceMs,
    )
    settle.stop()
    forward.stop()
    // Not before nothing runs any more: what runs may block the loop until its end.
    await Promise.all([beat.stop(), keepalive.stop(), adopt.stop(), due.stop(), tick.stop()])
    if (this.#isKnown) handedBack += await farewell.leave()
    executor.stop()
    measures.loop.stop()
    await Promise.all([commands.close(), this.#nested.close()])
    this.#state = 'stopped'
    this.#endWatch?.()
    this.events.emit('worker:stopped', { worker: this.#id, queue: queue.name, handedBack, abandoned })
    await Promise.all(this.#subscriptions.map(end => end()))
  }

  /** The lease was lost: others own what we held. What runs is aborted and settles nothing; we go on as somebody new. */
  #becomeNew(): void {
    const { executor, slots, queue } = this.#crew
    const worker = this.#id
    this.#id = newId()
    const aborted = executor.abandonAll(new HubError('WorkerLost', 'The lease of the worker ended.'))
    slots.reset()
    this.events.emit('lease:lost', { worker, queue: queue.name, aborted })
  }
}
