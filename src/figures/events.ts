import type { QueueFigures } from '../wire/answers.ts'
import { type CallOutcome, messageOf } from '../wire/errors.ts'
import type { UnreadableRecord } from '../wire/foreign.ts'
import type { CallPhases, Phases } from '../wire/phases.ts'

/** Everything that can be observed, and what each event carries. Subscribers turn these into logs and metrics. */
export interface EventMap {
  /**
   * A call came to its end in the hub. `ms` is the caller's whole wait, `us` its parts where a worker told them. One that was
   * rejected before there was a request, for its arguments or for want of workers, has no `id`, and `task` as it was called.
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
   * With each beat: what the worker's process is doing, so that a graph has a point also while nobody calls. The delays
   * are how late timers were since the last beat.
   */
  'worker:beat': {
    worker: string
    queue: string
    slots: number
    busy: number
    loopDelayMs: { mean: number; max: number }
  }
  /**
   * With each beat of the one worker that reports its queue: the list as Redis has it, also while it is empty.
   * `oldestMs` is undefined when the first request carries no time. A worker without listeners for this never reports.
   */
  'queue:measured': { queue: string } & QueueFigures
  /**
   * The worker learnt, from a beat, that its queue is paused since `pausedMs` (Redis milliseconds): it takes nothing more and
   * finishes what it holds.
   */
  'queue:paused': { worker: string; queue: string; pausedMs: number }
  /** The pause is over; the worker takes requests again. */
  'queue:resumed': { worker: string; queue: string }
  /** A reply came for a call that is settled already. */
  'reply:late': { id: string }
  /** A batch of requests was enqueued; `length` is the backlog found there. */
  'queue:pushed': { queue: string; count: number; rejected: number; length: number; repeated: boolean }
  /** Jobs were enqueued; `twins` were not, because others of their uniqueness were there already. */
  'jobs:enqueued': { queue: string; count: number; twins: number }
  /** A schema of the registry is beyond the bounds or cannot be compiled; the worker alone judges the arguments. */
  'schema:unused': { task: string; reason: string }
  /**
   * The worker's queue is a further one of the task: another queue had it first and has live workers for it, so hubs call these.
   * Told once for each identity and task.
   */
  'task:elsewhere': { task: string; queue: string; first: string }
  /** Something in Redis is not what its key is for, or not what a worker writes there; it counts as absent. Told once. */
  'registry:unreadable': UnreadableRecord
  /** Live workers declare the same task with different schemas. */
  'task:conflict': { task: string; queue: string; other: string }
  /** Requests were claimed. `left` still wait; `expired` were dropped, because their time was up or too short. */
  'claim:taken': { queue: string; count: number; left: number; expired: number }
  /** A request came to its end in the worker. */
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
    /** How long a job waited for its key before that, microseconds; undefined for one without. */
    keyUs: number | undefined
    /** Nobody waited for it; `us.backlog` then is how long it has been due. */
    isJob: boolean
  }
  /** A request was claimed whose time was up, where the claim could not see that; it was not started. */
  'request:expired': { queue: string; task: string; id: string }
  /** A list element that is not a request; it was dropped. */
  'request:malformed': { queue: string; reason: string }
  /** A request for a task that only another worker of this queue has; it was put back. */
  'request:handedback': { queue: string; task: string; count: number }
  /** A request without a deadline for a task that no live worker of the queue provides; it was ended with this code. */
  'request:unserved': { queue: string; task: string; code: string; answered: boolean }
  /** A job failed for the `attempt`-th time, and is tried again after `delayMs`. */
  'job:retried': { queue: string; task: string; id: string; attempt: number; delayMs: number; code: string }
  /** It was not the time for a job: it goes back to wait for `delayMs`, and that counts as no try. */
  'job:putoff': { queue: string; task: string; id: string; delayMs: number; reason: string }
  /** A job that failed too often, that nobody can run, or that lost too many workers, is kept with the dead ones. */
  'job:dead': { queue: string; task: string; id: string; reason: string }
  /** The time of a schedule came: its job was enqueued, or passed over because that time was missed. */
  'schedule:tick': { queue: string; name: string; task: string; tickMs: number; isSkipped: boolean }
  /** A worker is registered in a queue for the first time: calls find it from now on. While Redis is away that may be long after `start()`. */
  'worker:started': { worker: string; queue: string; slots: number; tasks: string[]; build: string | undefined }
  'worker:stopped': { worker: string; queue: string; handedBack: number; abandoned: number }
  /** The worker's lease ended without it; what it ran is aborted and it goes on under a new id. */
  'lease:lost': { worker: string; queue: string; aborted: number }
  /**
   * The event loop of the worker's process stood still for `ms`, more than a second, and goes on now. `tasks`: the one
   * whose handler did not return; after its first await several come into question, and these are all that ran then.
   * None: it was something else in this process.
   */
  'loop:blocked': { worker: string; queue: string; tasks: string[]; ms: number }
  /** Another worker's lease ended, and this one took over what it held. */
  'worker:lost': { worker: string; queue: string; adopted: number; by: string }
  /** An idempotent request of a lost worker, or a job, went back to its list; `losses` workers have died holding it. */
  'request:redelivered': { queue: string; task: string; id: string; losses: number }
  /** A failed try is followed by another one, under a new id. */
  'call:retried': { task: string; id: string; nextId: string; code: string }
  /** A caller gave up: its request was removed from the list, or the worker that runs it was told. */
  'call:cancelled': { task: string; id: string; removed: boolean }
  'redis:up': { role: string }
  'redis:down': { role: string; reason: string }
  /** Something failed that no caller will hear of. */
  problem: { where: string; reason: string }
}

/** The names of events, for `events.on`. */
export type EventName = keyof EventMap
/** May be async; what it throws or rejects with is its own affair. */
export type Listener<E extends EventName> = (event: EventMap[E]) => unknown

/**
 * Typed events. A listener that throws, or is async and rejects, hurts nobody: it is told of once, as a `problem`. An
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

  /** Tells those who listen, in the order in which they came. */
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
