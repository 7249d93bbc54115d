import type { Redis } from '../redis/connection.ts'
import type { KeyFigures } from '../wire/answers.ts'
import { numberIn } from '../wire/foreign.ts'
import type { QueueKeys } from '../wire/keys.ts'
import type { Catalogue } from './catalogue.ts'
import { readKeyFigures } from './key-counts.ts'

/** How much lies in a queue, and since when. */
export interface QueueCounts {
  /** Requests waiting in Redis. */
  backlog: number
  /** Milliseconds the oldest one has waited; undefined when none waits or it carries no time. */
  oldestMs: number | undefined
  /** When it was paused, Redis milliseconds; undefined when it is served. */
  pausedMs: number | undefined
  /** Milliseconds for which the oldest job has waited that is due; undefined when none is, or none carries a time. */
  oldestJobMs: number | undefined
  /** Jobs waiting, whatever their priority, and jobs that were given up. */
  jobs: number
  dead: number
  /** Jobs that wait for their time, and for their next try; undefined where this Redis user may not read that. */
  scheduled: number | undefined
  retrying: number | undefined
  /** Requests held by workers. */
  held: number
  /** How the keys of its jobs fare; undefined where it has none, or this Redis user may not read that. */
  keys: KeyFigures | undefined
}

/** What lies in a queue, as far as this Redis user may see it. */
export const readQueueCounts = async (
  client: Redis,
  catalogue: Catalogue,
  keys: QueueKeys,
  live: readonly string[],
  nowMs: number,
): Promise<QueueCounts> => {
  const { calls, jobs, jobsHigh, jobsLow, lined, scheduled, retries, dead, held, paused } = keys
  // All in one: one of two groups that fail together would fail with nobody looking, which ends the process.
  const [[backlog, head, jobCount, deadCount, pausedText, ...heldCounts], further] = await Promise.all([
    Promise.all([
      catalogue.ask(client, 0, 'llen', calls),
      catalogue.ask<string[]>(client, [], 'lrange', calls, 0, 0),
      catalogue.ask(client, 0, 'llen', jobs),
      catalogue.ask(client, 0, 'zcard', dead),
      catalogue.ask<string | null>(client, null, 'get', paused),
      ...live.map(id => catalogue.ask(client, 0, 'hlen', held(id))),
    ]),
    // A user whose rights are of an earlier version sees what it always saw.
    Promise.all([
      catalogue.askIfAllowed(client, 0, 'llen', jobsHigh),
      catalogue.askIfAllowed(client, 0, 'llen', jobsLow),
      countLined(client, catalogue, lined),
      catalogue.askIfAllowed(client, 0, 'zcard', scheduled),
      catalogue.askIfAllowed(client, 0, 'zcard', retries),
      oldestDueMs(client, catalogue, keys, nowMs),
      readKeyFigures(client, catalogue, keys, nowMs),
    ]),
  ])
  const [high = 0, low = 0, keyed = 0, scheduledCount, retrying, dueMs, figures] = further
  const pushedMs = stampOf(head[0])
  return {
    backlog,
    oldestMs: pushedMs === undefined ? undefined : Math.max(0, nowMs - pushedMs),
    oldestJobMs: dueMs === undefined ? undefined : Math.max(0, nowMs - dueMs),
    pausedMs: numberIn(pausedText),
    jobs: jobCount + high + low + keyed,
    dead: deadCount,
    scheduled: scheduledCount,
    retrying,
    held: heldCounts.reduce((sum, count) => sum + count, 0),
    keys: figures && figures.waiting + figures.running > 0 ? figures : undefined,
  }
}

/** How many jobs wait in the lines of all keys; undefined for whom may not see that. */
export const countLined = async (client: Redis, catalogue: Catalogue, lined: string): Promise<number | undefined> => {
  const counts = await catalogue.askIfAllowed<string[]>(client, [], 'hvals', lined)
  return counts?.reduce((sum, count) => sum + Math.max(0, Number(count) || 0), 0)
}

/** The time that a message carries, milliseconds. */
const stampOf = (text: string | undefined): number | undefined => {
  const at = /^\{"at":(\d{1,16}),/.exec(text ?? '')?.[1]
  return at === undefined ? undefined : Number(at) / 1000
}

/** Since when the oldest job is due: at the heads of the lists, and where jobs lie whose time has come and that nobody moved. */
const oldestDueMs = async (
  client: Redis,
  catalogue: Catalogue,
  { jobs, jobsHigh, jobsLow, keyed, scheduled, retries }: QueueKeys,
  nowMs: number,
): Promise<number | undefined> => {
  const heads = [jobsHigh, jobs, jobsLow].map(list =>
    catalogue.askIfAllowed<string[]>(client, [], 'lrange', list, 0, 0).then(found => stampOf(found?.[0])),
  )
  const firsts = [scheduled, retries].map(async set => {
    const range = ['-inf', nowMs, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES']
    const found = await catalogue.askIfAllowed<string[]>(client, [], 'zrange', set, ...range)
    return found?.[1] === undefined ? undefined : Number(found[1])
  })
  const firstKey = catalogue
    .askIfAllowed<string[]>(client, [], 'zrange', keyed, 0, 0, 'WITHSCORES')
    .then(found => (found?.[1] === undefined ? undefined : Number(found[1]) / 1000))
  const times = (await Promise.all([...heads, ...firsts, firstKey])).filter(time => Number.isFinite(time)) as number[]
  return times.length === 0 ? undefined : Math.min(...times)
}
