import { hostname } from 'node:os'
import type { WorkerCard, WorkerStats } from './cards.ts'
import { type Catalogue, type MeasuredTexts, republishMs } from './catalogue.ts'
import type { Settings } from './config.ts'
import { Providers } from './providers.ts'
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

/** What a worker says of itself with a beat. */
export interface Published {
  stats: WorkerStats
  /** What it measured: what has changed, or all of it. */
  measured(isAll: boolean): MeasuredTexts
}

/** Publishes what one worker provides: its tasks and its card once per identity, its statistics with each beat. */
export class Registrar {
  readonly #catalogue: Catalogue
  readonly #providers: Providers
  readonly #queue: Queue
  readonly #tasks: readonly Task[]
  readonly #settings: Readonly<Settings>
  readonly #events: Events
  #publishedId: string | undefined
  #publishedAt = 0

  constructor(
    catalogue: Catalogue,
    queue: Queue,
    tasks: readonly Task[],
    settings: Readonly<Settings>,
    events: Events,
  ) {
    this.#catalogue = catalogue
    this.#providers = new Providers(catalogue)
    this.#queue = queue
    this.#tasks = tasks
    this.#settings = settings
    this.#events = events
  }

  /** Cards go out with the first beat of an identity that gets them through, and again from time to time. */
  async publish(client: Redis, workerId: string, nowMs: number, { stats, measured }: Published): Promise<void> {
    const writes = [this.#catalogue.publishStats(client, workerId, stats)]
    const first = this.#publishedId !== workerId
    const due = first || nowMs - this.#publishedAt > republishMs
    writes.push(this.#catalogue.publishMeasured(client, workerId, measured(due)))
    if (due) {
      const seconds = Math.floor(nowMs / 1000)
      const cards = this.#tasks.map(task => cardOf(task, this.#queue.name, this.#settings, seconds))
      writes.push(
        this.#catalogue.publishWorker(client, this.#card(workerId, seconds)),
        this.#catalogue.publishTasks(client, cards),
        this.#catalogue.sweep(client, nowMs),
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
    await this.#catalogue.publishStats(client, workerId, stats)
  }

  /** Of a task of this queue, declared here or elsewhere; false when that cannot be found out. */
  async isIdempotent(name: string, connection: Connection): Promise<boolean> {
    const own = this.#tasks.find(task => task.name.full === name)
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
      this.#providers.slots(connection, this.#queue.keys.leases, name),
      connection.send(client => this.#catalogue.taskCards(client, [name])),
    ])
    return { isServed: slots > 0, declaredIn: cards[0]?.queue }
  }

  async remove(client: Redis, workerIds: string[]): Promise<void> {
    await this.#catalogue.removeWorkers(client, workerIds)
  }

  #card(id: string, started: number): WorkerCard {
    return {
      id,
      queue: this.#queue.name,
      host: hostname(),
      pid: process.pid,
      slots: this.#settings.slots,
      tasks: Object.fromEntries(this.#tasks.map(task => [task.name.full, task.digest])),
      client: `pshub-js/${version}`,
      started,
    }
  }

  /** Two live workers with one version and two schemas: whoever of them takes a call decides what is valid. */
  async #warnOfConflicts(client: Redis, workerId: string): Promise<void> {
    const ids = await this.#catalogue.liveIds(client, this.#queue.keys.leases)
    const others = await this.#catalogue.workerCards(
      client,
      ids.filter(id => id !== workerId),
    )
    for (const task of this.#tasks) {
      const other = others.find(({ tasks }) => (tasks[task.name.full] ?? task.digest) !== task.digest)
      if (other)
        this.#events.emit('task:conflict', {
          task: task.name.full,
          queue: this.#queue.name,
          other: `${other.host}/${other.pid}`,
        })
    }
  }
}
