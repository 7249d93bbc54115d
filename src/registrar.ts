import { hostname } from 'node:os'
import { furtherField, readStats, type WorkerCard, type WorkerStats } from './cards.ts'
import { Catalogue, unreadableTeller } from './catalogue.ts'
import { command } from './client.ts'
import type { Settings } from './config.ts'
import { isQueueName, type Keys } from './keys.ts'
import type { Queue } from './queue.ts'
import type { Connection, Redis } from './redis.ts'
import { scripts } from './scripts.ts'
import { cardOf, type Task, type TaskCard } from './task.ts'
import type { Events } from './telemetry.ts'
import { version } from './version.ts'

/** Where a task is, as the registry says. */
export interface Whereabouts {
  /** A live worker of the queue asked about takes it. */
  isServed: boolean
  /** The queue that had it first; undefined when nobody ever declared it. */
  declaredIn: string | undefined
  /** Whether live workers of that one take it. */
  isServedThere: boolean
}

/** Texts of what a worker measured of its tasks; undefined where nothing has changed since the last ones. */
export interface MeasuredTexts {
  tasks: string | undefined
  slow: string | undefined
  failures: string | undefined
}

/** What a worker says of itself with a beat. */
export interface Published {
  stats: WorkerStats
  /** What it measured: what has changed, or all of it. */
  measured(isAll: boolean): MeasuredTexts
}

export interface RegistrarOptions {
  keys: Keys
  queue: Queue
  tasks: readonly Task[]
  settings: Readonly<Settings>
  events: Events
}

/** Cards are rewritten this often, and go when none of their workers did so for a day. */
export const republishMs = 10 * 60_000
/** So much goes to Redis in one step, because it does nothing else meanwhile. */
const batchCards = 100
const batchLength = 1_000_000
const forgetTaskSeconds = 24 * 3600
const forgetWorkerMs = 3600_000

/**
 * The one writer of the registry: publishes what one worker provides, its tasks and its card once per identity, its statistics
 * with each beat.
 */
export class Registrar {
  readonly #options: RegistrarOptions
  readonly #catalogue: Catalogue
  #publishedId: string | undefined
  #publishedAt = 0
  #told = { workerId: '', tasks: new Set<string>() }

  constructor(options: RegistrarOptions) {
    this.#options = options
    this.#catalogue = new Catalogue(options.keys, unreadableTeller(options.events))
  }

  /** Cards go out with the first beat of an identity that gets them through, and again from time to time. */
  async publish(client: Redis, workerId: string, nowMs: number, { stats, measured }: Published): Promise<void> {
    const { keys } = this.#options
    const first = this.#publishedId !== workerId
    const due = first || nowMs - this.#publishedAt > republishMs
    const { tasks, slow, failures } = measured(due)
    const writes = [
      this.publishStats(client, workerId, stats),
      this.#write(client, keys.taskStats, workerId, tasks),
      this.#write(client, keys.slow, workerId, slow),
      this.#write(client, keys.failures, workerId, failures),
    ]
    if (due) {
      const seconds = Math.floor(nowMs / 1000)
      writes.push(
        this.#write(client, keys.workers, workerId, JSON.stringify(this.#card(workerId, seconds))),
        this.#declare(client, workerId, seconds),
        this.#sweep(client, nowMs),
      )
    }
    if (first) writes.push(this.#warnOfConflicts(client, workerId))
    await Promise.all(writes)
    if (!due) return
    this.#publishedId = workerId
    this.#publishedAt = nowMs
  }

  /** Statistics out of turn, at the `seen` of the last ones. */
  async publishStats(client: Redis, workerId: string, stats: WorkerStats): Promise<void> {
    await this.#write(client, this.#options.keys.stats, workerId, JSON.stringify(stats))
  }

  /** Of a task of this queue, declared here or elsewhere; false when that cannot be found out. */
  async isIdempotent(name: string, connection: Connection): Promise<boolean> {
    const own = this.#options.tasks.find(task => task.name.full === name)
    if (own) return own.idempotent
    const cards = await connection.send(client => this.#cardsOf(client, name)).catch(() => [])
    return cards[0]?.idempotent ?? false
  }

  /** Whether a live worker of this queue takes requests for a task, and if none does, where one may. */
  async whereabouts(client: Redis, name: string): Promise<Whereabouts> {
    const isServedIn = async (queue: string) => (await this.#catalogue.slots(client, queue, name)) > 0
    const own = this.#options.queue.name
    if (await isServedIn(own)) return { isServed: true, declaredIn: own, isServedThere: true }
    const declaredIn = (await this.#cardsOf(client, name)).at(-1)?.queue
    const isServedThere = isQueueName(declaredIn) && declaredIn !== own && (await isServedIn(declaredIn))
    return { isServed: false, declaredIn, isServedThere }
  }

  /** Of this queue, where that is not the first one of the task, and of the first. */
  #cardsOf(client: Redis, name: string): Promise<TaskCard[]> {
    return this.#catalogue.taskCards(client, [furtherField(name, this.#options.queue.name), name])
  }

  async remove(client: Redis, workerIds: string[]): Promise<void> {
    if (workerIds.length === 0) return
    const { workers, stats, taskStats, slow, failures } = this.#options.keys
    const all = [workers, stats, taskStats, slow, failures]
    await Promise.all(all.map(key => command(client, 'hdel', key, ...workerIds)))
  }

  async #write(client: Redis, key: string, field: string, text: string | undefined): Promise<void> {
    if (text !== undefined) await command(client, 'hset', key, field, text)
  }

  /**
   * A task stays with the queue that had it first as long as that one has live workers for it. Then this one's card is a further
   * one, of which its operators should know; else its queue is the first one from now on, as in any move.
   */
  async #declare(client: Redis, workerId: string, seconds: number): Promise<void> {
    const { tasks, queue, settings } = this.#options
    const cards = new Map(
      tasks.map(task => [task.name.full, JSON.stringify(cardOf(task, queue.name, settings, seconds))]),
    )
    const elsewhere = await this.#place(
      client,
      [...cards].map(([task, text]) => ({ task, text, dead: '' })),
    )
    const providers = new Map<string, WorkerCard[]>()
    for (const first of new Set(elsewhere.values()))
      if (isQueueName(first)) providers.set(first, await this.#catalogue.providers(client, first))
    const left = [...elsewhere].filter(
      ([task, first]) => !providers.get(first)?.some(card => Object.hasOwn(card.tasks, task)),
    )
    for (const [task] of left) elsewhere.delete(task)
    const taken = await this.#place(
      client,
      left.map(([task, dead]) => ({ task, text: cards.get(task)!, dead })),
    )
    for (const [task, first] of [...elsewhere, ...taken]) this.#tellElsewhere(workerId, task, first)
  }

  /** Puts cards where they belong. Returns tasks that another queue has first, with that queue. */
  async #place(client: Redis, cards: { task: string; text: string; dead: string }[]): Promise<Map<string, string>> {
    const { keys, queue } = this.#options
    const batches: string[][] = []
    let room = 0
    for (const { task, text, dead } of cards) {
      room -= text.length + batchLength / batchCards
      if (room < 0) {
        batches.push([queue.name])
        room = batchLength
      }
      batches.at(-1)!.push(task, text, dead)
    }
    const answers = await Promise.all(batches.map(batch => scripts.declare.run(client, [keys.tasks], batch)))
    const flat = answers.flat() as string[]
    return new Map(flat.flatMap((task, at) => (at % 2 === 0 ? [[task, flat[at + 1]!]] : [])))
  }

  /** Once per identity and task. */
  #tellElsewhere(workerId: string, task: string, first: string): void {
    const { queue, events } = this.#options
    if (this.#told.workerId !== workerId) this.#told = { workerId, tasks: new Set() }
    if (this.#told.tasks.has(task)) return
    this.#told.tasks.add(task)
    events.emit('task:elsewhere', { task, queue: queue.name, first })
  }

  /**
   * Removes cards of tasks nobody published for a day and of workers that are long gone. What cannot be read stays: its
   * worker may be alive, and only a person can tell what it is.
   */
  async #sweep(client: Redis, nowMs: number): Promise<void> {
    const { keys } = this.#options
    const cards = await this.#catalogue.allTasks(client)
    const stale = cards.filter(({ at }) => nowMs / 1000 - at > forgetTaskSeconds).map(({ field }) => field)
    if (stale.length > 0) await command(client, 'hdel', keys.tasks, ...stale)
    const seen = await this.#catalogue.all(client, keys.stats, (text, id) => ({ id, ...readStats(text) }))
    const gone = seen.filter(({ seen }) => nowMs - seen > forgetWorkerMs)
    await this.remove(
      client,
      gone.map(({ id }) => id),
    )
  }

  #card(id: string, started: number): WorkerCard {
    const { queue, settings, tasks } = this.#options
    return {
      id,
      queue: queue.name,
      host: hostname(),
      pid: process.pid,
      slots: settings.slots,
      tasks: Object.fromEntries(tasks.map(task => [task.name.full, task.digest])),
      client: `pshub-js/${version}`,
      started,
    }
  }

  /** Two live workers with one version and two schemas: whoever of them takes a call decides what is valid. */
  async #warnOfConflicts(client: Redis, workerId: string): Promise<void> {
    const { queue, tasks, events } = this.#options
    const providers = await this.#catalogue.providers(client, queue.name)
    for (const { name, digest } of tasks) {
      const other = providers.find(({ id, tasks }) => id !== workerId && (tasks[name.full] ?? digest) !== digest)
      if (!other) continue
      events.emit('task:conflict', { task: name.full, queue: queue.name, other: `${other.host}/${other.pid}` })
    }
  }
}
