import type { Load } from '../figures/load.ts'
import type { KeyFigures } from '../wire/answers.ts'
import { wholeQueue } from '../wire/keys.ts'
import type { QueueCounts } from './queue-counts.ts'

/** A queue that a task is served in. */
export interface TaskQueue {
  queue: string
  /** How many of the task's live workers serve it. */
  workers: number
  /** It had the task before all others, which are called only while this one has no workers. */
  first: boolean
}

/** A queue: what waits in it and who serves it. */
export interface QueueOverview extends QueueCounts {
  queue: string
  /** Live workers that take requests; those that drain are not counted. */
  workers: number
  /** Slots of these workers. */
  slots: number
  /** Slots in use, those of draining workers included. */
  busy: number
  /** Share of these slots' time that was used in the last minute, 0 to 1; undefined where no worker says. */
  busyShare: number | undefined
  /** Of the last minute. */
  load: Load
  /** Its places, of a queue that is spread over several; undefined: it is in one. */
  shards?: QueueOverview[] | undefined
}

/*
 * What people see of queues that are spread over shards: one queue each. A worker serves all shards of its queue, with an identity and the
 * same slots in each of them.
 */

/** `loadOf`: of the workers of all these places, and of the queue's calls that none of them answered. */
export const wholeQueues = (
  places: readonly QueueOverview[],
  loadOf: (queue: string, places: readonly string[]) => QueueOverview['load'],
): QueueOverview[] =>
  byWhole(places).map(([queue, own]) => {
    if (own.length === 1 && own[0]!.queue === queue) return own[0]!
    const oldest = own.flatMap(({ oldestMs }) => oldestMs ?? [])
    const oldestJobs = own.flatMap(({ oldestJobMs }) => oldestJobMs ?? [])
    const shares = own.flatMap(({ busyShare }) => busyShare ?? [])
    return {
      queue,
      backlog: sum(own.map(({ backlog }) => backlog)),
      oldestMs: oldest.length === 0 ? undefined : Math.max(...oldest),
      pausedMs: own.find(place => place.pausedMs !== undefined)?.pausedMs,
      oldestJobMs: oldestJobs.length === 0 ? undefined : Math.max(...oldestJobs),
      jobs: sum(own.map(({ jobs }) => jobs)),
      dead: sum(own.map(({ dead }) => dead)),
      scheduled: sumOfKnown(own.map(({ scheduled }) => scheduled)),
      retrying: sumOfKnown(own.map(({ retrying }) => retrying)),
      held: sum(own.map(({ held }) => held)),
      keys: keysOf(own.flatMap(({ keys }) => keys ?? [])),
      workers: Math.max(...own.map(({ workers }) => workers)),
      slots: Math.max(...own.map(({ slots }) => slots)),
      busy: sum(own.map(({ busy }) => busy)),
      busyShare: shares.length === 0 ? undefined : Math.min(1, sum(shares)),
      load: loadOf(
        queue,
        own.map(place => place.queue),
      ),
      shards: [...own],
    }
  })

/** The queues that have a task, each once. */
export const wholeTaskQueues = (places: readonly TaskQueue[]): TaskQueue[] =>
  byWhole(places).map(([queue, own]) => ({
    queue,
    workers: Math.max(...own.map(({ workers }) => workers)),
    first: own.some(({ first }) => first),
  }))

const byWhole = <T extends { queue: string }>(places: readonly T[]): [string, T[]][] => {
  const groups = new Map<string, T[]>()
  for (const place of places) {
    const whole = wholeQueue(place.queue)
    const group = groups.get(whole)
    if (group) group.push(place)
    else groups.set(whole, [place])
  }
  return [...groups]
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)

const sumOfKnown = (counts: readonly (number | undefined)[]): number | undefined =>
  counts.some(count => count === undefined) ? undefined : sum(counts as number[])

const keysOf = (all: readonly KeyFigures[]): KeyFigures | undefined =>
  all.length === 0
    ? undefined
    : {
        waiting: sum(all.map(({ waiting }) => waiting)),
        running: sum(all.map(({ running }) => running)),
        lagMs: Math.max(...all.map(({ lagMs }) => lagMs)),
        longestMs: Math.max(...all.map(({ longestMs }) => longestMs)),
      }
