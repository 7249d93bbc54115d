import { type Buckets, CallerSum, type Load, LoadSum, type TaskCaller, type WorkerRecord } from '../figures/load.ts'
import { addCounts, type Counts, noCounts } from '../figures/task-stats.ts'
import { nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import type { TaskCard } from '../task/card.ts'
import type { UnreadableRecord } from '../wire/foreign.ts'
import { type Keys, wholeQueue } from '../wire/keys.ts'
import { newestFirst, tryParseTaskName } from '../wire/names.ts'
import type { FieldCard, KeptCards, LiveWorker } from './cards.ts'
import { Catalogue } from './catalogue.ts'
import { readQueueCounts } from './queue-counts.ts'
import { type RedisMemory, readRedisMemory } from './redis-memory.ts'
import { readUnanswered, type UnansweredOverview } from './unanswered.ts'
import { eachOnce } from './unreadable.ts'
import { type QueueOverview, type TaskQueue, wholeQueues, wholeTaskQueues } from './whole-queues.ts'

export type { QueueOverview, TaskQueue } from './whole-queues.ts'

/** A task, by the card of the queue that hubs call now. */
export interface TaskOverview extends TaskCard {
  /** Ids of live workers that provide it, without draining ones. */
  workers: string[]
  /** True if all its workers stopped normally, or have been gone for an hour. */
  retired: boolean
  /** All queues that have it, usually one. More than one with workers is worth a warning. */
  queues: TaskQueue[]
  /** True when live workers of one queue declare it with different schemas. */
  conflict: boolean
  /** Figures of the last minute, from all live workers of these queues and from hubs. */
  load: Load
  /** The same figures as counts that can be added up, from workers alone. */
  buckets: Buckets
  /** Calls that ended since the start of each of these workers. */
  totals: Counts
  /** The calling services, busiest first. */
  callers: TaskCaller[]
}

export interface WorkerOverview extends LiveWorker {
  /** False if its lease expired: it crashed or is cut off. A draining worker is live: see `stats.draining`. */
  live: boolean
  /** Figures of the last minute. */
  load: Load
  /** Calls that ended since its start, by task. */
  totals: Record<string, Counts>
  /** Of these the runs of jobs. */
  jobs: Record<string, Counts>
}

/** The registry and the queues at one moment. */
export interface Overview {
  /** When it was read, Redis milliseconds. */
  atMs: number
  tasks: TaskOverview[]
  workers: WorkerOverview[]
  queues: QueueOverview[]
  /** Figures of the last minute, from all live workers and hubs. */
  load: Load
  /** Calls of the last hour that ended in hubs without a reply from a worker, by task, code and hub, the latest first. */
  unanswered: UnansweredOverview[]
  /** Memory of Redis; undefined if it has no limit, or this user may not read it. */
  memory: RedisMemory | undefined
  /** The first hundred unreadable records, which are ignored. */
  unreadable: UnreadableRecord[]
}

const maxUnreadable = 100
/** A worker that died is missed for so long. */
const missedMs = 3_600_000

/** Reads the whole registry, page by page; meant for people's eyes and dashboards, not for each call. `kept`: of the looks before this one. */
export const readOverview = async (client: Redis, keys: Keys, kept?: KeptCards): Promise<Overview> => {
  const unreadable: UnreadableRecord[] = []
  const catalogue = new Catalogue(
    keys,
    eachOnce(maxUnreadable, record => unreadable.push(record)),
  )
  const [cards, known, nowMs, memory] = await Promise.all([
    catalogue.allTasks(client, kept),
    catalogue.allWorkers(client),
    nowMsOf(client, keys.workers),
    readRedisMemory(client),
  ])
  const queueNames = [...new Set([...cards, ...known].map(({ queue }) => queue))].sort()
  const leases = await inPages(queueNames, name => catalogue.liveIds(client, name, nowMs))
  const liveIds = new Set(leases.flat())
  const records = await catalogue.workerRecords(
    client,
    known.filter(({ id }) => liveIds.has(id)),
  )
  const sums = new Map([...records].map(([id, record]) => [id, sumOfWorker(record)]))
  const workers = known
    .map(worker => ({
      ...worker,
      live: liveIds.has(worker.id),
      load: loadOf([worker], sums),
      totals: totalsOf(records.get(worker.id)),
      jobs: totalsOf(records.get(worker.id), 'jobs'),
    }))
    .sort(byQueueAndHost)
  const live = workers.filter(worker => worker.live)
  const liveIn = grouped(live, ({ queue }) => queue)
  const providers = new Map([...liveIn].map(([queue, own]) => [queue, byTask(own)]))
  const unanswered = await readUnanswered(client, catalogue, keys, cards, nowMs)
  const unansweredIn = grouped(unanswered, ({ queue }) => queue ?? '')
  const places = await inPages(queueNames, async queue => {
    const own = liveIn.get(queue) ?? []
    const counts = await readQueueCounts(
      client,
      catalogue,
      keys.queue(queue),
      own.map(({ id }) => id),
      nowMs,
    )
    return { queue, ...counts, ...capacityOf(own), load: loadOf(own, sums, unansweredIn.get(queue)) }
  })
  const queues = wholeQueues(places, (queue, names) =>
    loadOf(
      names.flatMap(name => liveIn.get(name) ?? []),
      sums,
      unansweredIn.get(queue),
    ),
  )
  // Where no worker is left nobody removes the cards of those that died long ago.
  const missed = workers.filter(({ live, stats }) => live || !stats || nowMs - stats.seen < missedMs)
  const missedTasks = new Set(missed.flatMap(worker => Object.keys(worker.tasks)))
  const unansweredBy = grouped(unanswered, ({ task }) => task)
  const tasks = [...grouped(cards, ({ task }) => task).values()].map(found =>
    taskOverview(found, providers, records, missedTasks, unansweredBy),
  )
  return {
    atMs: nowMs,
    tasks: inOrderOfNames(tasks),
    workers,
    queues,
    load: loadOf(live, sums, unanswered),
    unanswered,
    memory,
    unreadable,
  }
}

/** Queues that are asked for at once: their commands go out together, and no more answers than these wait here. */
const queuePage = 20

export const inPages = async <T>(names: readonly string[], read: (name: string) => Promise<T>): Promise<T[]> => {
  const all: T[] = []
  for (let from = 0; from < names.length; from += queuePage)
    all.push(...(await Promise.all(names.slice(from, from + queuePage).map(read))))
  return all
}

const grouped = <T>(all: T[], keyOf: (one: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>()
  for (const one of all) {
    const group = groups.get(keyOf(one)) ?? []
    group.push(one)
    groups.set(keyOf(one), group)
  }
  return groups
}

/** Workers by the tasks on their cards: of thousands of tasks nobody looks through all workers for each. */
const byTask = (workers: readonly WorkerOverview[]): Map<string, WorkerOverview[]> => {
  const by = new Map<string, WorkerOverview[]>()
  for (const worker of workers)
    for (const task of Object.keys(worker.tasks)) {
      const own = by.get(task)
      if (own) own.push(worker)
      else by.set(task, [worker])
    }
  return by
}

/** What live workers published of their tasks, by worker id. */
type Records = ReadonlyMap<string, WorkerRecord>

const sumOfWorker = ({ ms, tasks, others }: WorkerRecord): LoadSum => {
  const sum = new LoadSum()
  for (const { window } of tasks.values()) sum.add(window, ms)
  sum.add(others, ms)
  return sum
}

/** All that these workers did, each of which was summed up once, and what ended in hubs. */
const loadOf = (
  workers: readonly { id: string }[],
  sums: ReadonlyMap<string, LoadSum>,
  unanswered: readonly UnansweredOverview[] = [],
): Load => {
  const sum = new LoadSum()
  for (const { id } of workers) {
    const own = sums.get(id)
    if (own) sum.addSum(own)
  }
  for (const { code, lastMinute } of unanswered) sum.addUnanswered(code, lastMinute)
  return sum.load()
}

const totalsOf = (record: WorkerRecord | undefined, which: 'totals' | 'jobs' = 'totals'): Record<string, Counts> =>
  Object.fromEntries([...(record?.tasks ?? [])].map(([task, counts]) => [task, counts[which]]))

const isServing = ({ stats }: WorkerOverview): boolean => stats?.draining !== true

const taskOverview = (
  found: FieldCard[],
  providersIn: ReadonlyMap<string, ReadonlyMap<string, WorkerOverview[]>>,
  records: Records,
  missed: ReadonlySet<string>,
  unansweredBy: ReadonlyMap<string, UnansweredOverview[]>,
): TaskOverview => {
  // The field of the first queue is the task's name, which the others only begin with.
  const cards = found.sort((a, b) => (a.field < b.field ? -1 : 1))
  const { task } = cards[0]!
  const places = cards.map(card => {
    const live = providersIn.get(card.queue)?.get(task) ?? []
    const providers = live.filter(isServing)
    return { card, live, providers, digests: new Set(providers.map(worker => worker.tasks[task])) }
  })
  const most = new Map<string, (typeof places)[number]>()
  for (const place of places) {
    const whole = wholeQueue(place.card.queue)
    if (place.providers.length > (most.get(whole)?.providers.length ?? 0)) most.set(whole, place)
  }
  const { field: _, ...card } = (places.find(({ providers }) => providers.length > 0) ?? places[0]!).card
  const sum = new LoadSum()
  const totals = noCounts()
  const callers = new CallerSum()
  for (const { id } of places.flatMap(({ live }) => live)) {
    const record = records.get(id)
    const counted = record?.tasks.get(task)
    if (!record || !counted) continue
    sum.add(counted.window, record.ms)
    addCounts(totals, counted.totals)
    callers.add(counted, record.ms)
  }
  const buckets = sum.buckets()
  for (const { code, lastMinute } of unansweredBy.get(task) ?? []) sum.addUnanswered(code, lastMinute)
  return {
    ...card,
    // A worker has an identity in each shard of its queue: it counts in one of them.
    workers: places
      .filter(({ card: { queue } }) => queue === most.get(wholeQueue(queue))?.card.queue)
      .flatMap(({ providers }) => providers.map(({ id }) => id)),
    // A worker that leaves takes its card with it; that of one that died stays for an hour.
    retired: !missed.has(task),
    queues: wholeTaskQueues(
      places.map(({ card: { field, queue }, providers }) => ({
        queue,
        workers: providers.length,
        first: field === task,
      })),
    ),
    conflict: places.some(({ digests }) => digests.size > 1),
    load: sum.load(),
    buckets,
    totals,
    callers: callers.list(),
  }
}

/** Of the live workers of a queue. */
const capacityOf = (live: WorkerOverview[]): Pick<QueueOverview, 'workers' | 'slots' | 'busy' | 'busyShare'> => {
  const slotsOf = (workers: WorkerOverview[]) => sumOf(workers, ({ slots }) => slots)
  const serving = live.filter(isServing)
  const telling = live.filter(({ stats }) => stats?.busyShare !== undefined)
  const used = sumOf(telling, ({ stats, slots }) => stats!.busyShare! * slots)
  return {
    workers: serving.length,
    slots: slotsOf(serving),
    busy: sumOf(live, ({ stats }) => stats?.busy ?? 0),
    busyShare: slotsOf(telling) === 0 ? undefined : used / slotsOf(telling),
  }
}

const sumOf = <T>(all: T[], amountOf: (one: T) => number): number => all.reduce((sum, one) => sum + amountOf(one), 0)

const byQueueAndHost = (a: WorkerOverview, b: WorkerOverview): number =>
  a.queue.localeCompare(b.queue) || a.host.localeCompare(b.host) || a.pid - b.pid || (a.id < b.id ? -1 : 1)

/** Of many thousands each name is read once, and compared by one collator. */
const inOrderOfNames = (tasks: TaskOverview[]): TaskOverview[] =>
  tasks
    .map(task => ({ task, name: tryParseTaskName(task.task) }))
    .sort((a, b) => {
      if (!a.name || !b.name) return a.task.task < b.task.task ? -1 : 1
      return names.compare(a.name.name, b.name.name) || newestFirst(a.name, b.name)
    })
    .map(({ task }) => task)

const names = new Intl.Collator()
