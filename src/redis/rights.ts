import type { Keys } from '../wire/keys.ts'

/**
 * What a Redis user may be for: to call, to call and to enqueue jobs, to serve a queue, to look (`pshub tasks`, `workers`, `queues`, `jobs`),
 * to look, to pause queues (`pshub pause`, `resume`), to forget tasks (`pshub forget`) and to ask workers what they do (`pshub inspect`), to keep the
 * sessions, charts and templates of the registry, which looks and calls besides, or to load the library (`pshub install`).
 */
export const roles = ['hub', 'jobs', 'worker', 'view', 'admin', 'registry', 'install'] as const
export type Role = (typeof roles)[number]

/** How a role uses one key, or, without one, what it sends that concerns no key. */
export interface Use {
  key: string | undefined
  /** As access rules call it: R is %R~key, RW is ~key. Functions need both on each key they are given. */
  access: 'R' | 'RW'
  /** True for a key that is given to a function of the library. */
  isGiven: boolean
  /** Sent, or run by a function. */
  commands: readonly string[]
}

/** The same commands on one key or on several. */
const use =
  (access: Use['access'], isGiven: boolean) =>
  (keys: string | undefined | readonly string[], commands: string): Use[] =>
    [keys].flat().map(key => ({ key, access, isGiven, commands: commands.split(' ').filter(Boolean) }))
const reads = use('R', false)
const writes = use('RW', false)
const runs = use('RW', true)
const sends = (commands: string) => reads(undefined, commands)

/**
 * Everything that pshub sends to Redis, by role and key: the one list that access rules, the boot check and PROTOCOL.md
 * are made of. `queue` and `id` may be names or `*`.
 */
export const usesOf = (role: Role, keys: Keys, queue: string, id: string): Use[] => {
  const { calls, args, bell, held, pushed, cancelled, leases, reporter, paused, moving } = keys.queue(queue)
  const { jobs, jobsHigh, jobsLow, jobBell, scheduled, retries, dueBell, turn, dead, cron, ticks, ticker } =
    keys.queue(queue)
  const { inspect, shown, line, keysOf, running, keyed, later, lined, fence } = keys.queue(queue)
  const { merged, tried, next, scores, shards } = keys.queue(queue)
  const { job, batch, batchEnded, came, unique, enqueued, progress } = keys.queue(queue)
  /** What everybody who looks reads. */
  const looking = [
    sends('TIME INFO CLIENT|SETNAME CLIENT|INFO CLIENT|KILL CLUSTER|SLOTS SCAN'),
    reads(keys.workers, 'HKEYS HMGET HSTRLEN'),
    reads(keys.queues, 'ZRANGE'),
    reads([keys.stats, keys.taskStats, keys.slow, keys.failures], 'HMGET HSTRLEN'),
    reads(keys.refusing, 'ZRANGE'),
    reads(keys.refused(id), 'GETRANGE'),
    reads(leases, 'ZRANGEBYSCORE'),
    reads([calls, jobs, jobsHigh, jobsLow], 'LLEN LRANGE'),
    reads([scheduled, retries, dead], 'ZCARD ZRANGE'),
    reads(job(id), 'HGETALL HMGET'),
    reads(progress(id), 'GET'),
    reads(batch(id), 'HGETALL'),
    reads(cron, 'HGETALL'),
    reads(ticks, 'ZRANGE'),
    reads(held(id), 'HKEYS HLEN HMGET'),
    reads(line('*', '*'), 'LLEN LRANGE'),
    reads([keysOf('*'), later], 'ZCARD ZRANGE ZSCORE'),
    reads(keyed, 'ZRANGE'),
    reads(running('*'), 'HGET HKEYS HVALS'),
    reads(merged('*', '*'), 'ZCARD ZRANGE'),
    reads(tried('*'), 'HGET'),
    reads(lined, 'HVALS'),
    reads(shards, 'GET'),
  ]
  const calling = (sent: string) => [
    sends(sent),
    runs(moving, ''),
    reads(shards, 'GET'),
    reads(keys.tasks, 'HKEYS HMGET HSTRLEN'),
    reads([keys.workers, keys.stats], 'HMGET HSTRLEN'),
    reads(leases, 'ZCOUNT ZRANGEBYSCORE'),
    runs(calls, 'LLEN LPOS LREM RPUSH'),
    runs(bell, 'LLEN RPUSH UNLINK'),
    writes(args(id), 'SET UNLINK'),
    runs(pushed(id), 'SET UNLINK'),
    runs(cancelled, 'PEXPIRE ZADD'),
    writes(keys.reply(id), 'BLMOVE LRANGE LTRIM UNLINK'),
    writes(keys.read(id), 'BLMOVE LRANGE LTRIM PEXPIRE RPUSH UNLINK'),
    writes(keys.taken(id, id), 'SET UNLINK'),
    writes(keys.refusing, 'PEXPIRE ZADD ZREMRANGEBYRANK ZREMRANGEBYSCORE'),
    writes(keys.refused(id), 'SET'),
  ]
  const uses: Record<Role, Use[][]> = {
    hub: calling('FCALL TIME INFO CLIENT|SETNAME CLIENT|INFO CLIENT|KILL CLUSTER|SLOTS'),
    jobs: [
      ...calling('FCALL TIME INFO CLIENT|SETNAME CLIENT|INFO CLIENT|KILL CLUSTER|SLOTS WAIT'),
      writes(keys.queues, 'ZADD ZRANGE'),
      runs(jobs, 'LLEN LRANGE LREM RPUSH'),
      writes([jobsHigh, jobsLow], 'LLEN LRANGE LREM RPUSH'),
      runs(jobBell, 'DEL LLEN RPUSH'),
      writes([scheduled, retries], 'ZADD ZCARD ZRANGE ZRANK ZREM'),
      reads(held(id), 'HKEYS HMGET'),
      writes(dueBell, 'LLEN PEXPIRE RPUSH'),
      writes(dead, 'ZADD ZCARD ZRANGE ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZSCORE'),
      writes(line('*', '*'), 'EXISTS LINDEX LLEN LPOP LRANGE LREM RPUSH'),
      writes(merged('*', '*'), 'EXISTS UNLINK ZADD ZCARD ZPOPMIN ZRANGE'),
      writes(tried('*'), 'HDEL HGET'),
      writes(next('*'), 'HDEL HGET HSET'),
      writes(scores, 'HGET HSET'),
      writes(keysOf('*'), 'ZADD ZCARD ZRANGE ZREM ZSCORE'),
      writes(running('*'), 'EXISTS HDEL HEXISTS HGET HKEYS'),
      writes(later, 'ZADD ZRANGE ZREM ZSCORE'),
      writes(keyed, 'ZADD ZRANGE ZREM'),
      writes(lined, 'HDEL HGET HINCRBY HVALS'),
      runs(job(id), 'EXISTS HDEL HGET HGETALL HKEYS HMGET HSET PERSIST PEXPIRE PTTL'),
      reads(progress(id), 'GET'),
      writes(batch(id), 'HEXISTS HGETALL HINCRBY HMGET HSET HSETNX PERSIST PEXPIRE PTTL'),
      writes(batchEnded(id), 'DEL PERSIST PEXPIRE SADD'),
      writes(unique('*'), 'DEL GET SET'),
      runs(enqueued(id), 'GET PEXPIRE SET UNLINK'),
      writes(came(id), 'SET'),
      writes(cron, 'HDEL HGET HGETALL HSET'),
      writes(ticks, 'ZADD ZCARD ZRANGE ZREM ZSCORE'),
    ],
    worker: [
      sends('FCALL TIME INFO CLIENT|SETNAME CLIENT|INFO CLIENT|KILL CLIENT|ID CLIENT|UNBLOCK CLUSTER|SLOTS'),
      runs(moving, ''),
      runs(shards, 'GET SET'),
      runs(keys.tasks, 'HDEL HGET HKEYS HMGET HSET HSTRLEN'),
      writes(keys.queues, 'ZRANGE ZRANGEBYSCORE ZREM'),
      writes(keys.workers, 'HDEL HMGET HSET HSTRLEN'),
      writes(keys.stats, 'HDEL HKEYS HMGET HSET HSTRLEN'),
      writes([keys.taskStats, keys.slow, keys.failures], 'HDEL HSET'),
      runs(leases, 'ZADD ZCOUNT ZRANGEBYSCORE ZREM ZSCORE'),
      runs(calls, 'LINDEX LLEN LPOP LPUSH RPUSH'),
      reads(args(id), 'GET MGET'),
      runs(bell, 'BLPOP DEL LLEN RPUSH'),
      runs(jobs, 'EXISTS LINDEX LLEN LPOP LPUSH RPUSH'),
      writes([jobsHigh, jobsLow], 'EXISTS LINDEX LLEN LPOP LPUSH RPUSH'),
      runs(jobBell, 'BLPOP DEL LLEN RPUSH'),
      writes([scheduled, retries], 'ZADD ZCARD ZRANGE ZRANGEBYSCORE ZREMRANGEBYRANK'),
      writes(dueBell, 'BLPOP LLEN PEXPIRE RPUSH'),
      writes(turn, 'DEL GET SET'),
      writes(cron, 'HDEL HMGET HSET'),
      writes(ticks, 'ZADD ZRANGE ZRANGEBYSCORE ZREM ZSCORE'),
      writes(ticker, 'DEL GET SET'),
      writes(dead, 'ZADD ZCARD ZREMRANGEBYRANK ZREMRANGEBYSCORE'),
      writes(line('*', '*'), 'EXISTS LINDEX LPOP LPUSH RPUSH'),
      writes(merged('*', '*'), 'EXISTS ZADD ZCARD ZPOPMIN'),
      writes(tried('*'), 'HDEL HGET HMGET HSET'),
      writes(next('*'), 'HDEL HGET'),
      writes(scores, 'HGET HSET'),
      writes(keysOf('*'), 'ZADD ZCARD ZPOPMIN ZRANGE ZSCORE'),
      writes(running('*'), 'EXISTS HDEL HEXISTS HGET HGETALL HMGET HSET HVALS'),
      writes(later, 'ZADD ZCARD ZRANGE ZRANGEBYSCORE ZREM ZSCORE'),
      writes(keyed, 'EXISTS ZADD ZRANGE ZREM'),
      writes(lined, 'HDEL HGET HINCRBY HVALS'),
      writes(fence, 'GET SET'),
      writes(job(id), 'HDEL HGET HGETALL HKEYS HMGET HSET PERSIST PEXPIRE'),
      writes(batch(id), 'HEXISTS HINCRBY HMGET HSETNX PEXPIRE PTTL'),
      writes(batchEnded(id), 'DEL PEXPIRE SADD'),
      writes(came(id), 'DEL SET'),
      writes(unique('*'), 'DEL GET SET'),
      runs(cancelled, 'ZRANGE ZREMRANGEBYSCORE'),
      runs(reporter, 'DEL GET SET'),
      runs(paused, 'GET'),
      runs(held(id), 'HDEL HEXISTS HGET HKEYS HLEN HRANDFIELD HSET'),
      runs(keys.reply(id), 'PEXPIRE RPUSH'),
      reads(keys.taken(id, id), 'GET'),
      writes(progress(id), 'DEL SET'),
      writes(inspect(id), 'DEL GET'),
      writes(shown(id), 'PEXPIRE RPUSH'),
      runs(keys.lock(id), 'HDEL HMGET HSET PEXPIRE'),
      runs(keys.rate(id), 'LINDEX LTRIM PEXPIRE RPUSH'),
      runs(keys.told(id), 'GET SET'),
    ],
    view: [...looking, reads(keys.tasks, 'HKEYS HMGET HSTRLEN'), reads(paused, 'GET')],
    admin: [
      ...looking,
      writes(keys.tasks, 'HDEL HKEYS HMGET HSTRLEN'),
      writes(paused, 'GET GETEX SET'),
      writes(inspect(id), 'SET UNLINK'),
      writes(shown(id), 'BLPOP'),
    ],
    registry: [
      sends('INFO CLIENT|SETNAME CLIENT|INFO CLIENT|KILL CLUSTER|SLOTS'),
      writes(keys.session('*'), 'GETRANGE SET UNLINK'),
      writes(keys.chart('*', '*'), 'GETRANGE SET'),
      writes(keys.template('*', '*'), 'GETRANGE SET UNLINK'),
    ],
    install: [sends('FCALL FUNCTION|LOAD INFO CLIENT|SETNAME CLUSTER|SLOTS')],
  }
  return uses[role].flat()
}

/**
 * What pshub does without: the name of a connection, fencing its predecessor, looking whether the server is fit and has loaded its data, ending a wait early
 * when there is room for jobs again or the queue was paused, listing tracked jobs that are done, and waiting for replicas.
 */
const dispensable: readonly string[] = [
  'INFO',
  'CLIENT|SETNAME',
  'CLIENT|INFO',
  'CLIENT|KILL',
  'CLIENT|ID',
  'CLIENT|UNBLOCK',
  'SCAN',
  'WAIT',
]

/** What is needed on a Cluster alone. */
export const isOfClusters = ({ command, key }: Pick<Probe, 'command' | 'key'>): boolean =>
  command === 'CLUSTER|SLOTS' || key?.endsWith('}:moving') === true

/**
 * The same of a key: the names of queues that no card tells of, what hubs refused, how far jobs are, and what callers have taken of streams
 * (without that only short ones come to their end).
 */
export const isDispensable = ({ command, key }: Pick<Probe, 'command' | 'key'>, keys: Keys): boolean =>
  dispensable.includes(command) ||
  key === keys.queues ||
  key === keys.refusing ||
  key?.endsWith('}:taken:*') === true ||
  key?.endsWith('}:progress:*') === true ||
  key?.startsWith(keys.refused('')) === true

/** The access rules that grant a role what it needs and nothing else. */
export const rulesOf = (role: Role, keys: Keys, queue = '*'): string => {
  const uses = usesOf(role, keys, queue, '*')
  const patterns = uses.flatMap(({ key, access }) => (key === undefined ? [] : `${access === 'R' ? '%R' : ''}~${key}`))
  const commands = [...new Set(uses.flatMap(use => use.commands))].map(command => `+${command.toLowerCase()}`)
  return [...patterns, ...commands].join(' ')
}

/** What follows a command's name and key, where a command without it would not be one. */
const rests: Record<string, string[]> = {
  'HDEL HEXISTS HGET HMGET HSTRLEN LPOS LPUSH RPUSH SADD ZRANK ZREM ZSCORE CLIENT|SETNAME FUNCTION|LOAD': ['_'],
  'GETRANGE LRANGE LTRIM ZCOUNT ZRANGE ZRANGEBYSCORE ZREMRANGEBYRANK ZREMRANGEBYSCORE': ['0', '0'],
  'LPOP PEXPIRE': ['1'],
  // An admin's is really sent, and finds nothing.
  BLPOP: ['0.001'],
  'LINDEX CLIENT|UNBLOCK': ['0'],
  'CLIENT|KILL': ['ID', '0'],
  FCALL: ['_', '0'],
  SCAN: ['0'],
  WAIT: ['0', '1'],
  'HSET HSETNX': ['_', '_'],
  HINCRBY: ['_', '1'],
  LREM: ['1', '_'],
  ZADD: ['0', '_'],
  // Sent for an admin; it changes nothing: Redis looks at rights before it finds that two of the words exclude each other.
  SET: ['_', 'NX', 'XX', 'GET'],
}
const restOf = new Map(
  Object.entries(rests).flatMap(([commands, rest]) => commands.split(' ').map(command => [command, rest] as const)),
)

/** Something a user may or may not do: a command, and the key that it concerns. */
export interface Probe {
  command: string
  key: string | undefined
  /** A harmless command of that kind. */
  words: string[]
}

/** Everything that a role does, to be asked one by one. */
export const probesOf = (role: Role, keys: Keys, queue: string): Probe[] =>
  usesOf(role, keys, queue, '*').flatMap(({ key, isGiven, commands }): Probe[] => {
    const probes = commands.map(command => ({ command, key, words: wordsOf(command, key) }))
    return isGiven ? [{ command: 'FCALL', key, words: ['FCALL', '_', '1', key!] }, ...probes] : probes
  })

const wordsOf = (command: string, key: string | undefined): string[] => {
  if (key === undefined) return [...command.split('|'), ...(restOf.get(command) ?? [])]
  if (command === 'BLMOVE') return [command, key, key, 'LEFT', 'RIGHT', '1']
  return [command, key, ...(restOf.get(command) ?? [])]
}
