import type { Redis } from '../redis/connection.ts'
import { numberIn } from '../wire/foreign.ts'
import type { QueueKeys } from '../wire/keys.ts'
import type { Catalogue } from './catalogue.ts'

/** What lies in a queue. */
export interface QueueCounts {
  /** Requests waiting in Redis. */
  backlog: number
  /** Milliseconds the oldest one has waited; undefined when none waits or it carries no time. */
  oldestMs: number | undefined
  /** When it was paused, Redis milliseconds; undefined when it is served. */
  pausedMs: number | undefined
  /** Jobs waiting, whatever their priority, and jobs that were given up. */
  jobs: number
  dead: number
  /** For how long the first of the waiting ones has been due, milliseconds; undefined when none is or it carries no time. */
  oldestJobMs: number | undefined
  /** Jobs that wait for their time, and for their next try; undefined where this Redis user may not read that. */
  scheduled: number | undefined
  retrying: number | undefined
  /** Requests held by workers. */
  held: number
}

/** What lies in a queue, as Redis has it. */
export const readCounts = async (
  client: Redis,
  catalogue: Catalogue,
  { calls, jobs, jobsHigh, jobsLow, scheduled, retries, dead, held, paused }: QueueKeys,
  live: readonly { id: string }[],
  nowMs: number,
): Promise<QueueCounts> => {
  // A user whose rights are of an earlier version sees what it always saw.
  const further = Promise.all([
    catalogue.askIfAllowed(client, 0, 'llen', jobsHigh),
    catalogue.askIfAllowed(client, 0, 'llen', jobsLow),
    catalogue.askIfAllowed(client, 0, 'zcard', scheduled),
    catalogue.askIfAllowed(client, 0, 'zcard', retries),
  ])
  const oldestJob = dueSince(client, catalogue, [jobs, jobsHigh, jobsLow], [scheduled, retries], nowMs)
  const counted = Promise.all([
    catalogue.ask(client, 0, 'llen', calls),
    catalogue.ask<string[]>(client, [], 'lrange', calls, 0, 0),
    catalogue.ask(client, 0, 'llen', jobs),
    catalogue.ask(client, 0, 'zcard', dead),
    catalogue.ask<string | null>(client, null, 'get', paused),
    ...live.map(worker => catalogue.ask(client, 0, 'hlen', held(worker.id))),
  ])
  const [counts, [high = 0, low = 0, scheduledCount, retrying], dueMs] = await Promise.all([
    counted,
    further,
    oldestJob,
  ])
  const [backlog, head, jobCount, deadCount, pausedText, ...heldCounts] = counts
  const at = atMsOf(head)
  return {
    backlog,
    oldestMs: at === undefined ? undefined : Math.max(0, nowMs - at),
    oldestJobMs: dueMs === undefined ? undefined : Math.max(0, nowMs - dueMs),
    pausedMs: numberIn(pausedText),
    jobs: jobCount + high + low,
    dead: deadCount,
    scheduled: scheduledCount,
    retrying,
    held: heldCounts.reduce((sum, count) => sum + count, 0),
  }
}

/** The moment that the first message of a list carries, Redis milliseconds. */
const atMsOf = ([text = '']: readonly string[]): number | undefined => {
  const at = /^\{"at":(\d{1,16}),/.exec(text)?.[1]
  return at === undefined ? undefined : Number(at) / 1000
}

/** Since when the job has been due that was due first: of each list the first, and of those that nobody has moved there yet. */
const dueSince = async (
  client: Redis,
  catalogue: Catalogue,
  lists: string[],
  sets: string[],
  nowMs: number,
): Promise<number | undefined> => {
  const heads = lists.map(list => catalogue.askIfAllowed<string[]>(client, [], 'lrange', list, 0, 0))
  const firsts = sets.map(set => catalogue.askIfAllowed<string[]>(client, [], 'zrange', set, 0, 0, 'WITHSCORES'))
  const moments = [
    ...(await Promise.all(heads)).map(head => atMsOf(head ?? [])),
    ...(await Promise.all(firsts)).map(first => (first?.[1] === undefined ? undefined : Number(first[1]))),
  ]
  const due = moments.filter(at => at !== undefined && at <= nowMs) as number[]
  return due.length === 0 ? undefined : Math.min(...due)
}
