import type { QueueFigures } from '../wire/answers.ts'
import { type CallOutcome, messageOf } from '../wire/errors.ts'
import type { UnreadableRecord } from '../wire/foreign.ts'
import type { CallPhases, Phases } from '../wire/phases.ts'

/** All events and their data. Subscribers turn them into logs and metrics. */
export interface EventMap {
  /**
   * A call ended in the hub. `ms` is the whole wait of the caller, `us` its parts if a worker reported them. A call
   * that was rejected before a request existed, for its arguments or because there are no workers, has no `id`, and
   * `task` as named by the caller.
   */
  'call:settled': {
    task: string
    id: string | undefined
    ok: boolean
    outcome: CallOutcome
    code: string | undefined
    ms: number
    us: CallPhases | undefined
  }
  /**
   * With each heartbeat: the load of the worker's process, so that a graph has points even without calls. The delays
   * are those of timers since the last heartbeat.
   */
  'worker:beat': {
    worker: string
    queue: string
    slots: number
    busy: number
    loopDelayMs: { mean: number; max: number }
  }
  /**
   * With each heartbeat of the worker that reports its queue: the state of the queue in Redis, even if it is empty.
   * `oldestMs` is undefined if the first request has no time. A worker without listeners for this event never reports.
   */
  'queue:measured': { queue: string } & QueueFigures
  /**
   * The worker learned from a heartbeat that its queue is paused since `pausedMs` (Redis milliseconds): it claims
   * nothing more and finishes its running requests.
   */
  'queue:paused': { worker: string; queue: string; pausedMs: number }
  /** The queue was resumed; the worker claims requests again. */
  'queue:resumed': { worker: string; queue: string }
  /** A reply came for a call that had already settled. */
  'reply:late': { id: string }
  /** A batch of requests was enqueued; `length` is the backlog found there. */
  'queue:pushed': { queue: string; count: number; rejected: number; length: number; repeated: boolean }
  /** Jobs were enqueued; `twins` were duplicates of existing jobs and were not. */
  'jobs:enqueued': { queue: string; count: number; twins: number }
  /** A schema of the registry is too large or invalid; only the worker checks the arguments. */
  'schema:unused': { task: string; reason: string }
  /**
   * The worker's queue is not the first queue of the task: another queue had it first and has live workers, so hubs
   * call that one. Emitted once per identity and task.
   */
  'task:elsewhere': { task: string; queue: string; first: string }
  /** A record in Redis has the wrong type or an invalid value and is ignored. Emitted once. */
  'registry:unreadable': UnreadableRecord
  /** Live workers declare the same task with different schemas. */
  'task:conflict': { task: string; queue: string; other: string }
  /** Requests were claimed. `left` still wait; `expired` were dropped, because their deadlines had passed or were too close. */
  'claim:taken': { queue: string; count: number; left: number; expired: number }
  /** A request ended in the worker. */
  'task:settled': {
    task: string
    queue: string
    id: string
    ok: boolean
    outcome: CallOutcome
    code: string | undefined
    message: string | undefined
    /** What the handler threw. */
    thrown: unknown
    us: Phases
    /** How long a job waited for its key before that, in microseconds; undefined without a key. */
    keyUs: number | undefined
    /** It is a job; then `us.backlog` is how long it has been due. */
    isJob: boolean
  }
  /** A claimed request had expired before the claim could see it; it was not started. */
  'request:expired': { queue: string; task: string; id: string }
  /** A list element that is not a request; it was dropped. */
  'request:malformed': { queue: string; reason: string }
  /** A request whose task only another worker of this queue has; it returned to the queue. */
  'request:handedback': { queue: string; task: string; count: number }
  /** A request without a deadline for a task without live workers in the queue; it ended with this code. */
  'request:unserved': { queue: string; task: string; code: string; answered: boolean }
  /** A job failed for the `attempt`-th time and will be retried after `delayMs`. */
  'job:retried': { queue: string; task: string; id: string; attempt: number; delayMs: number; code: string }
  /** A job was delayed: it waits for `delayMs`, which does not count as a try. */
  'job:putoff': { queue: string; task: string; id: string; delayMs: number; reason: string }
  /** A job is dead: it failed too often, nobody can run it, or it lost too many workers. */
  'job:dead': { queue: string; task: string; id: string; reason: string }
  /** A schedule was due: its job was enqueued, or skipped because its time was missed. */
  'schedule:tick': { queue: string; name: string; task: string; tickMs: number; isSkipped: boolean }
  /**
   * A worker is registered in a queue for the first time: calls find it from now on. While Redis is unreachable, this
   * may be long after `start()`.
   */
  'worker:started': { worker: string; queue: string; slots: number; tasks: string[]; build: string | undefined }
  'worker:stopped': { worker: string; queue: string; handedBack: number; abandoned: number }
  /** The worker's lease expired; its runs are aborted and it continues under a new id. */
  'lease:lost': { worker: string; queue: string; aborted: number }
  /**
   * The event loop of the worker's process was blocked for `ms`, more than a second, and runs again. `tasks`: the task
   * whose handler did not return; after its first await several are possible, and these are all that ran then. Empty:
   * something else in this process blocked it.
   */
  'loop:blocked': { worker: string; queue: string; tasks: string[]; ms: number }
  /** Another worker's lease expired, and this worker took over its requests. */
  'worker:lost': { worker: string; queue: string; adopted: number; by: string }
  /** An idempotent request of a lost worker, or a job, returned to its queue; `losses` workers have crashed while they held it. */
  'request:redelivered': { queue: string; task: string; id: string; losses: number }
  /** A failed call is retried under a new id. */
  'call:retried': { task: string; id: string; nextId: string; code: string }
  /** A caller cancelled: its request was removed from the queue, or its worker was notified. */
  'call:cancelled': { task: string; id: string; removed: boolean }
  'redis:up': { role: string }
  'redis:down': { role: string; reason: string }
  /** Something failed that affects no particular caller. */
  problem: { where: string; reason: string }
}

/** The names of events, for `events.on`. */
export type EventName = keyof EventMap
/** May be async; its errors do not affect pshub. */
export type Listener<E extends EventName> = (event: EventMap[E]) => unknown

/**
 * Typed events. A listener that throws or rejects affects nobody else: its error is reported once, as a `problem`. An
 * event without listeners costs one look-up.
 */
export class Events {
  readonly #listeners = new Map<EventName, Set<Listener<never>>>()
  /** Those whose failure was told. */
  readonly #failing = new WeakSet<Listener<never>>()

  /** Subscribes; the returned function ends the subscription. */
  on<E extends EventName>(name: E, listener: Listener<E>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    listeners.add(listener as Listener<never>)
    this.#listeners.set(name, listeners)
    return () => listeners.delete(listener as Listener<never>)
  }

  /** Whether anybody listens for it. */
  has(name: EventName): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0
  }

  /** Calls the listeners in the order in which they subscribed. */
  emit<E extends EventName>(name: E, event: EventMap[E]): void {
    const listeners = this.#listeners.get(name)
    if (!listeners) return
    for (const listener of listeners) {
      try {
        const returned = (listener as Listener<E>)(event)
        if (returned instanceof Promise) returned.catch(error => this.#failed(name, listener, error))
      } catch (error) {
        // A subscriber's fault is its own: it must not fail a call or stop a loop.
        this.#failed(name, listener, error)
      }
    }
  }

  /** Told once, because an event may come with each call. */
  #failed(name: EventName, listener: Listener<never>, error: unknown): void {
    if (this.#failing.has(listener)) return
    this.#failing.add(listener)
    this.emit('problem', { where: 'subscriber', reason: `A listener for '${name}' failed: ${messageOf(error)}` })
  }
}
