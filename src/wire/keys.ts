/**
 * Every key name pshub uses; nobody else writes one. All keys of a queue share its hash tag, so that each function
 * touches one Cluster slot. The shapes are part of PROTOCOL.md.
 */
export type Keys = Readonly<ReturnType<typeof makeKeys>>
export type QueueKeys = Readonly<ReturnType<typeof queueKeys>>

const textLike =
  (pattern: RegExp) =>
  (value: unknown): value is string =>
    typeof value === 'string' && pattern.test(value)

/** Hub and worker ids, request ids. */
export const isId = textLike(/^[A-Za-z0-9_-]{1,64}$/)
export const isQueueName = textLike(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/)
/** What a forwarder is called: what is left of a queue's name behind `forward.`. */
export const isForwarderName = textLike(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,55}$/)
/** The queue of the jobs that a forwarder takes out of the hub; nobody else serves it. */
export const forwardQueue = (forwarder: string): string => `forward.${forwarder}`
/** The queue of a shard of a queue: its number chooses where it lies. */
export const shardName = (queue: string, number: number): string => `shard.${number}.${queue}`
/** So long may the name of a queue be that is spread over shards. */
export const longestSharded = 50
/** The queue that something is a shard of; the queue itself where it is none. */
export const wholeQueue = (queue: string): string => /^shard\.\d{1,6}\.(.+)$/.exec(queue)?.[1] ?? queue
export const isShardOf = (name: unknown, queue: string): name is string =>
  isQueueName(name) && name !== queue && wholeQueue(name) === queue
/** Whose queue it is; undefined for that of a worker. */
export const forwarderOf = (queue: string): string | undefined =>
  queue.startsWith('forward.') ? queue.slice('forward.'.length) : undefined
export const isNamespace = textLike(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$/)

export const makeKeys = (namespace: string) => {
  const reply = `${namespace}:reply:{`
  return {
    namespace,
    /** HASH: name:version -> task card. */
    tasks: `${namespace}:tasks`,
    /** ZSET: queues into which jobs were put by name before anybody declared a task there -> when, Redis milliseconds. */
    queues: `${namespace}:queues`,
    /** HASH: worker id -> worker card, written once per worker identity. */
    workers: `${namespace}:workers`,
    /** HASH: worker id -> what changes with each beat. */
    stats: `${namespace}:stats`,
    /** HASH: worker id -> what its tasks did. Apart from the statistics, because hubs read those with each route. */
    taskStats: `${namespace}:taskstats`,
    /** HASH: worker id -> its slowest calls. */
    slow: `${namespace}:slow`,
    /** HASH: worker id -> its recent failures. */
    failures: `${namespace}:failures`,
    /** ZSET: hub id -> when it last wrote what it refused, Redis milliseconds; STRING: that. */
    refusing: `${namespace}:refusing`,
    refused: (hubId: string) => `${namespace}:refused:${hubId}`,
    queue: (name: string): QueueKeys => queueKeys(`${namespace}:{${name}}`),
    /** HASH: who holds a lock that workers of all queues share. */
    lock: (name: string) => `${namespace}:lock:{${name}}`,
    /** LIST: when the last ones began that share a rate, microseconds; STRING: for when the last one was put off. */
    rate: (name: string) => `${namespace}:rate:{${name}}`,
    told: (name: string) => `${namespace}:told:{${name}}`,
    /** STRING: whose session it is; the name is a digest of it. */
    session: (name: string) => `${namespace}:session:${name}`,
    /** STRING: what the charts of the registry show of one minute or hour, by its number since 1970. */
    chart: (step: string, number: number | '*') => `${namespace}:chart:${step}:${number}`,
    /** STRING: arguments of a task that somebody gave a name, in one of its places. */
    template: (task: string, place: number | '*') => `${namespace}:template:${task}:${place}`,
    /** LIST: replies for one hub. */
    reply: (hubId: string) => `${reply}${hubId}}`,
    /** LIST: the last replies that the hub took off its list one by one. */
    read: (hubId: string) => `${reply}${hubId}}:read`,
    /** STRING: how many chunks of a stream its caller has taken. */
    taken: (hubId: string, id: string) => `${reply}${hubId}}:taken:${id}`,
  }
}

const queueKeys = (base: string) => ({
  /** LIST: calls waiting. */
  calls: `${base}:calls`,
  /** STRING: the arguments of a call, as JSON, where they are too long to lie in the list. */
  args: (id: string) => `${base}:args:${id}`,
  /** LIST: jobs waiting; functions find all that there is of jobs by its name. */
  jobs: `${base}:jobs`,
  /** LIST: those that go before all others, and those that let all others pass. */
  jobsHigh: `${base}:jobs:high`,
  jobsLow: `${base}:jobs:low`,
  /** LIST: empty or a token that wakes one blocked worker. */
  bell: `${base}:bell`,
  /** LIST: the same for workers that have room for a job. */
  jobBell: `${base}:jobbell`,
  /** ZSET: job -> when it is due, Redis milliseconds: first tries, and further ones. */
  scheduled: `${base}:scheduled`,
  retries: `${base}:retries`,
  /** LIST: the same as a bell, for workers that move what is due. */
  dueBell: `${base}:duebell`,
  /** HASH: name -> what is enqueued at its times; ZSET: name -> its next time, Redis milliseconds. */
  cron: `${base}:cron`,
  ticks: `${base}:ticks`,
  /** STRING: the worker that looks after these times. */
  ticker: `${base}:ticker`,
  /** STRING: the worker that looks after what is due. */
  turn: `${base}:turn`,
  /** ZSET: job -> when it was given up, Redis milliseconds. */
  dead: `${base}:dead`,
  /** LIST: the jobs of one key that wait, in their order. */
  line: (task: string, key: string) => `${base}:line:${task}:${key}`,
  /** ZSET: key -> since when it is due, Redis microseconds, of those of which none runs; HASH: key -> who runs it. */
  keysOf: (task: string) => `${base}:keys:${task}`,
  running: (task: string) => `${base}:running:${task}`,
  /** ZSET: `<task> <key>` -> when it is due, Redis milliseconds, of those whose first job waits for its time. */
  later: `${base}:later`,
  /** ZSET: task -> since when the first of its keys is due, Redis microseconds; STRING: the last token that a run of a key was given. */
  keyed: `${base}:keyed`,
  /** ZSET: payload -> score, what waits of a key whose jobs are merged; HASH: key -> how its runs failed so far. */
  merged: (task: string, key: string) => `${base}:merged:${task}:${key}`,
  tried: (task: string) => `${base}:tried:${task}`,
  /** HASH: key -> when what came while it runs is due, Redis milliseconds; HASH: task -> which score of equal payloads counts. */
  next: (task: string) => `${base}:next:${task}`,
  scores: `${base}:scores`,
  /** HASH: task -> how many jobs its lines have, and how many of its keys have payloads that wait. */
  lined: `${base}:lined`,
  fence: `${base}:fence`,
  /** HASH: how a tracked job fares. */
  job: (id: string) => `${base}:job:${id}`,
  /** STRING: how far a job is that runs. */
  progress: (id: string) => `${base}:progress:${id}`,
  /** HASH: a batch: what follows it, and how many have ended; SET: these. */
  batch: (id: string) => `${base}:batch:${id}`,
  batchEnded: (id: string) => `${base}:ended:${id}`,
  /** STRING: a job that came from another queue. */
  came: (id: string) => `${base}:came:${id}`,
  /** STRING: id of the job that keeps others of its kind away. */
  unique: (text: string) => `${base}:unique:${text}`,
  /** ZSET: worker id -> lease end, Redis milliseconds. */
  leases: `${base}:leases`,
  /** ZSET: request id -> when its caller gave up, Redis milliseconds. */
  cancelled: `${base}:cancelled`,
  /** STRING: the worker that reports the queue's length and age. */
  reporter: `${base}:reporter`,
  /** STRING: since when nothing is claimed, Redis milliseconds; absent: the queue is served. */
  paused: `${base}:paused`,
  /** STRING: over which shards the queue is spread, in the place of each of them. */
  shards: `${base}:shards`,
  /** Never there: the last of a function's keys on a Cluster, where it is run only while all keys of its slot are in one place. */
  moving: `${base}:moving`,
  /** STRING: who asks what a worker is doing; LIST: the answer. */
  inspect: (workerId: string) => `${base}:inspect:${workerId}`,
  shown: (ticket: string) => `${base}:shown:${ticket}`,
  /** HASH: request id -> request, for one worker. */
  held: (workerId: string) => `${base}:held:${workerId}`,
  /** STRING: number and outcome of the hub's last push. */
  pushed: (hubId: string) => `${base}:pushed:${hubId}`,
  /** STRING: number and outcome of the hub's last batch of jobs. */
  enqueued: (hubId: string) => `${base}:enqueued:${hubId}`,
})

/**
 * The hub id in a request's `result_queue`, or undefined when it is not the name of a hub's reply list. A worker
 * rebuilds the list's name from this id and never pushes to a name it was handed: a request must not be able to make
 * a worker write anywhere else.
 */
export const hubIdOf = (resultQueue: unknown, namespace: string): string | undefined => {
  if (resultQueue === last.resultQueue && namespace === last.namespace) return last.id
  if (typeof resultQueue !== 'string' || resultQueue.length > 128) return undefined
  const prefix = `${namespace}:reply:{`
  if (!resultQueue.startsWith(prefix) || !resultQueue.endsWith('}')) return undefined
  const id = resultQueue.slice(prefix.length, -1)
  if (!isId(id)) return undefined
  last = { resultQueue, namespace, id }
  return id
}

/** A claim brings many requests of one hub. Its id is then one text with one hash, too, wherever it is looked up. */
let last: { resultQueue?: string; namespace?: string; id?: string } = {}
