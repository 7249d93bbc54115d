import { Catalogue } from '../catalogue/catalogue.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { HubError } from '../wire/errors.ts'
import type { JobFailure } from '../wire/job-part.ts'
import { PayloadProblem } from '../wire/json/json-value.ts'
import type { Keys } from '../wire/keys.ts'
import { decodeRequest, type Request } from '../wire/message.ts'
import { namesOf, refuseHubOptions } from '../wire/options.ts'
import { decodePayload, encodePayload, invalid } from '../wire/payload.ts'
import type { JobHost } from './job.ts'
import { revivedMessage } from './job-text.ts'

/** A dead job. */
export interface DeadJob {
  id: string
  queue: string
  /** `name:version` */
  task: string
  args: unknown
  /** Name of the service that enqueued it. */
  from: string | undefined
  /** When it became dead, Redis milliseconds. */
  atMs: number
  /** How often it was tried. */
  tries: number
  /** Its last ten failures, oldest first. */
  errors: JobFailure[]
  /** How many steps of its chain wait for it. */
  following: number
  /** Its key; undefined for one without. */
  key: string | undefined
  /** Of a merged job: the score of its payload, which is its `args`. */
  score: number | undefined
}

/** Filter of dead jobs; omitted fields match everything. */
export interface DeadFilter {
  ids?: readonly string[] | undefined
  task?: string | undefined
  /** Code of the last failure. */
  code?: string | undefined
  key?: string | undefined
  /** Dead before this, Redis milliseconds. */
  beforeMs?: number | undefined
}

/** Read at a time: each of them may be a megabyte. */
const page = 20
/** Sent at a time. */
const batch = 20

/** The dead jobs of a queue. They are kept for 180 days, at most 10,000 per shard. */
export class DeadJobs {
  readonly #host: JobHost
  readonly #queue: string
  readonly #keys: Keys

  constructor(host: JobHost, queue: string, keys: Keys) {
    this.#host = host
    this.#queue = queue
    this.#keys = keys
  }

  /** How many dead jobs exist, or match. */
  async count(filter?: DeadFilter): Promise<number> {
    const counts = (await this.#places()).map(async queue => {
      if (!filter) return (await this.#host.ask(client => command(client, 'zcard', queue.keys.dead))) as number
      let count = 0
      for await (const _ of this.#matching(queue, filter)) count++
      return count
    })
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  /**
   * The latest first, at most `limit` (default 100).
   *
   * @throws HubError NotEnqueued when Redis is unreachable, HubClosed
   */
  async list(filter: DeadFilter = {}, limit = 100): Promise<DeadJob[]> {
    const places = await this.#places()
    const found = places.map(async queue => {
      const some: DeadJob[] = []
      for await (const { job } of this.#matching(queue, filter)) {
        if (some.push(job) >= limit) break
      }
      return some
    })
    const all = (await Promise.all(found)).flat()
    return places.length === 1 ? all : all.sort((a, b) => b.atMs - a.atMs).slice(0, limit)
  }

  /**
   * Retries the matching jobs with a new count of tries; their chains continue. `args` replaces the arguments, which
   * makes sense for one job; `argsText` does the same as JSON, for integers beyond 2^53.
   *
   * @returns how many
   * @throws HubError as list(), InvalidArgs for arguments that are not JSON
   */
  async retry(filter: DeadFilter = {}, options: RetryOptions = {}): Promise<number> {
    refuseHubOptions('dead jobs', options, retryNames)
    const args =
      options.argsText === undefined ? 'args' in options && argsText(options.args) : checked(options.argsText)
    return this.#inBatches(filter, (queue, texts) =>
      this.#host.change(client => retryDead(client, queue, texts, args || undefined)),
    )
  }

  /** Permanently deletes the matching jobs. Returns how many. */
  delete(filter: DeadFilter = {}): Promise<number> {
    return this.#inBatches(filter, (queue, texts) => this.#host.change(client => queue.deleteDead(client, texts)))
  }

  /** The queue, and its shards. */
  async #places(): Promise<JobQueue[]> {
    const names = await this.#host.ask(client => new Catalogue(this.#keys).places(client, this.#queue))
    return names.map(name => this.#host.queueOf(name))
  }

  async #inBatches(filter: DeadFilter, act: (queue: JobQueue, texts: string[]) => Promise<number>): Promise<number> {
    let count = 0
    for (const queue of await this.#places()) {
      // All are found before the first one goes: what is read by place must not move meanwhile.
      const texts: string[] = []
      for await (const { text } of this.#matching(queue, filter)) texts.push(text)
      for (let from = 0; from < texts.length; from += batch) count += await act(queue, texts.slice(from, from + batch))
    }
    return count
  }

  async *#matching(queue: JobQueue, filter: DeadFilter): AsyncGenerator<{ job: DeadJob; text: string }> {
    checkFilter(filter)
    const { dead } = queue.keys
    for (let from = 0; ; from += page) {
      const flat = (await this.#host.ask(client =>
        command(client, 'zrange', dead, from, from + page - 1, 'REV', 'WITHSCORES'),
      )) as string[]
      for (let at = 0; at + 1 < flat.length; at += 2) {
        const job = this.#read(queue, flat[at]!, Number(flat[at + 1]))
        if (job && matches(job, filter)) yield { job, text: flat[at]! }
      }
      if (flat.length < 2 * page) return
    }
  }

  /** Undefined for what is no job. */
  #read(queue: JobQueue, text: string, atMs: number): DeadJob | undefined {
    let request: Request
    try {
      request = decodeRequest(text, undefined, this.#keys.namespace)
    } catch {
      return undefined
    }
    const { id, task, args, from, job, then } = request
    const following = Array.isArray(then) ? then.length : 0
    const { tries = 0, errors = [], key, score } = job ?? {}
    return { id, queue: queue.name, task, args, from, atMs, tries, errors, following, key, score }
  }
}

/** Has dead jobs, exactly as they lie there, tried again. Returns how many were there. */
export const retryDead = (client: Redis, queue: JobQueue, texts: readonly string[], args?: string): Promise<number> =>
  queue.revive(
    client,
    texts.map(lying => ({ lying, message: revivedMessage(lying, args) })),
  )

const filterNames = namesOf<DeadFilter>({ ids: true, task: true, code: true, key: true, beforeMs: true })
/** Arguments for retried jobs. */
export interface RetryOptions {
  args?: unknown
  argsText?: string
}
const retryNames = namesOf<RetryOptions>({ args: true, argsText: true })

/** What is no filter must not pass for all of them. */
const checkFilter = (filter: DeadFilter): void => {
  refuseHubOptions('dead jobs', filter, filterNames, 'filter')
  if (filter.ids !== undefined && !Array.isArray(filter.ids))
    throw new HubError('InvalidArgs', 'dead jobs: ids must be an array of ids.')
}

const matches = ({ id, task, errors, atMs, key }: DeadJob, filter: DeadFilter): boolean =>
  (filter.ids === undefined || filter.ids.includes(id)) &&
  (filter.task === undefined || filter.task === task) &&
  (filter.code === undefined || filter.code === errors.at(-1)?.code) &&
  (filter.key === undefined || filter.key === key) &&
  (filter.beforeMs === undefined || atMs < filter.beforeMs)

const argsText = (args: unknown): string => orInvalid(() => encodePayload(args))

/** The text itself, where it is JSON that can travel. */
const checked = (text: string): string =>
  orInvalid(() => {
    decodePayload(text)
    return text
  })

const orInvalid = (encode: () => string): string => {
  try {
    return encode()
  } catch (error) {
    if (error instanceof PayloadProblem) throw invalid('InvalidArgs', [error.problem], {})
    throw error
  }
}
