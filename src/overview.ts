import type { Catalogue, LiveWorker } from './catalogue.ts'
import type { Keys } from './keys.ts'
import { newestFirst, tryParseTaskName } from './names.ts'
import type { Redis } from './redis.ts'
import type { TaskCard } from './task.ts'

export interface TaskOverview extends TaskCard {
  /** Ids of live workers that provide it; one that drains takes nothing new and is not among them. */
  workers: string[]
  /** True when live workers declare it with different schemas. */
  conflict: boolean
}

export interface WorkerOverview extends LiveWorker {
  /** False for a worker whose lease ended: it died or is cut off. One that drains is live: `stats.draining` says so. */
  live: boolean
}

export interface QueueOverview {
  queue: string
  /** Requests waiting in Redis. */
  backlog: number
  /** Milliseconds the oldest one has waited; undefined when none waits or it carries no time. */
  oldestMs: number | undefined
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
}

/** What the registry and the queues say at one moment. */
export interface Overview {
  tasks: TaskOverview[]
  workers: WorkerOverview[]
  queues: QueueOverview[]
}

/** Reads the whole registry, page by page; meant for people's eyes and dashboards, not for each call. */
export const readOverview = async (client: Redis, catalogue: Catalogue, keys: Keys): Promise<Overview> => {
  const [names, known, time] = await Promise.all([
    catalogue.taskNames(client),
    catalogue.allWorkers(client),
    client.time(),
  ])
  const nowMs = Math.floor(Number(time[0]) * 1000 + Number(time[1]) / 1000)
  const cards: TaskCard[] = []
  for (let from = 0; from < names.length; from += 200) {
    cards.push(...(await catalogue.taskCards(client, names.slice(from, from + 200))))
  }
  const queueNames = [...new Set([...cards.map(card => card.queue), ...known.map(worker => worker.queue)])].sort()
  const liveIds = new Set<string>()
  for (const name of queueNames) {
    for (const id of await client.zrangebyscore(keys.queue(name).leases, nowMs, '+inf')) liveIds.add(id)
  }
  const workers = known.map(worker => ({ ...worker, live: liveIds.has(worker.id) })).sort(byQueueAndHost)
  const live = workers.filter(worker => worker.live)
  const queues: QueueOverview[] = []
  for (const name of queueNames) queues.push(await readQueue(client, keys, name, live, nowMs))
  return { tasks: cards.map(card => taskOverview(card, live)).sort(byName), workers, queues }
}

const isServing = ({ stats }: WorkerOverview): boolean => stats?.draining !== true

const taskOverview = (card: TaskCard, live: WorkerOverview[]): TaskOverview => {
  const providers = live.filter(
    worker => isServing(worker) && worker.queue === card.queue && Object.hasOwn(worker.tasks, card.task),
  )
  const digests = new Set(providers.map(worker => worker.tasks[card.task]))
  return { ...card, workers: providers.map(({ id }) => id), conflict: digests.size > 1 }
}

const readQueue = async (
  client: Redis,
  keys: Keys,
  name: string,
  live: WorkerOverview[],
  nowMs: number,
): Promise<QueueOverview> => {
  const { calls, jobs, dead, held } = keys.queue(name)
  const workers = live.filter(worker => worker.queue === name)
  const serving = workers.filter(isServing)
  const [backlog, head, jobCount, deadCount, ...heldCounts] = await Promise.all([
    client.llen(calls),
    client.lrange(calls, 0, 0),
    client.llen(jobs),
    client.zcard(dead),
    ...workers.map(worker => client.hlen(held(worker.id))),
  ])
  const at = /^\{"at":(\d+)/.exec(head[0] ?? '')?.[1]
  return {
    queue: name,
    backlog,
    oldestMs: at === undefined ? undefined : Math.max(0, nowMs - Number(at) / 1000),
    jobs: jobCount,
    dead: deadCount,
    held: heldCounts.reduce((sum, count) => sum + count, 0),
    workers: serving.length,
    slots: serving.reduce((sum, worker) => sum + worker.slots, 0),
    busy: workers.reduce((sum, worker) => sum + (worker.stats?.busy ?? 0), 0),
  }
}

const byQueueAndHost = (a: WorkerOverview, b: WorkerOverview): number =>
  a.queue.localeCompare(b.queue) || a.host.localeCompare(b.host) || a.pid - b.pid || (a.id < b.id ? -1 : 1)

const byName = (a: TaskOverview, b: TaskOverview): number => {
  const [nameA, nameB] = [tryParseTaskName(a.task), tryParseTaskName(b.task)]
  if (!nameA || !nameB) return a.task < b.task ? -1 : 1
  return nameA.name.localeCompare(nameB.name) || newestFirst(nameA, nameB)
}
