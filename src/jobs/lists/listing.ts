import { Catalogue } from '../../catalogue/catalogue.ts'
import { inPages } from '../../catalogue/overview.ts'
import { countLined } from '../../catalogue/queue-counts.ts'
import { nowMsOf } from '../../redis/client.ts'
import type { Redis } from '../../redis/connection.ts'
import { HubError } from '../../wire/errors.ts'
import { isQueueName, type Keys } from '../../wire/keys.ts'
import { namesOf, refuseHubOptions } from '../../wire/options.ts'
import { type JobRecord, readJobRecord } from '../job-record.ts'
import { isEndedPlace, readEndedJobs } from './ended-jobs.ts'
import { withProgress } from './job-progress.ts'
import {
  type FoundJob,
  type JobLook,
  type JobMatch,
  JobSearch,
  type LyingState,
  type QueuedJob,
  type QueuedState,
  SearchBudget,
} from './job-search.ts'
import { type Places, placesOf, placesText } from './places.ts'

export { type QueuedJob, type QueuedState, queuedStates } from './job-search.ts'
export { type FoundKeys, findKeys } from './key-search.ts'

/** `done`: tracked jobs that ended and are kept, but for the dead ones: done, expired or cancelled. */
export const listedStates = ['waiting', 'running', 'scheduled', 'retrying', 'dead', 'done'] as const
/** One of `listedStates`. */
export type ListedState = (typeof listedStates)[number]

/** Number of jobs of a queue per state; undefined for what this Redis user may not read. */
export type JobCounts = { queue: string } & Record<QueuedState, number | undefined>

/** Query for jobs; omitted fields match everything. */
export interface JobsQuery {
  /** Default: all queues of known tasks. */
  queue?: string | undefined
  /** Default: only counts. */
  state?: ListedState | undefined
  /** `name:version`; needs `state`. */
  task?: string | undefined
  /** Needs `state`. */
  key?: string | undefined
  /** Text in the id, task, caller, failures or arguments, ignoring case; needs `state`. */
  text?: string | undefined
  /** Maximum number of jobs, 1 to 10,000. Default 100. */
  limit?: number | undefined
  /** Where to continue: `next` of the previous listing. */
  from?: string | undefined
  /** Restricts what the reader may see. Default: everything. */
  look?: JobLook | undefined
}

/** A page of jobs, and the total counts. */
export interface JobsListing {
  /** When it was read, Redis milliseconds. */
  atMs: number
  counts: JobCounts[]
  /** The job that is claimed or due next comes first, the latest of dead jobs; done jobs have no order. */
  jobs: QueuedJob[]
  /** There may be more: at most 10,000 jobs, or 32 MB of them, are searched in one queue. */
  more: boolean
  /** Where the next page starts; undefined if there is none. */
  next: string | undefined
}

const mostListed = 10_000
const longestText = 200

const queryNames = namesOf<JobsQuery>({
  queue: true,
  state: true,
  task: true,
  key: true,
  text: true,
  limit: true,
  from: true,
  look: true,
})

/** @throws HubError InvalidArgs */
export const checkJobsQuery = (query: JobsQuery): void => {
  refuseHubOptions('jobs', query, queryNames)
  const { queue, state, task, key, text, limit, from } = query
  const wrong = (what: string) => new HubError('InvalidArgs', `jobs: ${what}.`)
  const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 80)
  if (queue !== undefined && !isQueueName(queue)) throw wrong(`queue must be the name of a queue, not ${shown(queue)}`)
  if (state !== undefined && !listedStates.includes(state))
    throw wrong(`state must be ${listedStates.join(', ')}, not ${shown(state)}`)
  if (task !== undefined && typeof task !== 'string') throw wrong(`task must be a name, not ${shown(task)}`)
  if (key !== undefined && typeof key !== 'string') throw wrong(`key must be a string, not ${shown(key)}`)
  if (text !== undefined && !(typeof text === 'string' && text.length <= longestText))
    throw wrong(`text must be a string of up to ${longestText} characters`)
  for (const [name, value] of Object.entries({ task, key, text, from }))
    if (value !== undefined && state === undefined) throw wrong(`${name} needs a state`)
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0 && limit <= mostListed))
    throw wrong(`limit must be a whole number from 1 to ${mostListed}, not ${shown(limit)}`)
  const isPlace = state === 'done' ? isEndedPlace : (place: string) => placesOf(place) !== undefined
  if (from !== undefined && !(typeof from === 'string' && isPlace(from)))
    throw wrong('from must be the next value of an earlier listing')
}

/** Reads what lies in queues, page by page. Meanwhile workers go on: a look, and no snapshot. */
export const readJobs = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  query: JobsQuery,
): Promise<JobsListing> => {
  const { queue, state, limit = 100, from } = query
  const atMs = await nowMsOf(client, queue === undefined ? keys.workers : keys.queue(queue).jobs)
  const queues = await catalogue.places(client, queue)
  const counts = await inPages(queues, name => readJobCounts(client, catalogue, keys, name))
  const nothing = { atMs, counts, jobs: [], more: false, next: undefined }
  if (state === undefined) return nothing
  if (state === 'done') {
    const found = await readEndedJobs(client, catalogue, keys, { ...query, limit })
    return { ...nothing, ...found, more: found.next !== undefined }
  }
  const search = new JobSearch(client, catalogue, keys, state, atMs)
  const places = (from === undefined ? undefined : placesOf(from)) ?? new Map(queues.map(name => [name, 0]))
  const wanted = queues.filter(name => places.has(name) && !isEmpty(counts, name, state))
  const found = await inPages(wanted, name => findSome(search, name, places.get(name)!, query, limit))
  const shown = inOrder(
    found.flatMap(({ jobs }) => jobs),
    state,
  ).slice(0, limit)
  const next = placesText(nextPlaces(found, new Set(shown)))
  return { ...nothing, jobs: shown.map(({ job }) => job), more: next !== undefined, next }
}

const isEmpty = (counts: readonly JobCounts[], queue: string, state: LyingState): boolean =>
  state !== 'running' && counts.find(each => each.queue === queue)?.[state] === 0

interface FoundInQueue {
  queue: string
  from: number
  jobs: FoundJob[]
  /** Where there may be more of them; undefined: these are all. */
  rest: number | undefined
}

const findSome = async (
  search: JobSearch,
  queue: string,
  from: number,
  match: JobMatch,
  limit: number,
): Promise<FoundInQueue> => {
  const { task, key, text, look } = match
  const finding = search.find(queue, { task, key, text, look }, new SearchBudget(), { from })
  const jobs: FoundJob[] = []
  for (;;) {
    const step = await finding.next()
    if (step.done) return { queue, from, jobs, rest: step.value }
    // One more than is wanted says that there are more.
    if (jobs.length >= limit) return { queue, from, jobs, rest: jobs.at(-1)!.next }
    jobs.push(step.value)
  }
}

/** Of several queues; each queue's own are in order. */
const inOrder = (jobs: FoundJob[], state: LyingState): FoundJob[] => {
  if (state === 'dead') return jobs.sort((a, b) => b.job.deadMs! - a.job.deadMs!)
  if (state === 'scheduled' || state === 'retrying') return jobs.sort((a, b) => a.job.dueMs! - b.job.dueMs!)
  return jobs
}

/** What is not shown of a queue is what comes next of it. */
const nextPlaces = (found: readonly FoundInQueue[], shown: ReadonlySet<FoundJob>): Places => {
  const next = new Map<string, number>()
  for (const { queue, from, jobs, rest } of found) {
    const left = jobs.findIndex(job => !shown.has(job))
    const place = left === -1 ? rest : left === 0 ? from : jobs[left - 1]!.next
    if (place !== undefined) next.set(queue, place)
  }
  return next
}

/** The record of a tracked job in the first of these queues that has one. */
export const findJobRecord = async (
  client: Redis,
  keys: Keys,
  id: string,
  queues: readonly string[],
): Promise<JobRecord | undefined> => {
  const catalogue = new Catalogue(keys)
  const places = queues.map(name => keys.queue(name).job(id))
  const isThere = (fields: Record<string, string>) => Object.keys(fields).length > 0
  const found = await catalogue.askEach<Record<string, string>>(client, {}, isThere, 'hgetall', places)
  const record = found
    .map((fields, at) => readJobRecord(Object.entries(fields).flat(), id, queues[at]!))
    .find(record => record !== undefined)
  return record && { ...record, status: await withProgress(client, keys, record.status) }
}

export const readJobCounts = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  queue: string,
): Promise<JobCounts> => {
  const { jobs, jobsHigh, jobsLow, scheduled, retries, dead, lined } = keys.queue(queue)
  const count = (name: 'llen' | 'zcard', key: string) => catalogue.askIfAllowed(client, 0, name, key)
  const [high, normal, low, keyed, scheduledCount, retrying, deadCount] = await Promise.all([
    count('llen', jobsHigh),
    count('llen', jobs),
    count('llen', jobsLow),
    countLined(client, catalogue, lined),
    count('zcard', scheduled),
    count('zcard', retries),
    count('zcard', dead),
  ])
  const waiting = normal === undefined ? undefined : normal + (high ?? 0) + (low ?? 0) + (keyed ?? 0)
  return { queue, waiting, scheduled: scheduledCount, retrying, dead: deadCount }
}
