import { Catalogue } from '../catalogue/catalogue.ts'
import { inPages } from '../catalogue/overview.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { command, nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { HubError } from '../wire/errors.ts'
import type { Keys } from '../wire/keys.ts'
import { namesOf, refuseHubOptions } from '../wire/options.ts'
import { retryDead } from './dead.ts'
import type { JobHost } from './job.ts'
import { findAll, type JobPlace, unknownJob } from './job-details.ts'
import { hasEnded } from './job-record.ts'
import { hastenedMessage } from './job-text.ts'
import { type FoundJob, JobSearch, type LyingState, type QueuedState, SearchBudget } from './lists/job-search.ts'
import { checkJobsQuery, type JobsQuery, readJobCounts } from './lists/listing.ts'
import { placesOf, placesText } from './lists/places.ts'

/** Try dead jobs again, delete them, cancel those that have not ended, or run at once what waits for its time or its next try. */
const bulkActions = ['retry', 'delete', 'cancel', 'run'] as const
/** One of `bulkActions`. */
export type BulkAction = (typeof bulkActions)[number]

/** Filter of jobs; omitted fields match everything. */
export interface BulkQuery extends Pick<JobsQuery, 'queue' | 'task' | 'key' | 'text' | 'from' | 'look'> {
  state: LyingState
  /** For dead and retrying jobs: only those that failed before this, Redis milliseconds, so that later failures are not included. */
  untilMs?: number | undefined
}

const queryNames = namesOf<BulkQuery>({
  queue: true,
  task: true,
  key: true,
  text: true,
  from: true,
  look: true,
  state: true,
  untilMs: true,
})

/** The outcome of one step. */
export interface BulkStep {
  /** When it started, Redis milliseconds. */
  atMs: number
  /** How many of the searched jobs match. */
  matching: number
  /** How many of these were changed. */
  changed: number
  /** How many could not be changed: already gone, or not cancellable. */
  skipped: number
  /** Where the next step continues; undefined after the last one. */
  next: string | undefined
}

/** A job in one of these can still be cancelled. */
const openStates = ['waiting', 'scheduled', 'retrying', 'running']
/** So many are changed in one step, and so many sent to Redis at a time: each of them may be a megabyte. */
const mostChanged = 200
const batch = 20

/** @throws HubError InvalidArgs */
export const checkBulk = (action: BulkAction | undefined, query: BulkQuery): void => {
  refuseHubOptions('bulkStep', query, queryNames)
  const { untilMs: _, ...asked } = query
  checkJobsQuery(asked)
  const { state } = query
  const isDead = state === 'dead'
  if ((state as string) === 'done')
    throw new HubError('InvalidArgs', 'jobs: jobs that are done cannot be changed or counted.')
  if (state === undefined) throw new HubError('InvalidArgs', 'jobs: pass a state.')
  if (action === undefined || actionsOf(state).includes(action)) return
  const rule = isDead
    ? 'dead jobs can be retried or deleted'
    : `jobs that are ${state} can be cancelled${isPostponed(state) ? ' or run at once' : ''}`
  throw new HubError('InvalidArgs', `jobs: ${rule}; ${action} is not possible.`)
}

const isPostponed = (state: string): boolean => state === 'scheduled' || state === 'retrying'

const actionsOf = (state: LyingState): readonly BulkAction[] => {
  if (state === 'dead') return ['retry', 'delete']
  return isPostponed(state) ? ['cancel', 'run'] : ['cancel']
}

/** One step of changing, or without an action of counting, all jobs that match. */
export const bulkStep = async (
  host: JobHost,
  keys: Keys,
  action: BulkAction | undefined,
  query: BulkQuery,
): Promise<BulkStep> => {
  const { task, key, text, look } = query
  const wanted = { task, key, text, look }
  const { state, queue, from, untilMs = Number.POSITIVE_INFINITY } = query
  const { atMs, queues } = await host.ask(async client => ({
    atMs: await nowMsOf(client, keys.workers),
    queues: await new Catalogue(keys).places(client, queue),
  }))
  if (action === undefined && isWhole(query)) {
    const counts = await host.ask(client =>
      inPages(queues, name => readJobCounts(client, new Catalogue(keys), keys, name)),
    )
    const matching = counts.reduce((sum, each) => sum + (each[state as QueuedState] ?? 0), 0)
    return { atMs, matching, changed: 0, skipped: 0, next: undefined }
  }
  const places = new Map((from === undefined ? undefined : placesOf(from)) ?? queues.map(name => [name, 0]))
  const step = { atMs, matching: 0, changed: 0, skipped: 0 }
  const budget = new SearchBudget()
  for (const [name, place] of [...places]) {
    const toChange: FoundJob[] = []
    const rest = await host.ask(async client => {
      const search = new JobSearch(client, new Catalogue(keys), keys, state, atMs)
      const finding = search.find(name, wanted, budget, { from: place })
      for (;;) {
        const { done, value } = await finding.next()
        if (done) return value
        if (cameMs(value) > untilMs) continue
        step.matching++
        if (action && toChange.push(value) && step.matching >= mostChanged) return value.next
      }
    })
    const { changed, removed } = await change(host, host.queueOf(name), action, toChange)
    step.changed += changed
    step.skipped += toChange.length - changed
    if (rest === undefined) places.delete(name)
    else places.set(name, Math.max(0, rest - removed))
    if (rest !== undefined) break
  }
  return { ...step, next: placesText(places) }
}

/** When a job failed for the last time; of one that has not, it came long ago. */
const cameMs = ({ job: { deadMs, error } }: FoundJob): number => deadMs ?? error?.at ?? 0

/** All of a state: Redis knows how many these are. */
const isWhole = ({ state, task, key, text, from, untilMs, look }: BulkQuery): boolean =>
  state !== 'running' && (task ?? key ?? text ?? from ?? untilMs ?? look) === undefined

interface Changed {
  changed: number
  /** How many of them do not lie there any more. */
  removed: number
}

const change = async (
  host: JobHost,
  queue: JobQueue,
  action: BulkAction | undefined,
  jobs: readonly FoundJob[],
): Promise<Changed> => {
  const total = { changed: 0, removed: 0 }
  if (action === undefined) return total
  for (let from = 0; from < jobs.length; from += batch) {
    const some = jobs.slice(from, from + batch)
    const { changed, removed } = await host.change(client => changeSome(client, queue, action, some))
    total.changed += changed
    total.removed += removed
  }
  return total
}

const changeSome = async (
  client: Redis,
  queue: JobQueue,
  action: BulkAction,
  jobs: readonly FoundJob[],
): Promise<Changed> => {
  const texts = jobs.map(({ text }) => text)
  if (action === 'cancel') {
    const results = await Promise.all(jobs.map(job => withdraw(client, queue, job)))
    return {
      changed: results.filter(result => result !== 'left').length,
      removed: results.filter(result => result === 'removed').length,
    }
  }
  if (action === 'run') {
    const changed = await hasten(client, queue, texts)
    return { changed, removed: changed }
  }
  const changed = await (action === 'retry' ? retryDead(client, queue, texts) : queue.deleteDead(client, texts))
  return { changed, removed: changed }
}

/** Has jobs taken now that wait for their time or their next try, as they lie there. Returns how many were there. */
const hasten = (client: Redis, queue: JobQueue, texts: readonly string[]): Promise<number> =>
  queue.revive(
    client,
    texts.map(lying => ({ lying, message: hastenedMessage(lying) })),
  )

/**
 * Cancels a job. One that is tracked is taken out where it waits for its time; else it stays, with a mark at its record, or its worker is told. What
 * nobody tracks and a batch waits for is left: nobody would tell the batch, and it would wait for ever.
 */
const withdraw = async (
  client: Redis,
  queue: JobQueue,
  { job, request, text, key }: FoundJob,
): Promise<'removed' | 'told' | 'left'> => {
  const { keep, batch: ofBatch, key: ofKey } = request.job ?? {}
  if (job.payloads !== undefined)
    return (await queue.actOnKey(client, job.task, ofKey!, 'delete')) > 0 ? 'removed' : 'left'
  if (keep !== undefined && job.id !== undefined) {
    const before = await queue.withdraw(client, job.id)
    if (!openStates.includes(before)) return 'left'
    // Of those with a key only the first one goes at once.
    const isGone =
      ofKey === undefined ? isPostponed(before) : (await command(client, 'pttl', queue.keys.job(job.id))) !== -1
    return isGone ? 'removed' : 'told'
  }
  if (ofBatch !== undefined || job.state === 'running') return 'left'
  const isGone =
    job.state === 'waiting'
      ? await queue.drop(client, job.task, key === queue.keys.line(job.task, ofKey ?? '') ? ofKey : undefined, text)
      : (await command(client, 'zrem', key, text)) === 1
  return isGone ? 'removed' : 'left'
}

/** @throws HubError NoSuchJob, NotEnqueued */
export const cancelOne = async (host: JobHost, keys: Keys, id: string, place: JobPlace): Promise<boolean> => {
  const { record, found } = await host.ask(client => findAll(client, keys, id, place))
  if (record) {
    if (hasEnded(record.status)) return false
    const before = await host.change(client => host.queueOf(record.status.queue).withdraw(client, id))
    return openStates.includes(before)
  }
  if (!found) throw unknownJob(id, place)
  return (await host.change(client => withdraw(client, host.queueOf(found.job.queue), found))) !== 'left'
}

/** @throws HubError NoSuchJob, NotEnqueued */
export const runOne = async (host: JobHost, keys: Keys, id: string, place: JobPlace): Promise<boolean> => {
  const { record, found } = await host.ask(client => findAll(client, keys, id, place))
  if (!found && !record) throw unknownJob(id, place)
  if (!found) return false
  const { job, request, text, key } = found
  const queue = host.queueOf(job.queue)
  if (isPostponed(job.state)) return (await host.change(client => hasten(client, queue, [text]))) === 1
  const ofKey = request.job?.key
  if (job.state !== 'waiting' || job.dueMs === undefined || ofKey === undefined) return false
  // It waits for its time in the line of its key, where it is run as soon as it is the first.
  return host.change(async client => {
    if ((await command(client, 'lindex', key, 0)) !== text) return false
    return (await queue.actOnKey(client, job.task, ofKey, 'run')) > 0
  })
}
