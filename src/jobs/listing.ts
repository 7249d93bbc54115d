import { Catalogue } from '../catalogue/catalogue.ts'
import { inPages } from '../catalogue/overview.ts'
import { nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { HubError } from '../wire/errors.ts'
import type { JobFailure } from '../wire/job-part.ts'
import { isQueueName, type Keys } from '../wire/keys.ts'
import { decodeRequest, type Request } from '../wire/message.ts'
import { type JobRecord, readJobRecord } from './job-record.ts'

export const queuedStates = ['waiting', 'scheduled', 'retrying', 'dead'] as const
/** Where a job lies: in a list for a worker, until its time comes, until its next try, or with those that were given up. */
export type QueuedState = (typeof queuedStates)[number]

/** How many jobs of a queue lie where; undefined for what this Redis user may not read. */
export type JobCounts = { queue: string } & Record<QueuedState, number | undefined>

/** A job as it lies in Redis, tracked or not. */
export interface QueuedJob {
  /** Undefined where a program without the library put it there and gave it none. */
  id: string | undefined
  queue: string
  state: QueuedState
  /** `name:version` */
  task: string
  /** Name of the service that enqueued it. */
  from: string | undefined
  priority: 'high' | 'normal' | 'low'
  /** How often it has failed so far. */
  tries: number
  /** How it failed last. */
  error: JobFailure | undefined
  /** When it came there, Redis milliseconds; undefined where it does not say. */
  enqueuedMs: number | undefined
  /** When its next try is due, Redis milliseconds; of scheduled and retrying ones. */
  dueMs: number | undefined
  /** When it was given up, Redis milliseconds; of dead ones. */
  deadMs: number | undefined
}

/** What is asked for; what is not said does not matter. */
export interface JobsQuery {
  /** Default: all queues that a task is known in. */
  queue?: string | undefined
  /** Default: the counts alone. */
  state?: QueuedState | undefined
  /** `name:version`; needs `state`. */
  task?: string | undefined
  /** How many jobs at the most, 1 to 10,000. Default 100. */
  limit?: number | undefined
}

export interface JobsListing {
  /** When it was read, milliseconds of Redis' clock. */
  atMs: number
  counts: JobCounts[]
  /** What is taken or due next comes first, of dead ones the latest. */
  jobs: QueuedJob[]
  /** There are more, or there may be: of each queue 10,000 jobs are looked at. */
  more: boolean
}

/** Read at a time: each of them may be a megabyte. */
const page = 20
const mostSearched = 10_000
const mostListed = 10_000

/** @throws HubError InvalidArgs */
export const checkJobsQuery = ({ queue, state, task, limit }: JobsQuery): void => {
  const wrong = (what: string) => new HubError('InvalidArgs', `jobs: ${what}.`)
  const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 80)
  if (queue !== undefined && !isQueueName(queue)) throw wrong(`queue must be the name of a queue, not ${shown(queue)}`)
  if (state !== undefined && !queuedStates.includes(state))
    throw wrong(`state must be ${queuedStates.join(', ')}, not ${shown(state)}`)
  if (task !== undefined && typeof task !== 'string') throw wrong(`task must be a name, not ${shown(task)}`)
  if (task !== undefined && state === undefined) throw wrong('task needs a state')
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0 && limit <= mostListed))
    throw wrong(`limit must be a whole number from 1 to ${mostListed}, not ${shown(limit)}`)
}

/** Reads what lies in queues, page by page. Meanwhile workers go on: a look, and no snapshot. */
export const readJobs = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  { queue, state, task, limit = 100 }: JobsQuery,
): Promise<JobsListing> => {
  const atMs = await nowMsOf(client)
  const queues = queue === undefined ? await catalogue.queues(client) : [queue]
  const counts = await inPages(queues, name => readCounts(client, catalogue, keys, name))
  const jobs: QueuedJob[] = []
  let more = false
  if (state !== undefined) {
    const reader = new Reader(client, catalogue, keys, state)
    for (const name of queues) {
      const found = await reader.jobsOf(name, task, limit)
      jobs.push(...found.jobs)
      more ||= found.more
    }
    // Each queue's own are in order.
    if (state === 'dead') jobs.sort((a, b) => b.deadMs! - a.deadMs!)
    else if (state !== 'waiting') jobs.sort((a, b) => a.dueMs! - b.dueMs!)
  }
  return { atMs, counts, jobs: jobs.slice(0, limit), more: more || jobs.length > limit }
}

/** The record of a tracked job in the first of these queues that has one. */
export const findJobRecord = async (
  client: Redis,
  keys: Keys,
  id: string,
  queues: readonly string[],
): Promise<JobRecord | undefined> => {
  const catalogue = new Catalogue(keys)
  const found = await inPages(queues, async name => {
    const fields = await catalogue.ask<Record<string, string>>(client, {}, 'hgetall', keys.queue(name).job(id))
    return readJobRecord(Object.entries(fields).flat(), id, name)
  })
  return found.find(record => record !== undefined)
}

const readCounts = async (client: Redis, catalogue: Catalogue, keys: Keys, queue: string): Promise<JobCounts> => {
  const { jobs, jobsHigh, jobsLow, scheduled, retries, dead } = keys.queue(queue)
  const count = (name: 'llen' | 'zcard', key: string) => catalogue.askIfAllowed(client, 0, name, key)
  const [high, normal, low, scheduledCount, retrying, deadCount] = await Promise.all([
    count('llen', jobsHigh),
    count('llen', jobs),
    count('llen', jobsLow),
    count('zcard', scheduled),
    count('zcard', retries),
    count('zcard', dead),
  ])
  const waiting = normal === undefined ? undefined : normal + (high ?? 0) + (low ?? 0)
  return { queue, waiting, scheduled: scheduledCount, retrying, dead: deadCount }
}

/** Text of a job, and the score under which it lies, if any. */
type Element = readonly [text: string, score: number]

class Reader {
  readonly #client: Redis
  readonly #catalogue: Catalogue
  readonly #keys: Keys
  readonly #state: QueuedState

  constructor(client: Redis, catalogue: Catalogue, keys: Keys, state: QueuedState) {
    this.#client = client
    this.#catalogue = catalogue
    this.#keys = keys
    this.#state = state
  }

  async jobsOf(queue: string, task: string | undefined, limit: number): Promise<{ jobs: QueuedJob[]; more: boolean }> {
    const jobs: QueuedJob[] = []
    let searched = 0
    for await (const elements of this.#pages(queue)) {
      for (const element of elements) {
        if (searched++ >= mostSearched || jobs.length >= limit) return { jobs, more: true }
        const job = this.#read(element, queue)
        if (job && (task === undefined || job.task === task)) jobs.push(job)
      }
    }
    return { jobs, more: false }
  }

  async *#pages(queue: string): AsyncGenerator<Element[]> {
    const { jobsHigh, jobs, jobsLow, scheduled, retries, dead } = this.#keys.queue(queue)
    if (this.#state === 'waiting') for (const list of [jobsHigh, jobs, jobsLow]) yield* this.#pagesOfList(list)
    else if (this.#state === 'dead') yield* this.#pagesOfSet(dead, 'REV')
    else yield* this.#pagesOfSet(this.#state === 'scheduled' ? scheduled : retries)
  }

  async *#pagesOfList(list: string): AsyncGenerator<Element[]> {
    for (let from = 0; ; from += page) {
      const texts = await this.#catalogue.ask<string[]>(this.#client, [], 'lrange', list, from, from + page - 1)
      yield texts.map(text => [text, 0])
      if (texts.length < page) return
    }
  }

  async *#pagesOfSet(set: string, ...order: string[]): AsyncGenerator<Element[]> {
    for (let from = 0; ; from += page) {
      const range = [set, from, from + page - 1, ...order, 'WITHSCORES'] as const
      const flat = await this.#catalogue.ask<string[]>(this.#client, [], 'zrange', ...range)
      const elements: Element[] = []
      for (let at = 0; at + 1 < flat.length; at += 2) elements.push([flat[at]!, Number(flat[at + 1])])
      yield elements
      if (elements.length < page) return
    }
  }

  /** Undefined for what is no job. */
  #read([text, score]: Element, queue: string): QueuedJob | undefined {
    let request: Request
    try {
      // Workers give one without an id one of their own when they take it.
      request = decodeRequest(text, '', this.#keys.namespace)
    } catch {
      return undefined
    }
    const { id, task, from, job, atUs } = request
    const { tries = 0, errors = [], priority = 'normal' } = job ?? {}
    const state = this.#state
    return {
      ...{ id: id === '' ? undefined : id, queue, state, task, from, priority, tries },
      error: errors.at(-1),
      enqueuedMs: atUs === undefined ? undefined : Math.floor(atUs / 1000),
      dueMs: state === 'scheduled' || state === 'retrying' ? score : undefined,
      deadMs: state === 'dead' ? score : undefined,
    }
  }
}
