import { signal } from '@preact/signals'
import type { LiveReading, QueueRow, Summary, TaskRow, WorkerRow } from '../../contract.ts'
import { applied } from './delta.ts'

/** What the live stream last said. Rows are in the order of the registry. */
export const summary = signal<Summary | undefined>(undefined)
export const tasks = signal<ReadonlyMap<string, TaskRow> | undefined>(undefined)
export const workers = signal<ReadonlyMap<string, WorkerRow> | undefined>(undefined)
export const queues = signal<ReadonlyMap<string, QueueRow> | undefined>(undefined)

/**
 * `hidden`: nobody sees the page, so that nothing is read for it. `lost`: the service cannot be reached; `blind`: it cannot
 * read the registry. `problem` says why.
 */
export type LiveState = 'connecting' | 'live' | 'paused' | 'hidden' | 'lost' | 'blind'
export const state = signal<LiveState>('connecting')
export const problem = signal<string | undefined>(undefined)

/** What the service has every page say at its top. */
export const notice = signal<string | undefined>(undefined)

/** When the last reading came, on the clock of performance.now(), which nobody sets; undefined before the first. */
const receivedAt = signal<number | undefined>(undefined)
/** Redis' clock at the last reading. */
const readAtMs = signal<number | undefined>(undefined)
/** A turn every second: what reads it is drawn anew then. Still while the page is hidden. */
export const turn = signal(0)

/** Age of what is shown, milliseconds; undefined before the first reading. */
export const dataAgeMs = (): number | undefined =>
  receivedAt.value === undefined ? undefined : Math.max(0, performance.now() - receivedAt.value)
/** What pages count ages from: Redis' clock now, as far as it is known here. */
export const redisNowMs = (): number => (readAtMs.value ?? Date.now()) + (dataAgeMs() ?? 0)

/** Shows a reading. */
export const take = (reading: LiveReading): void => {
  state.value = 'live'
  problem.value = undefined
  notice.value = reading.notice
  readAtMs.value = reading.atMs
  receivedAt.value = performance.now()
  if (reading.summary) summary.value = reading.summary
  if (reading.tasks) tasks.value = applied(tasks.value, reading.tasks, row => row.task)
  if (reading.workers) workers.value = applied(workers.value, reading.workers, row => row.id)
  if (reading.queues) queues.value = applied(queues.value, reading.queues, row => row.queue)
}
