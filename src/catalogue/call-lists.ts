import type { Failure } from '../figures/recent-failures.ts'
import { type SlowCall, totalOf } from '../figures/slow-calls.ts'
import type { Redis } from '../redis/connection.ts'
import type { Keys } from '../wire/keys.ts'
import type { LiveWorker } from './cards.ts'
import { Catalogue } from './catalogue.ts'
import { makePauses, sortedInPieces } from './in-pieces.ts'

/** Whose call it was, and which worker says so. */
interface Whose {
  task: string
  queue: string
  /** Id of the worker. */
  worker: string
  host: string
  pid: number
}

/** One of the slowest calls of the last minutes, with its task and the worker that ran it. */
export interface SlowCallOverview extends SlowCall, Whose {
  /** All phases together. */
  totalUs: number
}

/** A call or job of the last hour that did not end well, with its task and the worker that says so. */
export interface FailureOverview extends Failure, Whose {}

/** The slowest calls of all workers, slowest first; also of workers whose leases ended, while their cards are there. */
export const readSlowCalls = async (client: Redis, keys: Keys): Promise<SlowCallOverview[]> => {
  const catalogue = new Catalogue(keys)
  const workers = await catalogue.allWorkers(client)
  const calls = await listed(workers, await catalogue.slowCalls(client, workers), (call, whose) => ({
    ...call,
    totalUs: totalOf(call.us),
    ...whose,
  }))
  return sortedInPieces(calls, (a, b) => b.totalUs - a.totalUs)
}

/** The recent failures of all workers, newest first; also of workers whose leases ended, while their cards are there. */
export const readFailures = async (client: Redis, keys: Keys): Promise<FailureOverview[]> => {
  const catalogue = new Catalogue(keys)
  const workers = await catalogue.allWorkers(client)
  const calls = await listed(workers, await catalogue.failures(client, workers), (call, whose) => ({
    ...call,
    ...whose,
  }))
  return sortedInPieces(calls, (a, b) => b.at - a.at)
}

/** Those of hundreds of workers are tens of thousands. */
const listed = async <T, U>(
  workers: LiveWorker[],
  byWorker: ReadonlyMap<string, Record<string, T[]>>,
  withWhose: (call: T, whose: Whose) => U,
): Promise<U[]> => {
  const pause = makePauses()
  const all: U[] = []
  for (const { id: worker, queue, host, pid } of workers) {
    for (const [task, calls] of Object.entries(byWorker.get(worker) ?? {}))
      for (const call of calls) all.push(withWhose(call, { task, queue, worker, host, pid }))
    await pause()
  }
  return all
}
