import { monotonicMs, sleep } from './clock.ts'
import { Deadlines, type Timed } from './deadlines.ts'
import { HubError, messageOf } from './errors.ts'
import { type Connection, isRefusal } from './redis.ts'
import { explained } from './refusals.ts'
import type { Resolver, Route } from './resolver.ts'

export interface RoutesOptions {
  resolver: Resolver
  connection: Connection
  closing: AbortSignal
}

/** A name as it is called, wherever it runs or in one queue, with what is known of it and the calls that wait to know. */
interface Entry {
  readonly called: string
  readonly queue: string | undefined
  route: Route | undefined
  /** Why there is none. */
  miss: HubError | undefined
  lookedAt: number
  look: Promise<void> | undefined
  readonly waiting: Set<Waiter>
  isAsked: boolean
  /** Why the last try to ask failed. */
  setback: string | undefined
}

/**
 * A route is used without asking again for this long, and a little longer while a fresh one is under way. Calls go to a
 * queue whose last worker drains or died for `staleMs` at most.
 */
const freshMs = 1000
export const staleMs = 2000
/** Unknown names are looked up at most this often. */
const missMs = 100
const retryMs = 10
const maxEntries = 10_000

/**
 * Where tasks run, as far as it is known. What is known is used at once and renewed behind the call; calls only wait where a
 * name is new, or while Redis is away. However many wait for one, it is asked for once at a time, again and again until there
 * is an answer or the last of them gave up.
 */
export class Routes {
  readonly #options: RoutesOptions
  readonly #entries = new Map<string, Entry>()
  readonly #asked = new Set<Entry>()
  readonly #deadlines = new Deadlines()

  constructor(options: RoutesOptions) {
    this.#options = options
  }

  /** The route when it is known well enough to use at once. */
  known(called: string, queue: string | undefined): Route | undefined {
    const entry = this.#entries.get(keyOf(called, queue))
    if (!entry?.route) return undefined
    const age = monotonicMs() - entry.lookedAt
    if (age > freshMs) {
      if (age > staleMs) return undefined
      this.#look(entry).catch(() => undefined)
    }
    return entry.route
  }

  /**
   * @param deadline monotonic milliseconds
   * @throws HubError NoSuchTask, NoWorkers, NotEnqueued when Redis could not be asked, HubClosed, Aborted
   */
  find(called: string, queue: string | undefined, deadline: number, signal: AbortSignal | undefined): Promise<Route> {
    const entry = this.#entryOf(called, queue)
    if (entry.miss && monotonicMs() - entry.lookedAt < missMs) return Promise.reject(entry.miss)
    return new Promise<Route>((resolve, reject) => {
      const waiter = new Waiter(entry, deadline, signal, resolve, reject, () => this.#lateness(entry))
      entry.waiting.add(waiter)
      this.#deadlines.add(waiter)
      if (!entry.isAsked) void this.#ask(entry)
    })
  }

  stop(): void {
    for (const entry of this.#asked)
      this.#settle(entry, waiter => waiter.reject(new HubError('HubClosed', undefined, { task: entry.called })))
    this.#deadlines.stop()
  }

  #entryOf(called: string, queue: string | undefined): Entry {
    const key = keyOf(called, queue)
    let entry = this.#entries.get(key)
    if (!entry) {
      const unknown = { route: undefined, miss: undefined, lookedAt: 0, look: undefined, setback: undefined }
      entry = { called, queue, ...unknown, waiting: new Set(), isAsked: false }
      if (this.#entries.size >= maxEntries) this.#entries.clear()
      this.#entries.set(key, entry)
    }
    return entry
  }

  async #ask(entry: Entry): Promise<void> {
    const { connection, closing } = this.#options
    entry.isAsked = true
    this.#asked.add(entry)
    while (entry.waiting.size > 0 && !closing.aborted) {
      await connection.whenReady(closing)
      if (closing.aborted) break
      try {
        await this.#look(entry)
        this.#settle(entry, waiter => waiter.resolve(entry.route!))
      } catch (error) {
        const setback = messageOf(error)
        entry.setback = setback
        const final = error instanceof HubError ? error : isRefusal(error) ? unasked(entry.called, setback) : undefined
        if (final) this.#settle(entry, waiter => waiter.reject(final))
        else await sleep(retryMs, closing)
      }
    }
    entry.isAsked = false
    this.#asked.delete(entry)
  }

  /** Looks the name up, once at a time. */
  #look(entry: Entry): Promise<void> {
    entry.look ??= this.#options.resolver
      .resolve(entry.called, entry.queue)
      .then(
        route => {
          entry.route = route
          entry.miss = undefined
          entry.lookedAt = monotonicMs()
        },
        error => {
          if (error instanceof HubError) {
            entry.route = undefined
            entry.miss = error
            entry.lookedAt = monotonicMs()
          }
          throw error
        },
      )
      .finally(() => {
        entry.look = undefined
      })
    return entry.look
  }

  #settle(entry: Entry, how: (waiter: Waiter) => void): void {
    for (const waiter of entry.waiting) {
      waiter.end()
      this.#deadlines.delete(waiter)
      how(waiter)
    }
  }

  /** What a call is told whose time is up: however old a route is, it is better than none while Redis is away. */
  #lateness({ called, route, setback }: Entry): Route | HubError {
    const reason = this.#options.connection.downReason?.message ?? setback ?? 'no answer in time'
    return route ?? unasked(called, reason)
  }
}

class Waiter implements Timed {
  readonly deadline: number
  readonly resolve: (route: Route) => void
  readonly reject: (error: HubError) => void
  readonly #entry: Entry
  readonly #signal: AbortSignal | undefined
  readonly #lateness: () => Route | HubError

  constructor(
    entry: Entry,
    deadline: number,
    signal: AbortSignal | undefined,
    resolve: (route: Route) => void,
    reject: (error: HubError) => void,
    lateness: () => Route | HubError,
  ) {
    this.deadline = Math.max(deadline, monotonicMs())
    this.resolve = resolve
    this.reject = reject
    this.#entry = entry
    this.#signal = signal
    this.#lateness = lateness
    signal?.addEventListener('abort', this, { once: true })
  }

  end(): void {
    this.#entry.waiting.delete(this)
    this.#signal?.removeEventListener('abort', this)
  }

  expire(): void {
    this.end()
    const outcome = this.#lateness()
    if (outcome instanceof HubError) this.reject(outcome)
    else this.resolve(outcome)
  }

  /** The caller's signal fired. */
  handleEvent(): void {
    this.end()
    const { called } = this.#entry
    const message = `The caller gave up before ${called} was sent.`
    this.reject(new HubError('Aborted', message, { task: called, cause: this.#signal?.reason }))
  }
}

const unasked = (called: string, reason: string): HubError =>
  new HubError('NotEnqueued', `Redis could not be asked where ${called} runs: ${explained(reason)}.`, { task: called })

/** No name of a task has a line break, so nothing that is called is taken for a task in a queue. */
const keyOf = (called: string, queue: string | undefined): string =>
  queue === undefined ? called : `${queue}\n${called}`
