/**
 * Every key name pshub uses; nobody else writes one. All keys of a queue share its hash tag, so that each script
 * touches one Cluster slot. The shapes are part of PROTOCOL.md.
 */
export interface QueueKeys {
  /** LIST: calls waiting. */
  readonly calls: string
  /** LIST: jobs waiting. */
  readonly jobs: string
  /** LIST: empty or a token that wakes one blocked worker. */
  readonly bell: string
  /** LIST: the same for workers that have room for a job. */
  readonly jobBell: string
  /** ZSET: job -> when it was given up, Redis milliseconds. */
  readonly dead: string
  /** ZSET: worker id -> lease end, Redis milliseconds. */
  readonly leases: string
  /** ZSET: request id -> when its caller gave up, Redis milliseconds. */
  readonly cancelled: string
  /** STRING: the worker that reports the queue's length and age. */
  readonly reporter: string
  /** STRING: since when nothing is claimed, Redis milliseconds; absent: the queue is served. */
  readonly paused: string
  /** HASH: request id -> request, for one worker. */
  held(workerId: string): string
  /** STRING: number and outcome of the hub's last push. */
  pushed(hubId: string): string
}

export interface Keys {
  /** HASH: name:version -> task card. */
  readonly tasks: string
  /** HASH: worker id -> worker card, written once per worker identity. */
  readonly workers: string
  /** HASH: worker id -> what changes with each beat. */
  readonly stats: string
  /** HASH: worker id -> what its tasks did. Apart from the statistics, because hubs read those with each route. */
  readonly taskStats: string
  /** HASH: worker id -> its slowest calls. */
  readonly slow: string
  /** HASH: worker id -> its recent failures. */
  readonly failures: string
  queue(name: string): QueueKeys
  /** LIST: replies for one hub. */
  reply(hubId: string): string
  /** LIST: the last replies that the hub took off its list one by one. */
  read(hubId: string): string
}

const idPattern = /^[A-Za-z0-9_-]{1,64}$/
const queuePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
const namespacePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$/

/** Hub and worker ids, request ids. */
export const isId = (value: unknown): value is string => typeof value === 'string' && idPattern.test(value)
export const isQueueName = (value: unknown): value is string => typeof value === 'string' && queuePattern.test(value)
export const isNamespace = (value: unknown): value is string =>
  typeof value === 'string' && namespacePattern.test(value)

export const makeKeys = (namespace: string): Keys => {
  const queues = new Map<string, QueueKeys>()
  const reply = `${namespace}:reply:{`
  return {
    tasks: `${namespace}:tasks`,
    workers: `${namespace}:workers`,
    stats: `${namespace}:stats`,
    taskStats: `${namespace}:taskstats`,
    slow: `${namespace}:slow`,
    failures: `${namespace}:failures`,
    queue(name) {
      let keys = queues.get(name)
      if (!keys) {
        keys = queueKeys(`${namespace}:{${name}}`)
        queues.set(name, keys)
      }
      return keys
    },
    reply: hubId => `${reply}${hubId}}`,
    read: hubId => `${reply}${hubId}}:read`,
  }
}

const queueKeys = (base: string): QueueKeys => ({
  calls: `${base}:calls`,
  jobs: `${base}:jobs`,
  bell: `${base}:bell`,
  jobBell: `${base}:jobbell`,
  dead: `${base}:dead`,
  leases: `${base}:leases`,
  cancelled: `${base}:cancelled`,
  reporter: `${base}:reporter`,
  paused: `${base}:paused`,
  held: workerId => `${base}:held:${workerId}`,
  pushed: hubId => `${base}:pushed:${hubId}`,
})

/**
 * The hub id in a request's `result_queue`, or undefined when it is not the name of a hub's reply list. A worker
 * rebuilds the list's name from this id and never pushes to a name it was handed: a request must not be able to make
 * a worker write anywhere else.
 */
export const hubIdOf = (resultQueue: unknown, namespace: string): string | undefined => {
  if (typeof resultQueue !== 'string' || resultQueue.length > 128) return undefined
  const prefix = `${namespace}:reply:{`
  if (!resultQueue.startsWith(prefix) || !resultQueue.endsWith('}')) return undefined
  const id = resultQueue.slice(prefix.length, -1)
  return isId(id) ? id : undefined
}
