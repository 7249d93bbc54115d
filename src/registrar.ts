import { hostname } from 'node:os'
import { readStats, type WorkerCard, type WorkerStats } from './cards.ts'
import { Catalogue, nowMsOf, unreadableTeller } from './catalogue.ts'
import { command } from './client.ts'
import type { Settings } from './config.ts'
import type { Keys } from './keys.ts'
import type { Queue } from './queue.ts'
import type { Connection, Redis } from './redis.ts'
import { cardOf, type Task } from './task.ts'
import type { Events } from './telemetry.ts'
import { version } from './version.ts'

/** Where a task is, as the registry says. */
export interface Whereabouts {
  /** A live worker of the queue asked about takes it. */
  isServed: boolean
  /** The queue on its card; undefined when nobody ever declared it. */
  declaredIn: string | undefined
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
        this.#declare(client, seconds),
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
    const cards = await connection.send(client => this.#catalogue.taskCards(client, [name])).catch(() => [])
    return cards[0]?.idempotent ?? false
  }

  /**
   * Whether a live worker of this queue takes requests for a task, and which queue its card names, if it has one. Rejects
   * with the connection's error.
   */
  async whereabouts(name: string, connection: Connection): Promise<Whereabouts> {
    const [slots, cards] = await Promise.all([
      this.#catalogue.slots(connection, this.#options.queue.name, name),
      connection.send(client => this.#catalogue.taskCards(client, [name])),
    ])
    return { isServed: slots > 0, declaredIn: cards[0]?.queue }
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

  async #declare(client: Redis, seconds: number): Promise<void> {
    const { keys, tasks, queue, settings } = this.#options
    const cards = tasks.map(task => cardOf(task, queue.name, settings, seconds))
    await command(client, 'hset', keys.tasks, ...cards.flatMap(card => [card.task, JSON.stringify(card)]))
  }

  /**
   * Removes cards of tasks nobody published for a day and of workers that are long gone. What cannot be read stays: its
   * worker may be alive, and only a person can tell what it is.
   */
  async #sweep(client: Redis, nowMs: number): Promise<void> {
    const { keys } = this.#options
    const cards = await this.#catalogue.allTasks(client)
    const stale = cards.filter(({ at }) => nowMs / 1000 - at > forgetTaskSeconds).map(({ task }) => task)
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
    const ids = await this.#catalogue.liveIds(client, queue.name, await nowMsOf(client))
    const others = await this.#catalogue.workerCards(
      client,
      ids.filter(id => id !== workerId),
    )
    for (const { name, digest } of tasks) {
      const other = others.find(card => (card.tasks[name.full] ?? digest) !== digest)
      if (!other) continue
      events.emit('task:conflict', { task: name.full, queue: queue.name, other: `${other.host}/${other.pid}` })
    }
  }
}
