import type { Connection } from '../redis/connection.ts'
import { isRefusal } from '../redis/failures.ts'
import { explained } from '../redis/refusals.ts'
import { monotonicMs, onAbort, sleep } from '../wire/clock.ts'
import { HubError, messageOf } from '../wire/errors.ts'
import { clearTimeout, setTimeout } from '../wire/timers.ts'
import type { Purpose, Resolver, Route } from './resolver.ts'

export interface RoutesOptions {
  resolver: Resolver
  connection: Connection
  closing: AbortSignal
}

/** A name as it is called, wherever it runs or in one queue, with what is known of it and the calls that wait to know. */
interface Entry {
  readonly purpose: Purpose
  readonly called: string
  readonly queue: string | undefined
  route: Route | undefined
  /** Why there is none. */
  miss: HubError | undefined
  lookedAt: number
  /** Resolves with whether there was an answer. */
  look: Promise<boolean> | undefined
  /** Each ends the wait of one call, with what is known then. */
  readonly waiting: Set<() => void>
  /** Why the last look brought no answer. */
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
const lookAgainMs = 100
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

  constructor(options: RoutesOptions) {
    this.#options = options
  }

  /** The route when it is known well enough to use at once. */
  known(called: string, queue: string | undefined, purpose: Purpose = 'hub'): Route | undefined {
    const entry = this.#entries.get(keyOf(called, queue, purpose))
    if (!entry?.route) return undefined
    const age = monotonicMs() - entry.lookedAt
    if (age > freshMs) {
      if (age > staleMs) return undefined
      void this.#look(entry)
    }
    return entry.route
  }

  /**
   * @param deadline monotonic milliseconds: until when to wait while Redis is away
   * @param latest the same while nothing says so: then Redis, or this process, is slow. A connection that stays silent is given up, and says so.
   * @throws HubError NoSuchTask, NoWorkers, NotEnqueued when Redis could not be asked, HubClosed, Aborted
   */
  find(
    called: string,
    queue: string | undefined,
    deadline: number,
    signal: AbortSignal | undefined,
    purpose: Purpose = 'hub',
    latest: number = deadline,
  ): Promise<Route> {
    const entry = this.#entryOf(called, queue, purpose)
    const now = monotonicMs()
    if (entry.miss && now - entry.lookedAt < missMs) return Promise.reject(entry.miss)
    entry.miss = undefined
    return new Promise<Route>((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        entry.waiting.delete(end)
        const outcome = this.#outcome(entry, signal)
        if (outcome instanceof HubError) reject(outcome)
        else resolve(outcome)
      }
      const expire = () => {
        const leftMs = latest - monotonicMs()
        const isAway = this.#options.connection.downReason !== undefined || entry.setback !== undefined
        if (entry.waiting.has(end) && leftMs > 0 && !isAway && !entry.route) waitFor(Math.min(leftMs, lookAgainMs))
        else end()
      }
      let timer: NodeJS.Timeout
      // What came in time may lie unread in a socket: after a pause of the process timers run before anything is read.
      const waitFor = (ms: number) => {
        timer = setTimeout(() => setImmediate(expire), Math.ceil(ms))
      }
      waitFor(deadline - now)
      if (signal) onAbort(signal, end)
      entry.waiting.add(end)
      if (!this.#asked.has(entry)) void this.#ask(entry)
    })
  }

  /** Ends all waits, once `closing` has fired. */
  stop(): void {
    for (const { waiting } of this.#asked) for (const end of waiting) end()
  }

  #entryOf(called: string, queue: string | undefined, purpose: Purpose): Entry {
    const key = keyOf(called, queue, purpose)
    let entry = this.#entries.get(key)
    if (!entry) {
      const unknown = { route: undefined, miss: undefined, lookedAt: 0, look: undefined, setback: undefined }
      entry = { purpose, called, queue, ...unknown, waiting: new Set() }
      if (this.#entries.size >= maxEntries) this.#entries.clear()
      this.#entries.set(key, entry)
    }
    return entry
  }

  async #ask(entry: Entry): Promise<void> {
    const { connection, closing } = this.#options
    this.#asked.add(entry)
    while (entry.waiting.size > 0) {
      await connection.whenReady(closing)
      if (await this.#look(entry)) break
      await sleep(retryMs, closing)
    }
    this.#asked.delete(entry)
    for (const end of entry.waiting) end()
  }

  /** Looks the name up, once at a time. */
  #look(entry: Entry): Promise<boolean> {
    entry.look ??= this.#lookUp(entry)
    return entry.look
  }

  async #lookUp(entry: Entry): Promise<boolean> {
    const { called, queue, purpose } = entry
    // What it reads first is as old as this when the last answer comes.
    const startedAt = monotonicMs()
    try {
      entry.route = await this.#options.resolver.resolve(called, queue, purpose)
      entry.miss = undefined
      entry.setback = undefined
    } catch (error) {
      if (!(error instanceof HubError)) {
        entry.setback = messageOf(error)
        // Only for the calls that wait: what is known of the name is as good as before.
        if (isRefusal(error)) entry.miss = unasked(called, entry.setback)
        return isRefusal(error)
      }
      entry.route = undefined
      entry.miss = error
    } finally {
      entry.look = undefined
    }
    entry.lookedAt = startedAt
    return true
  }

  /** What a call is told whose wait has ended: however old a route is, it is better than none while Redis is away. */
  #outcome({ called, route, miss, setback }: Entry, signal: AbortSignal | undefined): Route | HubError {
    const { closing, connection } = this.#options
    if (closing.aborted) return new HubError('HubClosed', undefined, { task: called })
    if (signal?.aborted) {
      const message = `The caller stopped waiting before ${called} was sent.`
      return new HubError('Aborted', message, { task: called, ran: 'no', cause: signal.reason })
    }
    return miss ?? route ?? unasked(called, connection.downReason?.message ?? setback ?? 'no answer in time')
  }
}

const unasked = (called: string, reason: string): HubError =>
  new HubError('NotEnqueued', `The hub could not look up ${called} in Redis: ${explained(reason)}.`, { task: called })

/** No name of a task has a line break, so nothing that is called is taken for a task in a queue. */
const keyOf = (called: string, queue: string | undefined, purpose: Purpose): string =>
  queue === undefined && purpose === 'hub' ? called : `${purpose}\n${queue ?? ''}\n${called}`
