import { numberIn } from '../wire/foreign.ts'
import type { Job, JobHost } from './job.ts'

/** The progress of a batch. */
export interface BatchStatus {
  /** Number of jobs; undefined while they are being enqueued. */
  total: number | undefined
  done: number
  /** Dead, expired or cancelled. */
  dead: number
  /** When the last one ended, Redis milliseconds. */
  endedMs: number | undefined
}

/** Facts about a batch that are known when it is created. */
export interface BatchParts<After = unknown, Failed = unknown> {
  readonly id: string
  /** Queue in which it is counted: that of the follow-up job. */
  readonly queue: string
  /** Ids of its jobs. */
  readonly ids: readonly string[]
  /** Follow-up job when all have ended; `failed` replaces it if one of them failed. */
  readonly after: Job<After> | undefined
  readonly failed: Job<Failed> | undefined
}

/** Jobs that belong together: when all have ended, the follow-up job is enqueued once. */
export class Batch<After = unknown, Failed = unknown> implements BatchParts<After, Failed> {
  readonly id: string
  readonly queue: string
  readonly ids: readonly string[]
  readonly after: Job<After> | undefined
  readonly failed: Job<Failed> | undefined
  readonly #host: JobHost

  constructor(host: JobHost, { id, queue, ids, after, failed }: BatchParts<After, Failed>) {
    this.#host = host
    this.id = id
    this.queue = queue
    this.ids = ids
    this.after = after
    this.failed = failed
  }

  /** Undefined when it ended more than an hour ago. */
  async status(): Promise<BatchStatus | undefined> {
    const { ask, queueOf } = this.#host
    const { total, done, dead, ended, opened } = await ask(client => queueOf(this.queue).batch(client, this.id))
    if (opened === undefined) return undefined
    return { total: numberIn(total), done: numberIn(done) ?? 0, dead: numberIn(dead) ?? 0, endedMs: numberIn(ended) }
  }
}
