import { Catalogue } from '../catalogue/catalogue.ts'
import { nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { HubError } from '../wire/errors.ts'
import type { JobFailure } from '../wire/job-part.ts'
import { isId, isQueueName, type Keys } from '../wire/keys.ts'
import { decodeRequest, type Request } from '../wire/message.ts'
import { namesOf } from '../wire/options.ts'
import { Batch, type BatchStatus } from './batch.ts'
import { Chain, type JobHost, type StepStatus } from './job.ts'
import { hasEnded, type JobRecord, type JobStatus } from './job-record.ts'
import { argsTextOf } from './job-text.ts'
import { withProgress } from './lists/job-progress.ts'
import { type FoundJob, JobSearch, type LyingState, SearchBudget } from './lists/job-search.ts'
import { findJobRecord } from './lists/listing.ts'

/** Where to find a job; not needed for a tracked job. */
export interface JobPlace {
  queue?: string | undefined
  /** Its last known state. */
  state?: LyingState | undefined
  /** For a scheduled, retrying or dead job: the time of its state, which finds it quickly among many others. */
  atMs?: number | undefined
}

export const jobPlaceNames = namesOf<JobPlace>({ queue: true, state: true, atMs: true })

/** Everything known about a job. */
export interface JobDetails extends JobStatus {
  /** It has a record. */
  isTracked: boolean
  /** Its arguments; undefined if it has succeeded and its message was deleted. */
  args: unknown
  /** The same as JSON, exactly as in its message. In `args` a number that JavaScript cannot represent is an ExactNumber. */
  argsText: string | undefined
  /** Its message exists: it can be retried when it is dead. */
  hasMessage: boolean
  from: string | undefined
  priority: 'high' | 'normal' | 'low'
  /** Jobs of its task with the same key run one at a time. */
  key: string | undefined
  /** How often it is retried; undefined: as declared by its task. */
  retries: number | undefined
  /** The unique id that no other job of its queue may have at the same time. */
  unique: string | undefined
  /** It is not run after this, Redis milliseconds. */
  expiresMs: number | undefined
  /** Its last ten failures, oldest first. */
  errors: JobFailure[]
  /** For a scheduled, retrying or dead job: the time of that state. */
  atMs: number | undefined
  /** JSON; only if it succeeded and its result is kept. */
  result: string | undefined
  /** Also undefined if there is no record of its chain. */
  chain: ChainDetails | undefined
  batch: BatchDetails | undefined
}

/** The chain of a job. */
export interface ChainDetails {
  /** Id of its first job. */
  id: string
  steps: StepStatus[]
}

/** The batch of a job. */
export interface BatchDetails {
  id: string
  queue: string
  /** Undefined if there is no record of it. */
  status: BatchStatus | undefined
  /** The follow-up job, and the one that replaces it if a job failed. */
  after: { id: string; task: string } | undefined
  failed: { id: string; task: string } | undefined
}

/** A job whose message is there; looked for where it was seen, then wherever else it may be by now. */
const findJob = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  id: string,
  { queue, state, atMs }: JobPlace & { queue: string },
): Promise<FoundJob | undefined> => {
  const nowMs = await nowMsOf(client, keys.queue(queue).jobs)
  const seen = state ?? 'waiting'
  const others = (['running', 'retrying', 'dead', 'waiting', 'scheduled'] as const).filter(each => each !== seen)
  for (const each of [seen, ...others]) {
    const search = new JobSearch(client, catalogue, keys, each, nowMs)
    const lies = each === seen ? atMs : undefined
    const found = await firstOf(search.find(queue, { id }, new SearchBudget(), { atMs: lies }))
    if (found) return found
  }
  return undefined
}

/**
 * All that is known of a job: what its message says, wherever that lies, and its record, if it is tracked.
 * @throws HubError NoSuchJob, NotEnqueued
 */
export const readJobDetails = async (host: JobHost, keys: Keys, id: string, place: JobPlace): Promise<JobDetails> => {
  const { record, found } = await host.ask(client => findAll(client, keys, id, place))
  const details = detailsOf(found, record)
  if (!details) throw unknownJob(id, place)
  const { progress } = record?.status ?? (await host.ask(client => withProgress(client, keys, details)))
  const chain = chainOf(found?.request, record)
  // Any program may have written the message: it may name a chain that never was, and the job is there all the same.
  const steps = chain && (await new Chain(host, chain.id, chain.steps).statusWith(found && statusOf(found)))
  const batch = batchOf(found?.request)
  return {
    ...details,
    progress,
    chain: steps && chain && { id: chain.id, steps },
    batch: batch && (await readBatch(host, keys, batch)),
  }
}

export const unknownJob = (id: string, { queue }: JobPlace): HubError => {
  const where =
    queue === undefined ? 'it was not tracked, or the record has expired' : `it is not in queue ${queue} any more`
  return new HubError('NoSuchJob', `There is no record of job ${String(id).slice(0, 80)}: ${where}.`)
}

/** Record and message. One that ended well has no message any more. */
export const findAll = async (
  client: Redis,
  keys: Keys,
  id: string,
  place: JobPlace,
): Promise<{ record: JobRecord | undefined; found: FoundJob | undefined }> => {
  const catalogue = new Catalogue(keys)
  const queues = await catalogue.places(client, place.queue)
  const record = await findJobRecord(client, keys, id, queues)
  const queue = record?.status.queue ?? place.queue
  if (queue === undefined || (record && hasEnded(record.status) && record.status.state !== 'dead'))
    return { record, found: undefined }
  const known = record ? placeOf(record) : place
  return { record, found: await findJob(client, catalogue, keys, id, { ...known, queue }) }
}

/** The record says where it lies. */
const placeOf = ({ status }: JobRecord): JobPlace => {
  const { state, dueMs, endedMs } = status
  if (state === 'dead') return { state, atMs: endedMs }
  if (state === 'scheduled' || state === 'retrying') return { state, atMs: dueMs }
  return state === 'waiting' || state === 'running' ? { state } : {}
}

const firstOf = async <T>(all: AsyncGenerator<T, unknown>): Promise<T | undefined> => {
  for await (const one of all) return one
  return undefined
}

/** What the message and the record of a job say together; of its chain and its batch where they are, for others to ask. */
const detailsOf = (
  found: FoundJob | undefined,
  record: JobRecord | undefined,
): Omit<JobDetails, 'chain' | 'batch'> | undefined => {
  const status = record?.status ?? (found && statusOf(found))
  if (!status) return undefined
  const { request, job } = found ?? {}
  const { atUs, ttlMs = 0 } = request ?? {}
  return {
    ...status,
    isTracked: record !== undefined,
    args: request?.args,
    argsText: found && argsTextOf(found.text),
    hasMessage: found !== undefined,
    from: request?.from,
    priority: job?.priority ?? 'normal',
    key: job?.key,
    retries: request?.job?.retries,
    unique: request?.job?.unique,
    expiresMs: ttlMs === 0 || atUs === undefined || job?.state === 'dead' ? undefined : Math.floor(atUs / 1000) + ttlMs,
    errors: request?.job?.errors ?? (status.error ? [status.error] : []),
    atMs: job?.deadMs ?? job?.dueMs,
    result: record?.result,
  }
}

const statusOf = ({ job }: FoundJob): JobStatus | undefined => {
  const { id, queue, task, state, tries, error, enqueuedMs, dueMs, deadMs, worker } = job
  if (id === undefined) return undefined
  return {
    ...{ id, queue, task, state, tries, error, worker },
    // The time in a message is that of its last wait.
    enqueuedMs: state === 'waiting' && tries === 0 ? enqueuedMs : undefined,
    dueMs,
    startedMs: undefined,
    endedMs: deadMs,
  }
}

/** The chain that a job is a step of, by its record or its message. */
const chainOf = (
  request: Request | undefined,
  record: JobRecord | undefined,
): { id: string; steps: [queue: string, task: string][] } | undefined => {
  if (record?.chain) return record.chain
  const { chain, steps } = request?.job ?? {}
  return isId(chain) && steps?.every(([queue]) => isQueueName(queue)) ? { id: chain, steps } : undefined
}

/** Queue and id of the batch that a job is one of. */
const batchOf = (request: Request | undefined): { queue: string; id: string } | undefined => {
  const [queue, id, ...others] = request?.job?.batch?.split('/') ?? []
  return isQueueName(queue) && isId(id) && others.length === 0 ? { queue, id } : undefined
}

const readBatch = async (
  host: JobHost,
  keys: Keys,
  { queue, id }: { queue: string; id: string },
): Promise<BatchDetails> => {
  const fields = await host.ask(client => host.queueOf(queue).batch(client, id))
  const status = await new Batch(host, { id, queue, ids: [], after: undefined, failed: undefined }).status()
  const jobIn = (text: string | undefined) => {
    if (!text) return undefined
    try {
      const { id, task } = decodeRequest(`{${text}`, undefined, keys.namespace)
      return { id, task }
    } catch {
      return undefined
    }
  }
  return { id, queue, status, after: jobIn(fields.then), failed: jobIn(fields.failed) }
}
