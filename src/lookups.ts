import { monotonicMs, sleep } from './clock.ts'
import { Deadlines, type Timed } from './deadlines.ts'
import { HubError, messageOf } from './errors.ts'
import { type Connection, isRefusal } from './redis.ts'
import { explained } from './refusals.ts'
import type { Resolver, Route } from './resolver.ts'

export interface LookupsOptions {
  resolver: Resolver
  connection: Connection
  closing: AbortSignal
}

/** One name that is looked up, and the calls that wait for it. */
interface Lookup {
  readonly called: string
  readonly waiting: Set<Waiter>
  /** Why the last try failed. */
  setback: string | undefined
}

const retryMs = 10

/**
 * Calls that wait to learn where their task runs: the first ones of a name, or all while Redis is away. However many wait
 * for a name, it is asked for once at a time, again and again until there is an answer or the last of them gave up.
 */
export class Lookups {
  readonly #options: LookupsOptions
  readonly #lookups = new Map<string, Lookup>()
  readonly #deadlines = new Deadlines()

  constructor(options: LookupsOptions) {
    this.#options = options
  }

  /**
   * @param deadline monotonic milliseconds
   * @throws HubError NoSuchTask, NoWorkers, NotEnqueued when Redis could not be asked, HubClosed, Aborted
   */
  find(called: string, deadline: number, signal: AbortSignal | undefined): Promise<Route> {
    let lookup = this.#lookups.get(called)
    const isNew = lookup === undefined
    lookup ??= { called, waiting: new Set(), setback: undefined }
    this.#lookups.set(called, lookup)
    const found = new Promise<Route>((resolve, reject) => {
      const waiter = new Waiter(lookup, deadline, signal, resolve, reject, () => this.#lateness(lookup))
      lookup.waiting.add(waiter)
      this.#deadlines.add(waiter)
    })
    if (isNew) void this.#ask(lookup)
    return found
  }

  stop(): void {
    for (const lookup of this.#lookups.values()) {
      this.#settle(lookup, waiter => waiter.reject(new HubError('HubClosed', undefined, { task: lookup.called })))
    }
    this.#deadlines.stop()
  }

  async #ask(lookup: Lookup): Promise<void> {
    const { resolver, connection, closing } = this.#options
    const { called } = lookup
    while (lookup.waiting.size > 0 && !closing.aborted) {
      await connection.whenReady(closing)
      if (closing.aborted) break
      try {
        const route = await resolver.resolve(called)
        return this.#settle(lookup, waiter => waiter.resolve(route))
      } catch (error) {
        lookup.setback = messageOf(error)
        const final = error instanceof HubError ? error : isRefusal(error) ? unasked(called, lookup.setback) : undefined
        if (final) return this.#settle(lookup, waiter => waiter.reject(final))
        await sleep(retryMs, closing)
      }
    }
    this.#lookups.delete(called)
  }

  #settle(lookup: Lookup, how: (waiter: Waiter) => void): void {
    // Now and not a moment later: who comes next would join a lookup that is over.
    this.#lookups.delete(lookup.called)
    for (const waiter of lookup.waiting) {
      waiter.end()
      this.#deadlines.delete(waiter)
      how(waiter)
    }
  }

  /** What a call is told whose time is up: however old a route is, it is better than none while Redis is away. */
  #lateness({ called, setback }: Lookup): Route | HubError {
    const { resolver, connection } = this.#options
    const reason = connection.downReason?.message ?? setback ?? 'no answer in time'
    return resolver.lastKnown(called) ?? unasked(called, reason)
  }
}

class Waiter implements Timed {
  readonly deadline: number
  readonly resolve: (route: Route) => void
  readonly reject: (error: HubError) => void
  readonly #lookup: Lookup
  readonly #signal: AbortSignal | undefined
  readonly #lateness: () => Route | HubError

  constructor(
    lookup: Lookup,
    deadline: number,
    signal: AbortSignal | undefined,
    resolve: (route: Route) => void,
    reject: (error: HubError) => void,
    lateness: () => Route | HubError,
  ) {
    this.deadline = Math.max(deadline, monotonicMs())
    this.resolve = resolve
    this.reject = reject
    this.#lookup = lookup
    this.#signal = signal
    this.#lateness = lateness
    signal?.addEventListener('abort', this, { once: true })
  }

  end(): void {
    this.#lookup.waiting.delete(this)
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
    const { called } = this.#lookup
    const message = `The caller gave up before ${called} was sent.`
    this.reject(new HubError('Aborted', message, { task: called, cause: this.#signal?.reason }))
  }
}

const unasked = (called: string, reason: string): HubError =>
  new HubError('NotEnqueued', `Redis could not be asked where ${called} runs: ${explained(reason)}.`, { task: called })
