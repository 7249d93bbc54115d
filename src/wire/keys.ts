/**
 * Every key name pshub uses; nobody else writes one. All keys of a queue share its hash tag, so that each function
 * touches one Cluster slot. Each key's comment, and the name of its parameter, is a row of PROTOCOL.md's table of keys: after
 * a change run `npm run docs`.
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
    /**
     * HASH: `name:major.minor` -> task card of the first queue; `name:major.minor@<queue>` -> card of a further queue. Kept: each card
     * until a day after its last write.
     */
    tasks: `${namespace}:tasks`,
    /**
     * ZSET: queue that got jobs by name before any card named it -> when, Redis ms. Kept: a day, and as long as jobs wait there or are
     * dead.
     */
    queues: `${namespace}:queues`,
    /** HASH: worker id -> worker card. Kept: until the worker leaves, or an hour after its last statistics. */
    workers: `${namespace}:workers`,
    /** HASH: worker id -> worker statistics. Kept: as its card. */
    stats: `${namespace}:stats`,
    // Not in the statistics, because hubs read those with each route.
    /** HASH: worker id -> results of its tasks. Kept: as its card. */
    taskStats: `${namespace}:taskstats`,
    /** HASH: worker id -> its slowest calls. Kept: as its card. */
    slow: `${namespace}:slow`,
    /** HASH: worker id -> its recent failures. Kept: as its card. */
    failures: `${namespace}:failures`,
    /** ZSET: hub id -> when it last wrote its unanswered calls, Redis ms. Kept: an hour after the last write; the latest 1000. */
    refusing: `${namespace}:refusing`,
    /** STRING: unanswered calls of one hub. Kept: an hour after the write. */
    refused: (hub: string) => `${namespace}:refused:${hub}`,
    queue: (name: string): QueueKeys => queueKeys(`${namespace}:{${name}}`),
    /** HASH: holder of a lock that workers of all queues share. Kept: a minute after its last lease. */
    lock: (name: string) => `${namespace}:lock:{${name}}`,
    /** LIST: start times of the latest runs that share a rate limit, Redis us. Kept: one period after the last start. */
    rate: (name: string) => `${namespace}:rate:{${name}}`,
    /** STRING: time that the last postponed run of a rate limit got, Redis us. Kept: until that time. */
    told: (name: string) => `${namespace}:told:{${name}}`,
    /**
     * STRING: login session of the registry: JSON of `role`, `untilMs` and `proof` (HMAC-SHA256 of the token under the session). The name
     * is the SHA-256 of the session. Also `cancelled`, under the SHA-256 of the name of a run that an agent cancelled at another registry.
     * Kept: 12 hours; `cancelled` 60 s.
     */
    session: (digest: string) => `${namespace}:session:${digest}`,
    /** STRING: the registry's chart data of one minute or hour. Kept: 1441 minutes or 721 hours. */
    chart: (step: string, number: number | '*') => `${namespace}:chart:${step}:${number}`,
    /**
     * STRING: named arguments of a task: JSON of `name`, `args`, `isWhole`, `by` and `atMs`, at most 16,384 bytes; places 0 to 19. Kept: a
     * year.
     */
    template: (task: string, place: number | '*') => `${namespace}:template:${task}:${place}`,
    /** LIST: replies for one hub; pushed at the tail, read from the head. Kept: a minute after the last reply. */
    reply: (hub: string) => `${reply}${hub}}`,
    /** LIST: the last replies that the hub moved off its list; only the hub writes it. Kept: a minute after the hub last read. */
    read: (hub: string) => `${reply}${hub}}:read`,
    /** STRING: how many chunks of a stream its caller has consumed. Kept: 10 s after each write, and until the stream ends. */
    taken: (hub: string, id: string) => `${reply}${hub}}:taken:${id}`,
  }
}

const queueKeys = (base: string) => ({
  /** LIST: waiting calls; pushed at the tail, claimed from the head. Kept: while calls wait. */
  calls: `${base}:calls`,
  /**
   * STRING: arguments of one call as JSON, stored apart because they are long. Kept: until the call ends, or some seconds after its
   * deadline.
   */
  args: (id: string) => `${base}:args:${id}`,
  // Functions derive the names of all other keys of jobs from this one.
  /** LIST: waiting jobs; pushed at the tail, claimed from the head. Kept: while jobs wait. */
  jobs: `${base}:jobs`,
  /** LIST: waiting jobs of high priority, claimed before `jobs`. Kept: while jobs wait. */
  jobsHigh: `${base}:jobs:high`,
  /** LIST: waiting jobs of low priority, claimed after `jobs`. Kept: while jobs wait. */
  jobsLow: `${base}:jobs:low`,
  /** LIST: empty, or one token `1` that wakes an idle worker. Kept: until a worker takes the token, or stops while nothing waits. */
  bell: `${base}:bell`,
  /** LIST: the same, for workers with room for a job. Kept: until a worker takes the token. */
  jobBell: `${base}:jobbell`,
  /** ZSET: job that waits for its first time -> when it is due, Redis ms. Kept: until it is due. */
  scheduled: `${base}:scheduled`,
  /** ZSET: failed job that waits for its retry -> when it is due, Redis ms. Kept: until it is due. */
  retries: `${base}:retries`,
  /**
   * LIST: bell for the worker that moves due jobs: a job is due before all others. Kept: until a worker takes the token, at most a minute.
   */
  dueBell: `${base}:duebell`,
  /**
   * HASH: name -> schedule; `<name>:last` -> when it last enqueued its job; `<name>:problem` -> why nobody can run it. Kept: until removed.
   */
  cron: `${base}:cron`,
  /** ZSET: name of a schedule -> its next time, Redis ms. Kept: while the schedule is active. */
  ticks: `${base}:ticks`,
  /** STRING: id of the worker that runs the schedules. Kept: 1.2 s after that worker's last heartbeat, or until it leaves. */
  ticker: `${base}:ticker`,
  /** STRING: id of the worker that moves due jobs. Kept: 1.2 s after that worker's last heartbeat, or until it leaves. */
  turn: `${base}:turn`,
  /** ZSET: dead job with its failures -> when it died, Redis ms. Kept: 180 days, until removed, or until 10,000 later ones exist. */
  dead: `${base}:dead`,
  /** LIST: waiting jobs of one task and key, in order. Kept: while jobs wait. */
  line: (task: string, key: string) => `${base}:line:${task}:${key}`,
  /** ZSET: key with waiting jobs and none running -> since when it is due, Redis us. Kept: while jobs wait. */
  keysOf: (task: string) => `${base}:keys:${task}`,
  /** HASH: key with a running job -> `<fence> <worker> <job>`. Kept: while the job runs. */
  running: (task: string) => `${base}:running:${task}`,
  /** ZSET: `<task> <key>` of a key whose first job waits for its time -> when it is due, Redis ms. Kept: until it is due. */
  later: `${base}:later`,
  /** ZSET: task -> since when its first key is due, Redis us; `+inf` if none is. Kept: while the task has keys. */
  keyed: `${base}:keyed`,
  /** ZSET: waiting payload of one merged key, as JSON -> score. Kept: while payloads wait. */
  merged: (task: string, key: string) => `${base}:merged:${task}:${key}`,
  /**
   * HASH: merged key with failed runs -> `{"tries","errors","losses"}` as in a `job`. Kept: until a run of the key succeeds or one of its
   * payloads is dead.
   */
  tried: (task: string) => `${base}:tried:${task}`,
  /** HASH: running merged key -> when the payloads that arrived meanwhile are due, Redis ms; absent: at once. Kept: while the key runs. */
  next: (task: string) => `${base}:next:${task}`,
  /** HASH: task -> `first` if the first score of equal payloads counts; `last` if that was changed back. Kept: for ever. */
  scores: `${base}:scores`,
  /** HASH: task -> number of jobs in its lines; number of its keys with waiting payloads. Kept: while the task has keys. */
  lined: `${base}:lined`,
  /** STRING: last fencing token of a keyed run. Kept: a minute. */
  fence: `${base}:fence`,
  /** HASH: record of a tracked job. Kept: until `keep` ms after its end. */
  job: (job: string) => `${base}:job:${job}`,
  /** STRING: progress of a running job. Kept: a minute after the last write, and until the run ends. */
  progress: (job: string) => `${base}:progress:${job}`,
  /** HASH: jobs that follow a batch, and how many of its jobs have ended. Kept: an hour after the last end; a day if never closed. */
  batch: (batch: string) => `${base}:batch:${batch}`,
  /** SET: ids of the batch's jobs that have ended. Kept: until all have. */
  batchEnded: (batch: string) => `${base}:ended:${batch}`,
  /** STRING: `1`: this job arrived from another queue. Kept: until the sending worker knows, at most 30 days. */
  came: (job: string) => `${base}:came:${job}`,
  /** STRING: id of the job that holds this `unique` text. Kept: until that job ends or starts, at most its `uniqueMs`. */
  unique: (text: string) => `${base}:unique:${text}`,
  /** ZSET: worker id -> end of its lease, Redis ms; 0: left, or being adopted from. Kept: until the worker leaves or is adopted from. */
  leases: `${base}:leases`,
  /** ZSET: request id -> when its caller cancelled it, Redis ms. Kept: each id for 5 s. */
  cancelled: `${base}:cancelled`,
  /** STRING: id of the worker that reports the queue's figures. Kept: 3 s after that worker's last heartbeat, or until it leaves. */
  reporter: `${base}:reporter`,
  /** STRING: since when the queue is paused, Redis ms. Kept: until resumed. */
  paused: `${base}:paused`,
  /** STRING: record of the queue's shards. Kept: for ever. */
  shards: `${base}:shards`,
  /** none: always absent; on a Cluster, Redis runs a function only while all keys of its slot are on one node. Kept: never. */
  moving: `${base}:moving`,
  /** STRING: ticket of a request to show what a worker is doing. Kept: until read, at most 5 s. */
  inspect: (worker: string) => `${base}:inspect:${worker}`,
  /** LIST: the answer to that request. Kept: until taken, at most 10 s. */
  shown: (ticket: string) => `${base}:shown:${ticket}`,
  /** HASH: held id -> request as it was in the list. Kept: while the worker holds requests. */
  held: (worker: string) => `${base}:held:${worker}`,
  /** STRING: number and outcome of the hub's last push. Kept: a minute after that push. */
  pushed: (hub: string) => `${base}:pushed:${hub}`,
  /** STRING: number and outcome of the hub's last batch of jobs. Kept: a minute after that batch. */
  enqueued: (hub: string) => `${base}:enqueued:${hub}`,
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
