import type { Failure } from '../figures/recent-failures.ts'
import { type SlowCall, totalOf } from '../figures/slow-calls.ts'
import type { Redis } from '../redis/connection.ts'
import type { Keys } from '../wire/keys.ts'
import type { LiveWorker } from './cards.ts'
import { Catalogue } from './catalogue.ts'
import { sortedInPieces } from './in-pieces.ts'

/** Whose call it was, and which worker says so. */
interface Whose {
  task: string
  queue: string
  /** Id of the worker. */
  worker: string
  host: string
  pid: number
}

/** One of the slowest calls of the last five minutes, with its task and worker. */
export interface SlowCallOverview extends SlowCall, Whose {
  /** The sum of all phases. */
  totalUs: number
}

/** A failed call or job of the last hour, with its task and the worker that reported it. */
export interface FailureOverview extends Failure, Whose {}

/** Rows that are kept of all; and so many of each task, though others have more that come before them. */
const most = 10_000
const mostOfTask = 20
/** Of so many rows that are only kept for their task. */
const mostForTasks = 10_000

/**
 * The first rows of very many, in an order, of which no more are ever held than some tens of thousands: the first 10,000, and the first 20 of each
 * task, so that a task with few is not lost behind others.
 */
class FirstRows<T extends { task: string }> {
  readonly #order: (a: T, b: T) => number
  #rows: T[] = []

  constructor(order: (a: T, b: T) => number) {
    this.#order = order
  }

  async add(rows: readonly T[]): Promise<void> {
    for (const row of rows) this.#rows.push(row)
    if (this.#rows.length > 2 * (most + mostForTasks)) await this.inOrder()
  }

  /** All that are kept so far. */
  async inOrder(): Promise<T[]> {
    const sorted = await sortedInPieces(this.#rows, this.#order)
    const ofTask = new Map<string, number>()
    let forTasks = 0
    this.#rows = sorted.filter((row, at) => {
      const own = ofTask.get(row.task) ?? 0
      ofTask.set(row.task, own + 1)
      if (at < most) return true
      if (own >= mostOfTask || forTasks >= mostForTasks) return false
      forTasks++
      return true
    })
    return this.#rows
  }
}

/**
 * The slowest calls of all workers, slowest first; also of workers whose leases ended, while their cards are there. Of very many the first 10,000,
 * and the first 20 of each task.
 */
export const readSlowCalls = async (client: Redis, keys: Keys): Promise<SlowCallOverview[]> => {
  const catalogue = new Catalogue(keys)
  const workers = await catalogue.allWorkers(client)
  const rows = new FirstRows<SlowCallOverview>((a, b) => b.totalUs - a.totalUs)
  for await (const [worker, calls] of catalogue.eachSlowCalls(client, workers))
    await rows.add(listed(worker, calls, (call, whose) => ({ ...call, totalUs: totalOf(call.us), ...whose })))
  return rows.inOrder()
}

/** The recent failures of all workers, newest first; as many, and of the same workers. */
export const readFailures = async (client: Redis, keys: Keys): Promise<FailureOverview[]> => {
  const catalogue = new Catalogue(keys)
  const workers = await catalogue.allWorkers(client)
  const rows = new FirstRows<FailureOverview>((a, b) => b.at - a.at)
  for await (const [worker, calls] of catalogue.eachFailures(client, workers))
    await rows.add(listed(worker, calls, (call, whose) => ({ ...call, ...whose })))
  return rows.inOrder()
}

const listed = <T, U>(
  { id: worker, queue, host, pid }: LiveWorker,
  byTask: Record<string, T[]>,
  withWhose: (call: T, whose: Whose) => U,
): U[] =>
  Object.entries(byTask).flatMap(([task, calls]) =>
    calls.map(call => withWhose(call, { task, queue, worker, host, pid })),
  )
