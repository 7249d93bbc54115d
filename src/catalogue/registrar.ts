import { hostname } from 'node:os'
import type { Events } from '../figures/events.ts'
import { batchesOf } from '../queue/batches.ts'
import type { Queue } from '../queue/queue.ts'
import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { run } from '../redis/library.ts'
import type { Settings } from '../settings/read.ts'
import { cardOf } from '../task/card.ts'
import type { Task } from '../task/task.ts'
import { isQueueName, type Keys } from '../wire/keys.ts'
import { version } from '../wire/version.ts'
import { furtherField, type WorkerCard, type WorkerStats } from './cards.ts'
import { Catalogue } from './catalogue.ts'
import { unreadableTeller } from './unreadable.ts'

/** Why a request is not run. */
export interface Verdict {
  code: 'NoSuchTask' | 'NoWorkers'
  message: string
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

/** A card to be declared, and a queue that had its task first and has no live worker for it any more, or ''. */
interface Declared {
  task: string
  text: string
  dead: string
}

export interface RegistrarOptions {
  keys: Keys
  queue: Queue
  /** Those of one worker share it. */
  writes: FieldWrites
  /** Those to be declared in this queue. */
  tasks(): readonly Task[]
  /** Whether the same worker serves that queue, too. */
  serves(queue: string): boolean
  settings: Readonly<Settings>
  events: Events
}

/** Cards are rewritten this often, and go when none of their workers did so for a day. */
export const republishMs = 10 * 60_000
/** What each card counts for beside its length, so that a hundred at most go to Redis in one step: it does nothing else meanwhile. */
const batchShare = 10_000
const forgetTaskSeconds = 24 * 3600
const sweptAtOnce = 100
/** So many workers write their statistics with each beat; more of them take turns, but write with each tenth at the least. */
export const tellingAtOnce = 2000
export const mostBeats = 10
const forgetWorkerMs = 3600_000

/** Hashes with a field for each worker. */
const ofWorkers = ['stats', 'taskStats', 'slow', 'failures', 'workers'] as const
type OfWorkers = (typeof ofWorkers)[number]

const setField = async (client: Redis, hash: string, ...fields: string[]): Promise<void> => {
  await command(client, 'hset', hash, ...fields)
}

interface Pending {
  fields: string[]
  written: Promise<void>
}

/** Writes fields of hashes. Fields for one hash that are set in one tick share a command, so that many queues cost no more than one. */
export class FieldWrites {
  readonly #pending = new Map<string, Pending>()

  readonly set = (client: Redis, hash: string, field: string, text: string): Promise<void> => {
    const pending = this.#pending.get(hash)
    if (pending) {
      pending.fields.push(field, text)
      return pending.written
    }
    const fields = [field, text]
    const written = Promise.resolve().then(() => {
      this.#pending.delete(hash)
      return setField(client, hash, ...fields)
    })
    this.#pending.set(hash, { fields, written })
    return written
  }
}

/**
 * The one writer of the registry: publishes what one worker provides, its tasks and its card once per identity, its statistics
 * with each beat, or with each second one and so on where there are thousands of workers.
 */
export class Registrar {
  readonly #options: RegistrarOptions
  readonly #catalogue: Catalogue
  #publishedId: string | undefined
  #publishedAt = 0
  /** How many beats there are from statistics to statistics, and how many there were. Workers that began together are not in step. */
  #everyBeats = 1
  #beats = Math.floor(Math.random() * mostBeats)
  /** Under which identity it was told that a task is elsewhere. */
  readonly #told = new Map<string, string>()

  #started: { id: string; seconds: number } | undefined

  constructor(options: RegistrarOptions) {
    this.#options = options
    this.#catalogue = new Catalogue(options.keys, unreadableTeller(options.events))
  }

  /** To be told of each beat. Cards go out with the first one of an identity that gets them through, and again from time to time. */
  async publish(client: Redis, workerId: string, nowMs: number, { stats, measured }: Published): Promise<void> {
    const isNew = this.#publishedId !== workerId
    const isDue = isNew || nowMs - this.#publishedAt > republishMs
    this.#beats++
    // Callers must hear that it leaves, also when the word that it wrote out of turn was lost.
    if (!isDue && !stats.draining && this.#beats % this.#everyBeats !== 0) return
    const seconds = Math.floor(nowMs / 1000)
    const { tasks: taskStats, slow, failures } = measured(isDue)
    const workers = isDue ? JSON.stringify(this.#card(workerId, this.#startedOf(workerId, seconds))) : undefined
    await Promise.all([
      this.#write(client, workerId, { stats: JSON.stringify(stats), taskStats, slow, failures, workers }),
      isDue && this.#declare(client, workerId, seconds),
      isDue && this.#sweep(client, nowMs),
      isNew && this.#warnOfConflicts(client, workerId),
    ])
    if (!isDue) return
    this.#publishedId = workerId
    this.#publishedAt = nowMs
  }

  /** Statistics out of turn, at the `seen` of the last ones. */
  publishStats(client: Redis, workerId: string, stats: WorkerStats): Promise<void> {
    return this.#write(client, workerId, { stats: JSON.stringify(stats) })
  }

  /** Why a request for a task is not run in this queue; undefined as long as a live worker of it takes them. */
  async whyUnserved(client: Redis, name: string): Promise<Verdict | undefined> {
    const isServedIn = async (queue: string) => (await this.#catalogue.slots(client, queue, name)) > 0
    const own = this.#options.queue.name
    if (await isServedIn(own)) return undefined
    const cards = await this.#catalogue.taskCards(client, [furtherField(name, own), name])
    const first = cards.at(-1)?.queue
    if (first === undefined) return { code: 'NoSuchTask', message: `No worker ever declared ${name}.` }
    const message = `No live worker of queue ${own} provides ${name}.`
    if (first === own) return { code: 'NoWorkers', message }
    const isServed = isQueueName(first) && (await isServedIn(first))
    const place = `${isServed ? 'It is served' : 'Its last workers were'} in queue ${first}.`
    return { code: 'NoWorkers', message: `${message} ${place}` }
  }

  async remove(client: Redis, workerIds: string[]): Promise<void> {
    if (workerIds.length === 0) return
    const { keys } = this.#options
    await Promise.all(ofWorkers.map(hash => command(client, 'hdel', keys[hash], ...workerIds)))
  }

  async #write(client: Redis, workerId: string, texts: { [hash in OfWorkers]?: string | undefined }): Promise<void> {
    const { keys, writes } = this.#options
    const given = ofWorkers.filter(hash => texts[hash] !== undefined)
    // A card goes at once: task cards are to come behind it.
    const set = texts.workers === undefined ? writes.set : setField
    await Promise.all(given.map(hash => set(client, keys[hash], workerId, texts[hash]!)))
  }

  /**
   * A task stays with the queue that had it first as long as that one has live workers for it. Then this one's card is a further
   * one, of which its operators should know; else its queue is the first one from now on, as in any move.
   */
  async #declare(client: Redis, workerId: string, seconds: number): Promise<void> {
    const { tasks, queue, settings } = this.#options
    const cards = tasks().map(task => ({
      task: task.name.full,
      text: JSON.stringify(cardOf(task, queue.name, settings, seconds)),
      dead: '',
    }))
    const left: Declared[] = []
    const providers = new Map<string, WorkerCard[]>()
    for (const { card, first } of await this.#place(client, cards)) {
      if (!providers.has(first))
        providers.set(first, isQueueName(first) ? await this.#catalogue.providers(client, first) : [])
      const isServed = providers.get(first)!.some(({ tasks }) => Object.hasOwn(tasks, card.task))
      if (isServed) this.#tellElsewhere(workerId, card.task, first)
      else left.push({ ...card, dead: first })
    }
    for (const { card, first } of await this.#place(client, left)) this.#tellElsewhere(workerId, card.task, first)
  }

  /** Puts cards where they belong. Returns those whose tasks another queue has first, with that queue. */
  async #place(client: Redis, cards: Declared[]): Promise<{ card: Declared; first: string }[]> {
    const { keys, queue } = this.#options
    const elsewhere: { card: Declared; first: string }[] = []
    for (const batch of batchesOf(cards, ({ text }) => text.length + batchShare)) {
      const args = batch.flatMap(({ task, text, dead }) => [task, text, dead])
      const answer = (await run(client, 'declare', [keys.tasks], [queue.name, ...args])) as string[]
      for (const card of batch) {
        // Tasks and queues in turn; no queue has the name of a task.
        const at = answer.indexOf(card.task)
        if (at >= 0) elsewhere.push({ card, first: answer[at + 1]! })
      }
    }
    return elsewhere
  }

  /** Once per identity and task. */
  #tellElsewhere(workerId: string, task: string, first: string): void {
    const { queue, events, serves } = this.#options
    if (serves(first) || this.#told.get(task) === workerId) return
    this.#told.set(task, workerId)
    events.emit('task:elsewhere', { task, queue: queue.name, first })
  }

  /**
   * Removes cards of tasks nobody published for a day and of workers that are long gone: a page of them each time, and the next one
   * the next time, because each worker does so. What cannot be read stays: its worker may be alive, and only a person can tell what it is.
   */
  async #sweep(client: Redis, nowMs: number): Promise<void> {
    const { keys } = this.#options
    const cards = await this.#catalogue.someTasks(client)
    const stale = cards.filter(({ at }) => nowMs / 1000 - at > forgetTaskSeconds).map(({ field }) => field)
    if (stale.length > 0) await command(client, 'hdel', keys.tasks, ...stale)
    await this.#sweepNamed(client, nowMs)
    const { count, found } = await this.#catalogue.someStats(client)
    const gone = found.filter(({ seen }) => nowMs - seen > forgetWorkerMs)
    await this.remove(
      client,
      gone.map(({ id }) => id),
    )
    this.#everyBeats = Math.min(mostBeats, Math.max(1, Math.ceil(count / tellingAtOnce)))
  }

  /** Names of queues that were announced long ago, and where nothing waits any more. */
  async #sweepNamed(client: Redis, nowMs: number): Promise<void> {
    const { keys } = this.#options
    const before = nowMs - forgetTaskSeconds * 1000
    const ask = (name: string, key: string, ...args: (string | number)[]) =>
      this.#catalogue.askIfAllowed<number | unknown[]>(client, 0, name, key, ...args)
    const old = await ask('zrangebyscore', keys.queues, '-inf', before, 'LIMIT', 0, sweptAtOnce)
    for (const name of Array.isArray(old) ? old : []) {
      const { jobs, jobsHigh, jobsLow, scheduled, retries, dead, keyed, ticks } = keys.queue(String(name))
      const waiting = await Promise.all([
        ...[jobs, jobsHigh, jobsLow].map(list => ask('llen', list)),
        ...[scheduled, retries, dead].map(set => ask('zcard', set)),
        ...[keyed, ticks].map(set => ask('zrange', set, 0, 0).then(first => (Array.isArray(first) ? first.length : 1))),
      ])
      if (waiting.every(count => count === 0)) await command(client, 'zrem', keys.queues, String(name))
    }
  }

  /** Of the first card of an identity; later ones are written at other times. */
  #startedOf(id: string, seconds: number): number {
    if (this.#started?.id !== id) this.#started = { id, seconds }
    return this.#started.seconds
  }

  #card(id: string, started: number): WorkerCard {
    const { queue, settings, tasks } = this.#options
    return {
      id,
      queue: queue.name,
      host: hostname(),
      pid: process.pid,
      slots: settings.slots,
      tasks: Object.fromEntries(tasks().map(task => [task.name.full, task.digest])),
      client: `pshub-js/${version}`,
      ...(settings.build === undefined ? {} : { build: settings.build }),
      started,
    }
  }

  /** Two live workers with one version and two schemas: whoever of them takes a call decides what is valid. */
  async #warnOfConflicts(client: Redis, workerId: string): Promise<void> {
    const { queue, tasks, events } = this.#options
    const providers = await this.#catalogue.providers(client, queue.name)
    for (const { name, digest } of tasks()) {
      const other = providers.find(({ id, tasks }) => id !== workerId && (tasks[name.full] ?? digest) !== digest)
      if (!other) continue
      events.emit('task:conflict', { task: name.full, queue: queue.name, other: `${other.host}/${other.pid}` })
    }
  }
}
