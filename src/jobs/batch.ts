import { numberIn } from '../wire/foreign.ts'
import type { Job, JobHost } from './job.ts'

/** How the jobs of a batch fare. */
export interface BatchStatus {
  /** How many there are; undefined while they are being enqueued. */
  total: number | undefined
  done: number
  /** Dead, expired or cancelled. */
  dead: number
  /** When the last one ended, Redis milliseconds. */
  endedMs: number | undefined
}

/** What is known of a batch when it was made. */
export interface BatchParts<After = unknown, Failed = unknown> {
  readonly id: string
  /** Where it is counted: the queue of what follows. */
  readonly queue: string
  /** Of its jobs. */
  readonly ids: readonly string[]
  /** What follows when all have ended; `failed` in its place where one of them did not end well. */
  readonly after: Job<After> | undefined
  readonly failed: Job<Failed> | undefined
}

/** Jobs that belong together: when all have ended, what is to follow is enqueued, once. */
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
