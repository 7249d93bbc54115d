import type { FailureOverview, Overview, SlowCallOverview, WorkerOverview, WorkerTask } from 'pshub'
import type { WorkerDetail } from '../contract.ts'
import { mostOfOne } from './call-list.ts'
import { workerRow } from './rows.ts'

/** All that the page of one worker shows. */
export const workerDetail = (
  { workers }: Overview,
  worker: WorkerOverview,
  done: Readonly<Record<string, WorkerTask>>,
  { slow, failures }: { slow: SlowCallOverview[]; failures: FailureOverview[] },
): WorkerDetail => {
  const { id, host, pid, live } = worker
  const isOfIts = (call: { worker: string }) => call.worker === id
  return {
    row: workerRow(worker),
    tasks: Object.keys(worker.tasks)
      .sort()
      .map(task => {
        const known = Object.hasOwn(done, task) ? done[task]! : undefined
        // The last minute of one that died is long ago.
        return { task, ...(known && { totals: known.totals, ...(live && { load: known.load }) }) }
      }),
    others: workers
      .filter(other => other.id !== id && other.host === host && other.pid === pid)
      .map(other => ({ id: other.id, queue: other.queue, live: other.live })),
    slow: slow.filter(isOfIts).slice(0, mostOfOne),
    failures: failures.filter(isOfIts).slice(0, mostOfOne),
  }
}
