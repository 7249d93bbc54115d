import type { LiveWorker } from './cards.ts'
import { Catalogue, nowMsOf } from './catalogue.ts'
import type { UnreadableRecord } from './foreign.ts'
import type { Keys, QueueKeys } from './keys.ts'
import { CallerSum, type Load, LoadSum, type TaskCaller, type WorkerRecord } from './load.ts'
import { newestFirst, tryParseTaskName } from './names.ts'
import { pausedMsOf } from './pause.ts'
import type { Failure } from './recentfailures.ts'
import type { Redis } from './redis.ts'
import { type SlowCall, totalOf } from './slowcalls.ts'
import type { TaskCard } from './task.ts'
import { addCounts, type Counts } from './taskstats.ts'

export interface TaskOverview extends TaskCard {
  /** Ids of live workers that provide it; one that drains takes nothing new and is not among them. */
  workers: string[]
  /** True when live workers declare it with different schemas. */
  conflict: boolean
  /** Of the last minute, on all live workers. */
  load: Load
  /** Calls that ended since each of these workers' start. */
  totals: Counts
  /** Who makes them, busiest first. */
  callers: TaskCaller[]
}

export interface WorkerOverview extends LiveWorker {
  /** False for a worker whose lease ended: it died or is cut off. One that drains is live: `stats.draining` says so. */
  live: boolean
  /** Of the last minute. */
  load: Load
  /** Calls that ended since its start, by task. */
  totals: Record<string, Counts>
}

export interface QueueOverview {
  queue: string
  /** Requests waiting in Redis. */
  backlog: number
  /** Milliseconds the oldest one has waited; undefined when none waits or it carries no time. */
  oldestMs: number | undefined
  /** When it was paused, Redis milliseconds; undefined when it is served. */
  pausedMs: number | undefined
  /** Jobs waiting, and jobs that were given up. */
  jobs: number
  dead: number
  /** Requests held by workers. */
  held: number
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
}

/** What the registry and the queues say at one moment. */
export interface Overview {
  /** When it was read, milliseconds of Redis' clock. */
  atMs: number
  tasks: TaskOverview[]
  workers: WorkerOverview[]
  queues: QueueOverview[]
  /** Of the last minute, on all live workers. */
  load: Load
  /** What is not what its key is for and counts as absent; the first hundred of it. */
  unreadable: UnreadableRecord[]
}

const maxUnreadable = 100

/** Reads the whole registry, page by page; meant for people's eyes and dashboards, not for each call. */
export const readOverview = async (client: Redis, keys: Keys): Promise<Overview> => {
  const unreadable: UnreadableRecord[] = []
  const catalogue = new Catalogue(keys, record => {
    if (unreadable.length < maxUnreadable) unreadable.push(record)
  })
  const [cards, known, nowMs] = await Promise.all([
    catalogue.allTasks(client),
    catalogue.allWorkers(client),
    nowMsOf(client),
  ])
  const queueNames = [...new Set([...cards.map(card => card.queue), ...known.map(worker => worker.queue)])].sort()
  const leases = await inPages(queueNames, name => catalogue.liveIds(client, name, nowMs))
  const liveIds = new Set(leases.flat())
  const records = await catalogue.workerRecords(
    client,
    known.filter(({ id }) => liveIds.has(id)),
  )
  const workers = known
    .map(worker => ({
      ...worker,
      live: liveIds.has(worker.id),
      load: workerLoad([worker], records),
      totals: totalsOf(records.get(worker.id)),
    }))
    .sort(byQueueAndHost)
  const live = workers.filter(worker => worker.live)
  const queues = await inPages(queueNames, name =>
    readQueue(client, catalogue, keys.queue(name), name, live, nowMs, records),
  )
  return {
    atMs: nowMs,
    tasks: cards.map(card => taskOverview(card, live, records)).sort(byName),
    workers,
    queues,
    load: workerLoad(live, records),
    unreadable,
  }
}

/** Queues that are asked for at once: their commands go out together, and no more answers than these wait here. */
const queuePage = 20

const inPages = async <T>(names: string[], read: (name: string) => Promise<T>): Promise<T[]> => {
  const all: T[] = []
  for (let from = 0; from < names.length; from += queuePage)
    all.push(...(await Promise.all(names.slice(from, from + queuePage).map(read))))
  return all
}

/** One of the slowest calls of the last minutes, with its task and the worker that ran it. */
export interface SlowCallOverview extends SlowCall {
  task: string
  queue: string
  /** Id of the worker. */
  worker: string
  host: string
  pid: number
  /** All phases together. */
  totalUs: number
}

/** The slowest calls of all workers, slowest first; also of workers whose leases ended, while their cards are there. */
export const readSlowCalls = async (client: Redis, keys: Keys): Promise<SlowCallOverview[]> => {
  const catalogue = new Catalogue(keys)
  const workers = await catalogue.allWorkers(client)
  const byWorker = await catalogue.slowCalls(client, workers)
  const calls = workers.flatMap(({ id: worker, queue, host, pid }) =>
    Object.entries(byWorker.get(worker) ?? {}).flatMap(([task, slow]) =>
      slow.map(call => ({ ...call, task, queue, worker, host, pid, totalUs: totalOf(call.us) })),
    ),
  )
  return calls.sort((a, b) => b.totalUs - a.totalUs)
}

/** A call or job of the last hour that did not end well, with its task and the worker that says so. */
export interface FailureOverview extends Failure {
  task: string
  queue: string
  /** Id of the worker. */
  worker: string
  host: string
  pid: number
}

/** The recent failures of all workers, newest first; also of workers whose leases ended, while their cards are there. */
export const readFailures = async (client: Redis, keys: Keys): Promise<FailureOverview[]> => {
  const catalogue = new Catalogue(keys)
  const workers = await catalogue.allWorkers(client)
  const byWorker = await catalogue.failures(client, workers)
  const failures = workers.flatMap(({ id: worker, queue, host, pid }) =>
    Object.entries(byWorker.get(worker) ?? {}).flatMap(([task, recent]) =>
      recent.map(failure => ({ ...failure, task, queue, worker, host, pid })),
    ),
  )
  return failures.sort((a, b) => b.at - a.at)
}

/** What live workers published of their tasks, by worker id. */
type Records = ReadonlyMap<string, WorkerRecord>

const workerLoad = (workers: LiveWorker[], records: Records): Load => {
  const sum = new LoadSum()
  for (const { id } of workers) {
    const record = records.get(id)
    if (!record) continue
    for (const { window } of record.tasks.values()) sum.add(window, record.ms)
    sum.add(record.others, record.ms)
  }
  return sum.load()
}

const totalsOf = (record: WorkerRecord | undefined): Record<string, Counts> =>
  Object.fromEntries([...(record?.tasks ?? [])].map(([task, { totals }]) => [task, totals]))

const isServing = ({ stats }: WorkerOverview): boolean => stats?.draining !== true

const taskOverview = (card: TaskCard, live: WorkerOverview[], records: Records): TaskOverview => {
  const providers = live.filter(
    worker => isServing(worker) && worker.queue === card.queue && Object.hasOwn(worker.tasks, card.task),
  )
  const digests = new Set(providers.map(worker => worker.tasks[card.task]))
  const sum = new LoadSum()
  const totals: Counts = { ok: 0, errors: {} }
  const callers = new CallerSum()
  for (const { id } of live.filter(worker => worker.queue === card.queue)) {
    const record = records.get(id)
    const task = record?.tasks.get(card.task)
    if (!record || !task) continue
    sum.add(task.window, record.ms)
    addCounts(totals, task.totals)
    callers.add(task, record.ms)
  }
  return {
    ...card,
    workers: providers.map(({ id }) => id),
    conflict: digests.size > 1,
    load: sum.load(),
    totals,
    callers: callers.list(),
  }
}

const readQueue = async (
  client: Redis,
  catalogue: Catalogue,
  keys: QueueKeys,
  name: string,
  live: WorkerOverview[],
  nowMs: number,
  records: Records,
): Promise<QueueOverview> => {
  const { calls, jobs, dead, held, taken, paused } = keys
  const workers = live.filter(worker => worker.queue === name)
  const serving = workers.filter(isServing)
  const [backlog, head, jobCount, deadCount, pausedText, ...heldCounts] = await Promise.all([
    catalogue.ask(client, 0, 'llen', calls),
    catalogue.ask<string[]>(client, [], 'lrange', calls, 0, 0),
    catalogue.ask(client, 0, 'llen', jobs),
    catalogue.ask(client, 0, 'zcard', dead),
    catalogue.ask<string | null>(client, null, 'get', paused),
    ...workers.map(worker => catalogue.ask(client, 0, 'hlen', held(worker.id))),
    // One that was adopted from this moment has a string there.
    ...workers.map(worker => client.llen(taken(worker.id)).catch(noneIfForeign)),
  ])
  const at = /^\{"at":(\d{1,16}),/.exec(head[0] ?? '')?.[1]
  return {
    queue: name,
    backlog,
    oldestMs: at === undefined ? undefined : Math.max(0, nowMs - Number(at) / 1000),
    pausedMs: pausedMsOf(pausedText),
    jobs: jobCount,
    dead: deadCount,
    held: heldCounts.reduce<number>((sum, count) => sum + (count ?? 0), 0),
    workers: serving.length,
    slots: serving.reduce((sum, worker) => sum + worker.slots, 0),
    busy: workers.reduce((sum, worker) => sum + (worker.stats?.busy ?? 0), 0),
    busyShare: busyShareOf(workers),
    load: workerLoad(workers, records),
  }
}

const noneIfForeign = (error: Error): null => {
  if (error.message.startsWith('WRONGTYPE')) return null
  throw error
}

const busyShareOf = (workers: WorkerOverview[]): number | undefined => {
  const telling = workers.filter(({ stats, slots }) => stats?.busyShare !== undefined && slots > 0)
  const slots = telling.reduce((sum, worker) => sum + worker.slots, 0)
  if (slots === 0) return undefined
  return telling.reduce((sum, worker) => sum + worker.stats!.busyShare! * worker.slots, 0) / slots
}

const byQueueAndHost = (a: WorkerOverview, b: WorkerOverview): number =>
  a.queue.localeCompare(b.queue) || a.host.localeCompare(b.host) || a.pid - b.pid || (a.id < b.id ? -1 : 1)

const byName = (a: TaskOverview, b: TaskOverview): number => {
  const [nameA, nameB] = [tryParseTaskName(a.task), tryParseTaskName(b.task)]
  if (!nameA || !nameB) return a.task < b.task ? -1 : 1
  return nameA.name.localeCompare(nameB.name) || newestFirst(nameA, nameB)
}
