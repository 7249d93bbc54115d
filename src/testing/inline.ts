import type { Hub } from '../hub/hub.ts'
import type { TestClock } from './clock.ts'
import type { EnqueuedJobs } from './enqueued.ts'
import type { Runs } from './runs.ts'
import type { TestWorker } from './worker.ts'

export interface InlineParts {
  clock: TestClock
  runs: Runs
  record: EnqueuedJobs
  serving: TestWorker
}

/** So long, in real time, one job may take. */
const timeoutMs = 5000

/**
 * enqueue() resolves when the job has run once, and rejects with what its handler threw. What is to run later, or in a queue that the worker of the
 * test does not serve, is only enqueued.
 */
export const runInline = (hub: Hub, { clock, runs, record, serving }: InlineParts): void => {
  hub.use(next => async request => {
    const job = await next(request)
    const enqueued = record.byId(job.id)
    const isServed = serving.queues.includes(enqueued?.queue ?? '')
    if (!enqueued || !isServed || enqueued.dueMs > clock.nowMs) return job
    const end = await runs.endOf(job.id, timeoutMs)
    if (!end)
      throw new Error(
        `The job ${job.id} of ${enqueued.task} did not end within ${timeoutMs} ms. Does it wait for another job of its key, or for this one?`,
      )
    // Until that is known in Redis, too: status() and result() tell of it.
    await clock.quiet({ isPatient: false })
    if ('error' in end) throw end.error
    return job
  })
}
