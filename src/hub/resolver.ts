import { furtherField, taskOf } from '../catalogue/cards.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { ForeignChecks } from '../catalogue/foreign-checks.ts'
import type { Events } from '../figures/events.ts'
import { openShards } from '../queue/shards.ts'
import { command, nowMsOf } from '../redis/client.ts'
import type { Connection } from '../redis/connection.ts'
import { isRefusal } from '../redis/failures.ts'
import { missingRights } from '../redis/rights-check.ts'
import type { TaskCard } from '../task/card.ts'
import type { Validate } from '../task/schema.ts'
import { defaultTimeoutMs } from '../task/task.ts'
import { monotonicMs } from '../wire/clock.ts'
import { HubError } from '../wire/errors.ts'
import type { Keyed } from '../wire/job-part.ts'
import { isQueueName, type Keys, wholeQueue } from '../wire/keys.ts'
import { type CalledName, newestFirst, parseCalledName, tryParseTaskName } from '../wire/names.ts'
import { nearNames } from '../wire/text/near-names.ts'
import type { Placement, Spread } from './placement.ts'

/** Where a called name leads at the moment. */
export interface Route {
  task: string
  queue: string
  timeoutMs: number
  idempotent: boolean
  /** Why running it by mistake does harm, or true; undefined: it does none. */
  dangerous?: string | true | undefined
  /** How its jobs with the same key are run; undefined: they have no keys. */
  keyed: Keyed | undefined
  /** Of merged jobs: which score of equal payloads counts; undefined: the later one. */
  scores?: 'first' | undefined
  /** Limits that the queue's workers declare. */
  maxPayloadBytes: number
  maxBacklog: number
  /** Its workers find long arguments beside their request. */
  beside: boolean
  /** Slots of all live workers that provide it. */
  slots: number
  /** How its queue is spread over shards; undefined: it is not. */
  spread?: Spread | undefined
  /** Undefined when there is no schema or it cannot be used here. */
  checkArgs: Validate | undefined
}

/** What a route is for: calls, jobs as well, or jobs that leave the hub, whose tasks nobody here need know. */
export type Purpose = Role | 'forward'
/** Which rights that takes. */
type Role = 'hub' | 'jobs'

/** When there is more of what is kept here it is forgotten. */
const maxKept = 10_000
/** Cards of one name, of all versions and queues, that are read at most. */
const maxCardsOfName = 1000
/** Two beats: until then the workers of a task have registered again, where Redis came back without its data. */
const registerMs = 2000
/** A queue that was made known is forgotten after a day, when nothing waits there. */
const announceMs = 3600_000
const maxAnnounced = 10_000

/**
 * Task name to queue, from the registry. Reads are bounded by what is called: the cards of that name, and the live workers of
 * its queues.
 */
export class Resolver {
  readonly #connection: Connection
  readonly #catalogue: Catalogue
  readonly #keys: Keys
  readonly #placement: Placement
  readonly #checks: ForeignChecks
  /** Purposes and queues for which this user has all rights that it needs. */
  readonly #allowed = new Set<string>()
  /** Queues that were made known, and when. */
  readonly #announcedAt = new Map<string, number>()
  /** Tasks that were found, and since when they are missing. */
  readonly #missingSince = new Map<string, number | undefined>()

  constructor(connection: Connection, catalogue: Catalogue, keys: Keys, events: Events, placement: Placement) {
    this.#placement = placement
    this.#connection = connection
    this.#catalogue = catalogue
    this.#keys = keys
    this.#checks = new ForeignChecks(events)
  }

  /**
   * Looks a name up, in all queues or in one. Of several queues with live workers the one counts that had the task first, then
   * the first by name. A job goes to a queue without any, too: to first queue of the task, or to the one that is named.
   * Rejects with NoSuchTask, NoWorkers, NotEnqueued for a task that has just gone missing, or the connection's error.
   */
  async resolve(called: string, queue: string | undefined, purpose: Purpose = 'hub'): Promise<Route> {
    const wanted = parseCalledName(called)
    if (!wanted) {
      const shown = String(called).slice(0, 120)
      throw new HubError('NoSuchTask', `'${shown}' is not a task name. Write name:1.0, name:1 or name.`)
    }
    if (purpose === 'forward') return this.#unseen(called, queue!)
    if (wanted.minor !== undefined) {
      // Nearly always the task has one card, and this is all that is read of cards.
      const fields = queue === undefined ? [called] : [called, furtherField(called, queue)]
      const route = await this.#liveOf(await this.#cards(fields), queue, purpose)
      if (route) return route
    }
    const known = await this.#connection.send(client => this.#catalogue.taskFields(client))
    const cards = await this.#cards(fieldsOf(wanted, known).slice(0, maxCardsOfName))
    const route = await this.#liveOf(cards, queue, purpose)
    if (route) return route
    if (cards.length === 0) this.#checkMissing(called, wanted, known)
    if (purpose === 'jobs') return this.#restingPlace(called, wanted, cards, queue, known)
    throw cards.length === 0 ? noSuchTask(called, wanted.name, known) : await this.#noWorkers(called, cards, queue)
  }

  /** Where jobs of a task wait that nobody serves at the moment. */
  async #restingPlace(
    called: string,
    { name, minor }: CalledName,
    cards: TaskCard[],
    queue: string | undefined,
    known: string[],
  ): Promise<Route> {
    const card = cards.find(each => isQueueName(each.queue) && (queue === undefined || each.queue === queue))
    if (card) {
      await this.#checkRights(card, 'jobs')
      return this.#spreadRoute(this.#routeOf(card, 0), queue)
    }
    if (queue === undefined) throw noSuchTask(called, name, known, ' To let the job wait for a worker, pass the queue.')
    if (minor === undefined)
      throw new HubError('NoSuchTask', `Queue ${queue} has no ${called} yet: write the version in full, ${name}:1.0.`, {
        task: called,
      })
    return this.#unseen(called, queue)
  }

  /** Of a task that has no card: nothing of it is checked here. */
  async #unseen(task: string, queue: string): Promise<Route> {
    const unseen = { task, queue, timeoutMs: defaultTimeoutMs, idempotent: false, keyed: undefined }
    await this.#checkRights(unseen, 'jobs')
    await this.#announce(queue)
    const limits = { maxPayloadBytes: Number.POSITIVE_INFINITY, maxBacklog: Number.POSITIVE_INFINITY, beside: false }
    return this.#spreadRoute({ ...unseen, ...limits, slots: 0, checkArgs: undefined }, queue)
  }

  /** So that workers of all queues find it: no card tells of it yet. A user without that right enqueues all the same. */
  async #announce(queue: string): Promise<void> {
    const now = monotonicMs()
    if (now < (this.#announcedAt.get(queue) ?? Number.NEGATIVE_INFINITY) + announceMs) return
    const { queues } = this.#keys
    try {
      await this.#connection.send(async client => command(client, 'zadd', queues, await nowMsOf(client, queues), queue))
      if (this.#announcedAt.size >= maxAnnounced) this.#announcedAt.clear()
      this.#announcedAt.set(queue, now)
    } catch (error) {
      if (!isRefusal(error)) throw error
    }
  }

  async #cards(fields: string[]): Promise<TaskCard[]> {
    const cards = await this.#connection.send(client => this.#catalogue.taskCards(client, fields))
    if (this.#missingSince.size >= maxKept) this.#missingSince.clear()
    for (const { task } of cards) this.#missingSince.set(task, undefined)
    return cards
  }

  /** A task that this hub has found before is not unknown at once: its workers may not have registered again yet. */
  #checkMissing(called: string, wanted: CalledName, known: string[]): void {
    const now = monotonicMs()
    const found = fieldsOf(wanted, [...this.#missingSince.keys()]).filter(task => !known.includes(task))
    for (const task of found) this.#missingSince.set(task, this.#missingSince.get(task) ?? now)
    if (found.every(task => now - this.#missingSince.get(task)! >= registerMs)) return
    const why = `The registry has lost ${called}; Redis may have restarted without its data.`
    throw new HubError('NotEnqueued', `${why} Try again: workers register again within ${registerMs / 1000} s.`, {
      task: called,
    })
  }

  /** The first of these that a live worker provides. A queue that this user may not use only counts where there is no other. */
  async #liveOf(cards: TaskCard[], queue: string | undefined, purpose: Role): Promise<Route | undefined> {
    let refused: unknown
    for (const card of cards) {
      if (!isQueueName(card.queue) || (queue !== undefined && card.queue !== queue)) continue
      try {
        const slots = await this.#slotsOf(card)
        if (slots === 0) continue
        await this.#checkRights(card, purpose)
        return this.#spreadRoute(this.#routeOf(card, slots), queue)
      } catch (error) {
        if (!(error instanceof HubError) && !isRefusal(error)) throw error
        refused ??= error
      }
    }
    if (refused) throw refused
    return undefined
  }

  #slotsOf({ queue, task }: Pick<TaskCard, 'task' | 'queue'>): Promise<number> {
    return this.#connection.send(client => this.#catalogue.slots(client, queue, task))
  }

  /** With how its queue is spread. Who does not name a shard does not mean that one alone. A shard whose node is away is none that is live. */
  async #spreadRoute(route: Route, named: string | undefined): Promise<Route> {
    const { task, slots } = route
    const queue = named ?? wholeQueue(route.queue)
    const shards = await this.#placement.shardsOf(queue)
    if (!shards) return route
    const names = openShards(shards)
    const slotsIn = (name: string) =>
      name === route.queue ? slots : this.#slotsOf({ queue: name, task }).catch(() => 0)
    const counts = await Promise.all(names.map(slotsIn))
    const live = new Map(names.flatMap((name, at) => (counts[at]! > 0 ? [[name, counts[at]!]] : [])))
    return { ...route, queue, spread: { shards, live } }
  }

  async #noWorkers(called: string, cards: TaskCard[], queue: string | undefined): Promise<HubError> {
    const all = (member: 'task' | 'queue') => [...new Set(cards.map(card => card[member]))].join(', ')
    const details = { task: called }
    if (queue === undefined) {
      const start = `Start one: pshub worker <module> --queue ${all('queue')}`
      return new HubError('NoWorkers', `No live worker provides ${all('task')}. ${start}`, details)
    }
    const elsewhere = await this.#liveOf(cards, undefined, 'hub')
    const where = elsewhere
      ? `It is served in queue ${elsewhere.queue}.`
      : `No other queue has a live worker for it either; it is known in: ${all('queue')}.`
    return new HubError('NoWorkers', `No live worker of queue ${queue} provides ${called}. ${where}`, details)
  }

  /**
   * Once per queue: what this user may not do there. Else one who may push, but not read its replies, would have everything
   * run and hear only of timeouts.
   */
  async #checkRights({ task, queue }: Pick<TaskCard, 'task' | 'queue'>, purpose: Role): Promise<void> {
    const allowed = `${purpose} ${queue}`
    if (this.#allowed.has(allowed)) return
    const missing = await this.#connection
      .send(client => missingRights(client, purpose, this.#keys, queue))
      .catch(error => {
        // A server that cannot tell refuses in time what it refuses. It may be able to, later on.
        if (isRefusal(error)) return 'untold' as const
        throw error
      })
    if (missing === 'untold') return
    if (missing?.isNeeded) {
      const what = purpose === 'hub' ? 'call tasks of' : 'enqueue jobs in'
      const message = `The Redis user may not ${what} queue ${queue}: it lacks ${missing.what}. To grant it: ${missing.grant}`
      throw new HubError('NotEnqueued', message, { task })
    }
    if (this.#allowed.size >= maxKept) this.#allowed.clear()
    this.#allowed.add(allowed)
  }

  #routeOf(card: TaskCard, slots: number): Route {
    const { task, queue, timeoutMs, idempotent, dangerous, keyed, scores } = card
    const { maxPayloadBytes = Number.POSITIVE_INFINITY, maxBacklog = Number.POSITIVE_INFINITY, beside = false } = card
    const limits = { maxPayloadBytes, maxBacklog, beside }
    return {
      task,
      queue,
      timeoutMs,
      idempotent,
      dangerous,
      keyed,
      scores,
      ...limits,
      slots,
      checkArgs: this.#checks.of(card),
    }
  }
}

/** Fields of all cards that a name may mean: newest version first, in each the queue that had it first, then by name. */
const fieldsOf = ({ name, major, minor }: CalledName, known: string[]): string[] =>
  known
    .flatMap(field => {
      const version = tryParseTaskName(taskOf(field))
      const isMeant =
        version?.name === name &&
        (major === undefined || version.major === major) &&
        (minor === undefined || version.minor === minor)
      return isMeant ? [{ field, version }] : []
    })
    // The field of the first queue is the task's name, which the others only begin with.
    .sort((a, b) => newestFirst(a.version, b.version) || (a.field < b.field ? -1 : 1))
    .map(({ field }) => field)

const noSuchTask = (called: string, name: string, known: string[], hint = ''): HubError => {
  const tasks = [...new Set(known.map(taskOf))]
  return new HubError('NoSuchTask', whyUnknown(called, name, tasks) + hint, { task: called })
}

const whyUnknown = (called: string, name: string, tasks: string[]): string => {
  if (tasks.includes(called)) {
    const what = `The registry has no readable card of ${called}. If a worker has just started, call again.`
    return `${what} Its workers write the card when they start.`
  }
  const versions = tasks.filter(task => task.startsWith(`${name}:`)).sort()
  if (versions.length > 0) return `There is no ${called}. Known versions: ${versions.join(', ')}.`
  const near = nearNames(called, tasks)
  const hint =
    near.length > 0
      ? `Did you mean ${near.join(' or ')}?`
      : tasks.length > 0
        ? "'pshub tasks' lists all tasks."
        : 'No worker has declared any task in this namespace yet.'
  return `No worker ever declared ${called}. ${hint}`
}
