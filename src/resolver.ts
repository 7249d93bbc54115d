import type { Catalogue } from './catalogue.ts'
import { monotonicMs } from './clock.ts'
import { HubError, messageOf } from './errors.ts'
import { isQueueName, type Keys } from './keys.ts'
import { nearNames, newestFirst, parseCalledName, type TaskName, tryParseTaskName } from './names.ts'
import { type Connection, isRefusal } from './redis.ts'
import { missingRights } from './rightscheck.ts'
import { compileForeign, UnusableSchema, type Validate } from './schema.ts'
import type { TaskCard } from './task.ts'
import type { Events } from './telemetry.ts'

/** Where a called name leads at the moment. */
export interface Route {
  task: string
  queue: string
  timeoutMs: number
  idempotent: boolean
  /** Limits that the queue's workers declare. */
  maxPayloadBytes: number
  maxBacklog: number
  /** Slots of all live workers that provide it. */
  slots: number
  /** Undefined when there is no schema or it cannot be used here. */
  checkArgs: Validate | undefined
}

interface CachedRoute {
  route: Route
  checkedAt: number
}

interface CompiledCard {
  text: string
  card: TaskCard
  /** Its schema turned out to run too long. */
  isDropped: boolean
  checkArgs: Validate | undefined
}

/**
 * A route is used without asking again for this long, and a little longer while a fresh one is under way. Calls go to a
 * queue whose last worker drains or died for `staleMs` at most.
 */
const freshMs = 1000
export const staleMs = 2000
/** Unknown names are looked up at most this often. */
const missMs = 100
const maxRoutes = 10_000

/**
 * Task name to queue, from the registry. What is known is answered at once and renewed behind the call; the registry is
 * only waited for when a name is new. Reads are bounded by what is called: the cards of that name, and the live
 * workers of its queue.
 */
export class Resolver {
  readonly #connection: Connection
  readonly #catalogue: Catalogue
  readonly #keys: Keys
  readonly #events: Events
  readonly #routes = new Map<string, CachedRoute>()
  readonly #misses = new Map<string, { error: HubError; at: number }>()
  readonly #underWay = new Map<string, Promise<Route>>()
  readonly #compiled = new Map<string, CompiledCard>()
  readonly #reported = new Set<string>()
  /** Queues where this user has all rights that a caller needs. */
  readonly #allowed = new Set<string>()

  constructor(connection: Connection, catalogue: Catalogue, keys: Keys, events: Events) {
    this.#connection = connection
    this.#catalogue = catalogue
    this.#keys = keys
    this.#events = events
  }

  /** The route when it is known well enough to use at once. */
  known(called: string): Route | undefined {
    const cached = this.#routes.get(called)
    if (!cached) return undefined
    const age = monotonicMs() - cached.checkedAt
    if (age > freshMs) {
      if (age > staleMs) return undefined
      this.resolve(called).catch(() => undefined)
    }
    return cached.route
  }

  /** The last route of the name, however old. */
  lastKnown(called: string): Route | undefined {
    return this.#routes.get(called)?.route
  }

  /** Looks the name up. Rejects with NoSuchTask, NoWorkers, or the connection's error. */
  resolve(called: string): Promise<Route> {
    const miss = this.#misses.get(called)
    if (miss && monotonicMs() - miss.at < missMs) return Promise.reject(miss.error)
    let lookup = this.#underWay.get(called)
    if (!lookup) {
      lookup = this.#lookUp(called).finally(() => this.#underWay.delete(called))
      this.#underWay.set(called, lookup)
    }
    return lookup
  }

  async #lookUp(called: string): Promise<Route> {
    try {
      const route = await this.#find(called)
      this.#bound(this.#routes)
      this.#routes.set(called, { route, checkedAt: monotonicMs() })
      this.#misses.delete(called)
      return route
    } catch (error) {
      if (error instanceof HubError) {
        this.#routes.delete(called)
        this.#bound(this.#misses)
        this.#misses.set(called, { error, at: monotonicMs() })
      }
      throw error
    }
  }

  async #find(called: string): Promise<Route> {
    const wanted = parseCalledName(called)
    if (!wanted) {
      throw new HubError(
        'NoSuchTask',
        `'${String(called).slice(0, 120)}' is not a task name. Write name:1.0, name:1 or name.`,
      )
    }
    const exact = wanted.minor !== undefined
    const names = exact ? [called] : await this.#versionsOf(wanted)
    const cards = await this.#connection.send(client => this.#catalogue.taskCards(client, names))
    if (cards.length === 0) throw await this.#noSuchTask(called, wanted.name)
    for (const name of names) {
      const card = cards.find(({ task }) => task === name)
      if (!card || !isQueueName(card.queue)) continue
      const [slots] = await Promise.all([
        this.#catalogue.slots(this.#connection, card.queue, name),
        this.#checkRights(card),
      ])
      if (slots > 0) return this.#routeOf(card, slots)
    }
    const queues = [...new Set(cards.map(card => card.queue))].join(', ')
    throw new HubError(
      'NoWorkers',
      `No live worker provides ${exact ? called : names.join(', ')}. Start one: pshub worker <module> --queue ${queues}`,
      { task: called },
    )
  }

  /** Declared versions of a name within what the caller allows, newest first. */
  async #versionsOf(wanted: { name: string; major: number | undefined }): Promise<string[]> {
    const all = await this.#connection.send(client => this.#catalogue.taskNames(client))
    return all
      .map(tryParseTaskName)
      .filter(
        (name): name is TaskName =>
          name?.name === wanted.name && (wanted.major === undefined || name.major === wanted.major),
      )
      .sort(newestFirst)
      .map(({ full }) => full)
  }

  async #noSuchTask(called: string, name: string): Promise<HubError> {
    const all = await this.#connection.send(client => this.#catalogue.taskNames(client))
    if (all.includes(called)) {
      const message = `The registry has no card of ${called} that can be read; or it came in this moment, then call again.`
      return new HubError('NoSuchTask', `${message} Workers of the task write it when they start.`, { task: called })
    }
    const versions = all.filter(full => full.startsWith(`${name}:`)).sort()
    if (versions.length > 0) {
      return new HubError('NoSuchTask', `There is no ${called}. Known versions: ${versions.join(', ')}.`, {
        task: called,
      })
    }
    const near = nearNames(called, all)
    const hint =
      near.length > 0
        ? `Did you mean ${near.join(' or ')}?`
        : all.length > 0
          ? "See 'pshub tasks' for those that are."
          : 'No worker has declared any task in this namespace yet.'
    return new HubError('NoSuchTask', `No worker ever declared ${called}. ${hint}`, { task: called })
  }

  /**
   * Once per queue: what this user may not do there. Else one who may push, but not read its replies, would have everything
   * run and hear only of timeouts.
   */
  async #checkRights({ task, queue }: TaskCard): Promise<void> {
    if (this.#allowed.has(queue)) return
    const missing = await this.#connection
      .send(client => missingRights(client, 'hub', this.#keys, queue))
      .catch(error => {
        // A server that cannot tell refuses in time what it refuses.
        if (isRefusal(error)) return undefined
        throw error
      })
    if (missing?.isNeeded) {
      const message = `The Redis user may not call tasks of queue ${queue}: it lacks ${missing.what}. What grants it: ${missing.grant}`
      throw new HubError('NotEnqueued', message, { task })
    }
    this.#bound(this.#allowed)
    this.#allowed.add(queue)
  }

  #routeOf(card: TaskCard, slots: number): Route {
    const { task, queue, timeoutMs, idempotent } = card
    const { maxPayloadBytes = Number.POSITIVE_INFINITY, maxBacklog = Number.POSITIVE_INFINITY } = card
    return { task, queue, timeoutMs, idempotent, maxPayloadBytes, maxBacklog, slots, checkArgs: this.#checkOf(card) }
  }

  /** Compiles a card's schema once per text. What cannot be used is reported once; the worker's verdict counts then. */
  #checkOf(card: TaskCard): Validate | undefined {
    if (card.args === undefined) return undefined
    const text = JSON.stringify(card.args)
    const compiled = this.#compiled.get(card.task)
    if (compiled?.text === text) return compiled.checkArgs
    const isDropped = this.#reported.has(`${card.task} ${text}`)
    const entry: CompiledCard = { text, card, isDropped, checkArgs: undefined }
    try {
      const check = compileForeign(text)
      entry.checkArgs = (value, size) => this.#checkOrDrop(entry, check, value, size)
    } catch (error) {
      this.#report(entry, messageOf(error))
    }
    this.#bound(this.#compiled)
    this.#compiled.set(card.task, entry)
    return entry.checkArgs
  }

  /** A schema that turns out to run too long is not run again; the argument at hand goes to the worker unchecked. */
  #checkOrDrop(entry: CompiledCard, check: Validate, value: unknown, size: number): ReturnType<Validate> {
    if (entry.isDropped) return []
    try {
      return check(value, size)
    } catch (error) {
      if (!(error instanceof UnusableSchema)) throw error
      entry.isDropped = true
      this.#report(entry, error.message)
      return []
    }
  }

  #report({ card: { task }, text }: CompiledCard, reason: string): void {
    const key = `${task} ${text}`
    if (this.#reported.has(key)) return
    this.#bound(this.#reported)
    this.#reported.add(key)
    this.#events.emit('schema:unused', { task, reason })
  }

  #bound(kept: { size: number; clear(): void }): void {
    if (kept.size >= maxRoutes) kept.clear()
  }
}
