import { type Load, LoadSum } from '../figures/load.ts'
import type { Counts } from '../figures/task-stats.ts'
import type { Redis } from '../redis/connection.ts'
import type { Keys } from '../wire/keys.ts'
import type { WorkerCard } from './cards.ts'
import { Catalogue } from './catalogue.ts'

/** Figures of one task on one worker. */
export interface WorkerTask {
  /** Calls that ended since its start. */
  totals: Counts
  /** Figures of the last minute before its last heartbeat. */
  load: Load
}

/** By name:version, of the tasks of its card that it told anything of. */
export const readWorkerTasks = async (
  client: Redis,
  keys: Keys,
  worker: WorkerCard,
): Promise<Record<string, WorkerTask>> => {
  const record = (await new Catalogue(keys).workerRecords(client, [worker])).get(worker.id)
  return Object.fromEntries(
    [...(record?.tasks ?? [])].map(([task, { totals, window }]) => {
      const sum = new LoadSum()
      sum.add(window, record!.ms)
      return [task, { totals, load: sum.load() }]
    }),
  )
}
