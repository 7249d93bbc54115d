import { JobQueue } from '../../queue/job-queue.ts'
import type { Redis } from '../../redis/connection.ts'
import { isRefusal } from '../../redis/failures.ts'
import type { Keys } from '../../wire/keys.ts'
import { type Progress, readProgressText } from '../../wire/stream.ts'
import type { JobStatus } from '../job-record.ts'

/** How far a job is, as its handler said; undefined where it said nothing, or this user may not see it. */
export const readJobProgress = async (queue: JobQueue, client: Redis, id: string): Promise<Progress | undefined> => {
  try {
    return readProgressText(await queue.progress(client, id))
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** The same status, of a job that runs with its progress. */
export const withProgress = async <S extends JobStatus>(client: Redis, keys: Keys, status: S): Promise<S> =>
  status.state === 'running'
    ? { ...status, progress: await readJobProgress(new JobQueue(status.queue, keys), client, status.id) }
    : status
