import {
  type LiveWorker,
  parseCard,
  parseObject,
  parseStats,
  parseWorkerCard,
  type WorkerCard,
  type WorkerStats,
} from './cards.ts'
import type { Keys } from './keys.ts'
import { parseWorkerRecord, type WorkerRecord } from './load.ts'
import { type FailuresJson, parseFailures } from './recentfailures.ts'
import type { Redis } from './redis.ts'
import { parseSlowCalls, type SlowCallsJson } from './slowcalls.ts'
import type { TaskCard } from './task.ts'

/** Texts of what a worker measured of its tasks; undefined where nothing has changed since the last ones. */
export interface MeasuredTexts {
  tasks: string | undefined
  slow: string | undefined
  failures: string | undefined
}

/** Cards are rewritten this often, and go when none of their workers did so for a day. */
export const republishMs = 10 * 60_000
const forgetTaskSeconds = 24 * 3600
const forgetWorkerMs = 3600_000
/** What workers measured may be large: so many at a time, and none that is longer than any worker writes. */
const measuredPage = 20
const maxMeasuredLength = 2 ** 20

/** Reads and writes of the registry: hashes of JSON cards. What is read was written by others and may be anything. */
export class Catalogue {
  readonly #keys: Keys

  constructor(keys: Keys) {
    this.#keys = keys
  }

  async publishTasks(client: Redis, cards: TaskCard[]): Promise<void> {
    if (cards.length === 0) return
    await client.hset(this.#keys.tasks, ...cards.flatMap(card => [card.task, JSON.stringify(card)]))
  }

  async publishWorker(client: Redis, card: WorkerCard): Promise<void> {
    await client.hset(this.#keys.workers, card.id, JSON.stringify(card))
  }

  async publishStats(client: Redis, workerId: string, stats: WorkerStats): Promise<void> {
    await client.hset(this.#keys.stats, workerId, JSON.stringify(stats))
  }

  /** What a worker measured; undefined is left as it is there. */
  async publishMeasured(client: Redis, workerId: string, { tasks, slow, failures }: MeasuredTexts): Promise<void> {
    const { taskStats, slow: slowKey, failures: failuresKey } = this.#keys
    const writes: Promise<number>[] = []
    if (tasks !== undefined) writes.push(client.hset(taskStats, workerId, tasks))
    if (slow !== undefined) writes.push(client.hset(slowKey, workerId, slow))
    if (failures !== undefined) writes.push(client.hset(failuresKey, workerId, failures))
    await Promise.all(writes)
  }

  async removeWorkers(client: Redis, ids: string[]): Promise<void> {
    if (ids.length === 0) return
    const { workers, stats, taskStats, slow, failures } = this.#keys
    await Promise.all([workers, stats, taskStats, slow, failures].map(key => client.hdel(key, ...ids)))
  }

  /** Removes cards of tasks nobody published for a day and of workers that are long gone. */
  async sweep(client: Redis, nowMs: number): Promise<void> {
    const stale: string[] = []
    for await (const [name, text] of scan(client, this.#keys.tasks)) {
      const card = parseCard(text)
      if (!card || nowMs / 1000 - card.at > forgetTaskSeconds) stale.push(name)
    }
    if (stale.length) await client.hdel(this.#keys.tasks, ...stale)
    const gone: string[] = []
    for await (const [id, text] of scan(client, this.#keys.stats)) {
      const stats = parseObject<WorkerStats>(text)
      if (!stats || !(nowMs - stats.seen <= forgetWorkerMs)) gone.push(id)
    }
    await this.removeWorkers(client, gone)
  }

  async taskNames(client: Redis): Promise<string[]> {
    return client.hkeys(this.#keys.tasks)
  }

  /** The cards of the given tasks; those that are missing or malformed are left out. */
  async taskCards(client: Redis, names: string[]): Promise<TaskCard[]> {
    if (names.length === 0) return []
    const texts = await client.hmget(this.#keys.tasks, ...names)
    return texts.flatMap(text => parseCard(text) ?? [])
  }

  /** Ids of workers whose lease on the queue has not ended at `nowMs` (Redis clock). */
  async liveIds(client: Redis, leasesKey: string): Promise<string[]> {
    const [seconds, micros] = (await client.time()) as unknown as [number | string, number | string]
    const nowMs = Math.floor(Number(seconds) * 1000 + Number(micros) / 1000)
    return client.zrangebyscore(leasesKey, nowMs, '+inf')
  }

  async workerCards(client: Redis, ids: string[]): Promise<WorkerCard[]> {
    if (ids.length === 0) return []
    const texts = await client.hmget(this.#keys.workers, ...ids)
    return texts.flatMap(text => parseWorkerCard(text) ?? [])
  }

  /** The last statistics of each of these workers, in their order; undefined for one that has none. */
  async workerStats(client: Redis, ids: string[]): Promise<(WorkerStats | undefined)[]> {
    const texts = await client.hmget(this.#keys.stats, ...ids)
    return texts.map(parseStats)
  }

  /** What these workers published of their tasks; those that published nothing, or something else, are left out. */
  async workerRecords(client: Redis, workers: WorkerCard[]): Promise<Map<string, WorkerRecord>> {
    const records = new Map<string, WorkerRecord>()
    for await (const [worker, value] of this.#measured(client, this.#keys.taskStats, workers)) {
      const record = parseWorkerRecord(value, worker.tasks)
      if (record) records.set(worker.id, record)
    }
    return records
  }

  /** The slowest calls of these workers. */
  async slowCalls(client: Redis, workers: WorkerCard[]): Promise<Map<string, SlowCallsJson>> {
    const calls = new Map<string, SlowCallsJson>()
    for await (const [worker, value] of this.#measured(client, this.#keys.slow, workers)) {
      calls.set(worker.id, parseSlowCalls(value, worker.tasks))
    }
    return calls
  }

  /** The recent failures of these workers. */
  async failures(client: Redis, workers: WorkerCard[]): Promise<Map<string, FailuresJson>> {
    const failures = new Map<string, FailuresJson>()
    for await (const [worker, value] of this.#measured(client, this.#keys.failures, workers)) {
      failures.set(worker.id, parseFailures(value, worker.tasks))
    }
    return failures
  }

  async *#measured(client: Redis, key: string, workers: WorkerCard[]): AsyncGenerator<[WorkerCard, unknown]> {
    for (let from = 0; from < workers.length; from += measuredPage) {
      const page = workers.slice(from, from + measuredPage)
      const texts = await client.hmget(key, ...page.map(({ id }) => id))
      for (const [at, text] of texts.entries()) {
        if (text === null || text.length > maxMeasuredLength) continue
        yield [page[at]!, parseObject(text)]
      }
    }
  }

  /** The cards of all tasks, page by page; what is malformed is left out. */
  async allTasks(client: Redis): Promise<TaskCard[]> {
    const cards: TaskCard[] = []
    for await (const [, text] of scan(client, this.#keys.tasks)) {
      const card = parseCard(text)
      if (card) cards.push(card)
    }
    return cards
  }

  /** All workers with a card and their last statistics, page by page. */
  async allWorkers(client: Redis): Promise<LiveWorker[]> {
    const workers: LiveWorker[] = []
    for await (const [, text] of scan(client, this.#keys.workers)) {
      const card = parseWorkerCard(text)
      if (card) workers.push({ ...card, stats: undefined })
    }
    for (let from = 0; from < workers.length; from += 200) {
      const page = workers.slice(from, from + 200)
      const stats = await this.workerStats(
        client,
        page.map(worker => worker.id),
      )
      page.forEach((worker, index) => {
        worker.stats = stats[index]
      })
    }
    return workers
  }
}

/** Walks a hash in pages, so that no answer is unbounded. A page may repeat what another one had: that comes once. */
async function* scan(client: Redis, key: string): AsyncGenerator<[string, string]> {
  const seen = new Set<string>()
  let cursor = '0'
  do {
    const [next, flat] = await client.hscan(key, cursor, 'COUNT', 200)
    for (let i = 0; i + 1 < flat.length; i += 2) {
      if (seen.has(flat[i]!)) continue
      seen.add(flat[i]!)
      yield [flat[i]!, flat[i + 1]!]
    }
    cursor = next
  } while (cursor !== '0')
}
