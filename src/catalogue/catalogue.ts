import { parseWorkerRecord, type WorkerRecord } from '../figures/load.ts'
import { type FailuresJson, parseFailures } from '../figures/recent-failures.ts'
import { parseSlowCalls, type SlowCallsJson } from '../figures/slow-calls.ts'
import { parseShards, servedShards } from '../queue/shards.ts'
import { command, nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { isAboutRights } from '../redis/refusals.ts'
import type { TaskCard } from '../task/card.ts'
import { maxRecordLength, objectOf, Unreadable, type UnreadableRecord } from '../wire/foreign.ts'
import { isQueueName, type Keys } from '../wire/keys.ts'
import {
  type FieldCard,
  furtherField,
  KeptCards,
  type LiveWorker,
  readStats,
  readTaskCard,
  readWorkerCard,
  type WorkerCard,
  type WorkerStats,
} from './cards.ts'
import { pagesOfHash, type Read } from './hash-pages.ts'

/** Cards of workers that are kept; an identity is seen once and its worker may be long gone. */
const maxCards = 10_000
/** Statistics read at a time: nearly always the first worker looked at takes calls. */
const statsPage = 8
/** Ids of live workers that a look reads: those of more are only counted. */
export const livePage = 64
/** Fields of a hash read at a time, so that no answer is unbounded; of what workers measured fewer, because that is long. */
export const page = 200
const measuredPage = 20
const mostNamed = 1000
type ParseMeasured<T> = (value: unknown, own: Record<string, unknown>) => T | undefined
/**
 * The one reader of the registry, for callers, workers and those who look. What is read was written by others and may be
 * anything: what cannot be read counts as absent and is noted.
 */
export class Catalogue {
  readonly #keys: Keys
  readonly #note: (record: UnreadableRecord) => void
  /** What a worker provides never changes under its id, so a card is read once. */
  readonly #workers = new Map<string, WorkerCard>()
  /** From which place on hashes are read next that are read a page at a time, round and round. */
  readonly #places = new Map<string, number>()

  constructor(keys: Keys, note: (record: UnreadableRecord) => void = () => undefined) {
    this.#keys = keys
    this.#note = note
  }

  /** Where there are cards of tasks. */
  taskFields(client: Redis): Promise<string[]> {
    return this.ask(client, [], 'hkeys', this.#keys.tasks)
  }

  /** The cards in the given fields; those that are missing or cannot be read are left out. */
  async taskCards(client: Redis, fields: string[]): Promise<TaskCard[]> {
    return (await this.#pick(client, this.#keys.tasks, fields, taskCardIn)).flatMap(card => card ?? [])
  }

  /** Ids of workers whose lease on the queue has not ended at `nowMs` (Redis clock). */
  liveIds(client: Redis, queue: string, nowMs: number, ...limit: (string | number)[]): Promise<string[]> {
    return this.ask(client, [], 'zrangebyscore', this.#keys.queue(queue).leases, nowMs, '+inf', ...limit)
  }

  /**
   * Slots of the workers that take requests for a task in a queue at the moment, together; 0 without any. These are the workers
   * whose lease holds, that list the task on their card, and that are not draining: the one place that decides it, for callers
   * and for workers alike. Of a queue of more workers than are looked at this is an estimate, by the share of them that provide the task.
   */
  async slots(client: Redis, queue: string, task: string): Promise<number> {
    const { leases } = this.#keys.queue(queue)
    const nowMs = await nowMsOf(client, leases)
    const some = await this.liveIds(client, queue, nowMs, 'LIMIT', 0, livePage)
    const slots = await this.#slotsOf(client, some, task)
    if (some.length < livePage) return slots
    // Some stand for all; where none of them will do one of the others may, and only that matters then.
    if (slots === 0) return this.#slotsOf(client, await this.liveIds(client, queue, nowMs), task)
    const count = await this.ask(client, 0, 'zcount', leases, nowMs, '+inf')
    return Math.round((slots * Math.max(count, some.length)) / some.length)
  }

  async #slotsOf(client: Redis, ids: string[], task: string): Promise<number> {
    const providers = (await this.#cards(client, ids)).filter(({ tasks }) => Object.hasOwn(tasks, task))
    for (let from = 0; from < providers.length; from += statsPage) {
      // A worker may do without statistics; then nobody can know better. One that takes calls is enough to know: that
      // others may be draining makes the sum too large by their slots, for as long as they leave.
      if ((await this.#serving(client, providers.slice(from, from + statsPage))).length > 0)
        return providers.reduce((sum, { slots }) => sum + Math.max(1, slots), 0)
    }
    return 0
  }

  /** The workers that take requests in a queue at the moment. */
  async providers(client: Redis, queue: string): Promise<WorkerCard[]> {
    const ids = await this.liveIds(client, queue, await nowMsOf(client, this.#keys.queue(queue).leases))
    return this.#serving(client, await this.#cards(client, ids))
  }

  async #serving(client: Redis, workers: WorkerCard[]): Promise<WorkerCard[]> {
    const stats = await this.#pick(client, this.#keys.stats, idsOf(workers), readStats)
    return workers.filter((_, at) => stats[at]?.draining !== true)
  }

  async #cards(client: Redis, ids: string[]): Promise<WorkerCard[]> {
    if (this.#workers.size > maxCards) this.#workers.clear()
    const unread = ids.filter(id => !this.#workers.has(id))
    for (const card of await this.#pick(client, this.#keys.workers, unread, workerCardIn))
      if (card) this.#workers.set(card.id, card)
    return ids.flatMap(id => this.#workers.get(id) ?? [])
  }

  /** The cards of all tasks with their fields, page by page; what is `kept` of an earlier look is not read each time. */
  async allTasks(client: Redis, kept: KeptCards = new KeptCards()): Promise<FieldCard[]> {
    const fields = await this.taskFields(client)
    const due = kept.due(fields)
    const read = await this.#pick(client, this.#keys.tasks, due, fieldCardIn)
    return kept.take(
      fields,
      due,
      read.flatMap(card => card ?? []),
    )
  }

  /** The next page of the cards of tasks. */
  async someTasks(client: Redis): Promise<FieldCard[]> {
    return (await this.#some(client, this.#keys.tasks, fieldCardIn)).found
  }

  /** The next page of the statistics of workers, and how many there are. */
  someStats(client: Redis): Promise<{ count: number; found: (WorkerStats & { id: string })[] }> {
    return this.#some(client, this.#keys.stats, (text, id) => ({ ...readStats(text), id }))
  }

  /** Queues into which jobs were put by name before anybody declared a task there. */
  async namedQueues(client: Redis): Promise<string[]> {
    const latest = await this.askIfAllowed<unknown[]>(client, [], 'zrange', this.#keys.queues, -mostNamed, -1)
    return (latest ?? []).filter(isQueueName)
  }

  /** All queues that a task is known in, or jobs were put into, by name. */
  async queues(client: Redis): Promise<string[]> {
    const [cards, named] = await Promise.all([this.allTasks(client), this.namedQueues(client)])
    const queues = new Set([...cards.map(({ queue }) => queue), ...named])
    return [...queues].filter(isQueueName).sort()
  }

  /** A queue and its shards, where it is spread over some; of none all queues. Those who may not read that see the queue alone. */
  async places(client: Redis, queue: string | undefined): Promise<string[]> {
    if (queue === undefined) return this.queues(client)
    const text = await this.askIfAllowed<string | null>(client, null, 'get', this.#keys.queue(queue).shards)
    const shards = parseShards(text, queue)
    return shards ? servedShards(shards) : [queue]
  }

  /** All workers with a card and their last statistics, page by page. */
  async allWorkers(client: Redis): Promise<LiveWorker[]> {
    const cards = await this.all(client, this.#keys.workers, workerCardIn)
    const stats = await this.#pick(client, this.#keys.stats, idsOf(cards), readStats)
    return cards.map((card, at) => ({ ...card, stats: stats[at] }))
  }

  /** All that can be read of a hash, page by page. */
  async all<T>(client: Redis, key: string, read: Read<T>): Promise<T[]> {
    const fields: string[] = await this.ask(client, [], 'hkeys', key)
    return (await this.#pick(client, key, fields, read)).filter(value => value !== undefined)
  }

  /** The next page of a hash, anywhere at first: others read it, too. And how many fields there are. */
  async #some<T>(client: Redis, key: string, read: Read<T>): Promise<{ count: number; found: T[] }> {
    const fields: string[] = await this.ask(client, [], 'hkeys', key)
    const count = fields.length
    const place = this.#places.get(key) ?? Math.floor(Math.random() * count)
    const from = count <= page || place >= count ? 0 : place
    this.#places.set(key, from + page)
    const some = await this.#pick(client, key, fields.slice(from, from + page), read)
    return { count, found: some.filter(value => value !== undefined) }
  }

  /** What these workers published of their tasks; those that published nothing, or something else, are left out. */
  workerRecords(client: Redis, workers: WorkerCard[]): Promise<Map<string, WorkerRecord>> {
    return this.#measured(client, this.#keys.taskStats, workers, parseWorkerRecord)
  }

  /** The slowest calls of these workers, of one after the other. */
  eachSlowCalls<W extends WorkerCard>(client: Redis, workers: W[]): AsyncGenerator<[W, SlowCallsJson]> {
    return this.#eachMeasured(client, this.#keys.slow, workers, parseSlowCalls)
  }

  /** The recent failures of these workers, of one after the other. */
  eachFailures<W extends WorkerCard>(client: Redis, workers: W[]): AsyncGenerator<[W, FailuresJson]> {
    return this.#eachMeasured(client, this.#keys.failures, workers, parseFailures)
  }

  async #measured<T>(
    client: Redis,
    key: string,
    workers: WorkerCard[],
    parse: ParseMeasured<T>,
  ): Promise<Map<string, T>> {
    const measured = new Map<string, T>()
    for await (const [{ id }, value] of this.#eachMeasured(client, key, workers, parse)) measured.set(id, value)
    return measured
  }

  async *#eachMeasured<T, W extends WorkerCard>(
    client: Redis,
    key: string,
    workers: W[],
    parse: ParseMeasured<T>,
  ): AsyncGenerator<[W, T]> {
    const workerOf = new Map(workers.map(worker => [worker.id, worker]))
    const read = (text: string, id: string) => parse(objectOf(text, maxRecordLength), workerOf.get(id)!.tasks)
    let at = 0
    for await (const values of pagesOfHash(this, client, key, idsOf(workers), read, measuredPage))
      for (const value of values) {
        const worker = workers[at++]!
        if (value !== undefined) yield [worker, value]
      }
  }

  /** Fields of a hash, in their order; undefined for what is missing or cannot be read. */
  async #pick<T>(client: Redis, key: string, fields: string[], read: Read<T>): Promise<(T | undefined)[]> {
    const values: (T | undefined)[] = []
    for await (const some of pagesOfHash(this, client, key, fields, read, page))
      for (const value of some) values.push(value)
    return values
  }

  noteUnreadable(key: string, reason: string, field?: string): void {
    this.#note({ key, ...(field !== undefined && { field }), reason })
  }

  /** Sends a command about one key. Of one that is of another type there is nothing to read, which hurts nobody else. */
  async ask<T>(client: Redis, nothing: T, name: string, key: string, ...args: (string | number)[]): Promise<T> {
    try {
      return (await command(client, name, key, ...args)) as T
    } catch (error) {
      if (!(error as Error).message.startsWith('WRONGTYPE')) throw error
      this.#note({ key, reason: 'it has another type (WRONGTYPE)' })
      return nothing
    }
  }

  /** The same of what a user may lack the right to: undefined then. */
  async askIfAllowed<T>(
    client: Redis,
    nothing: T,
    name: string,
    key: string,
    ...args: (string | number)[]
  ): Promise<T | undefined> {
    try {
      return await this.ask(client, nothing, name, key, ...args)
    } catch (error) {
      if (isAboutRights((error as Error).message)) return undefined
      throw error
    }
  }

  /**
   * Asks the same of several keys, of which one may have what is looked for. Those that this user may not look into have `nothing`, unless
   * no other one has it: then it may be there, and the refusal is thrown.
   */
  async askEach<T>(
    client: Redis,
    nothing: T,
    isThere: (answer: T) => boolean,
    name: string,
    keys: readonly string[],
  ): Promise<T[]> {
    const answers = await Promise.all(keys.map(key => this.askIfAllowed(client, nothing, name, key)))
    const refused = keys[answers.indexOf(undefined)]
    if (refused !== undefined && !answers.some(answer => answer !== undefined && isThere(answer)))
      await command(client, name, refused)
    return answers.map(answer => answer ?? nothing)
  }
}

const idsOf = (workers: WorkerCard[]): string[] => workers.map(({ id }) => id)

const fieldCardIn = (text: string, field: string) => ({ ...taskCardIn(text, field), field })

const taskCardIn = (text: string, field: string): TaskCard => {
  const card = readTaskCard(text)
  if (field === card.task || field === furtherField(card.task, card.queue)) return card
  throw new Unreadable('it names another task or queue than its field')
}

const workerCardIn = (text: string, field: string): WorkerCard => {
  const card = readWorkerCard(text)
  if (card.id !== field) throw new Unreadable('it names another worker than its field')
  return card
}
