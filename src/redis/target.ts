import type { RedisOptions } from 'ioredis'
import { ConfigError } from '../wire/errors.ts'
import {
  type Address,
  checkSeveral,
  expanded,
  isOfSeveral,
  type PasswordSource,
  type RedisTarget,
  type RedisTargetOptions,
} from './addresses.ts'

export type { Address, RedisOptions, RedisTarget, RedisTargetOptions }

/** Options that go to ioredis as they were given, but not in a URL, which holds nothing but texts. */
const inObjects = [
  ...'host port keepAlive protocol Connector name natMap updateSentinels enableTLSForSentinelMode sentinels'.split(' '),
  ...'sentinelUsername sentinelPassword sentinelTLS sentinelMaxConnections sentinelReconnectStrategy'.split(' '),
]
/** The same, and they may stand in a URL. */
const inUrls = ['path', 'family', 'tls', 'username', 'password']
/** An option of pshub's own, which no client is given. */
const ownNames = ['cluster']

/**
 * What clients get whatever was given. It keeps ioredis' promises settling (each trap was reproduced against ioredis 6.0.0): with
 * `maxRetriesPerRequest` above 0 a command under way may pend for ever when the server accepts and closes; with re-sending on, a
 * push whose answer was lost runs twice; the offline queue has no bound; nor has the wait for a sentinel that says nothing. There
 * is no function among them, because they are copied into a thread.
 */
const own: Record<string, unknown> = {
  sentinelRetryStrategy: null,
  sentinelCommandTimeout: 1000,
  failoverDetector: true,
  connectTimeout: 2000,
  disconnectTimeout: 1000,
  lazyConnect: true,
  retryStrategy: null,
  reconnectOnError: null,
  maxRetriesPerRequest: 0,
  maxLoadingRetryTime: 1000,
  // Without it what is under way when a connection ends never settles, not even when that is destroyed.
  autoResendUnfulfilledCommands: true,
  autoResubscribe: false,
  enableOfflineQueue: false,
  enableReadyCheck: true,
  noDelay: true,
  connectionName: null,
  disableClientInfo: true,
  clientInfoTag: '',
  replyMapping: 'legacy',
  // Commands of one tick leave in one write as it is.
  enableAutoPipelining: false,
  autoPipeliningIgnoredCommands: [],
  // Nobody could call these on a client that is not shown.
  scripts: {},
  himportFieldsets: [],
  showFriendlyErrorStack: false,
  offlineQueue: false,
  commandQueue: false,
  db: 0,
  keyPrefix: '',
  stringNumbers: false,
  readOnly: false,
  role: 'master',
  preferredSlaves: undefined,
  monitor: false,
  commandTimeout: undefined,
  blockingTimeout: undefined,
  blockingTimeoutGrace: undefined,
  socketTimeout: undefined,
} satisfies { [K in keyof RedisOptions]: RedisOptions[K] | null | undefined }

/** Who gives these another value is told why it cannot be. */
const refusals: [names: string[], why: string][] = [
  [['db'], "use database 0 and the option 'namespace' to keep things apart"],
  [['keyPrefix'], "use the option 'namespace' to keep things apart"],
  [['stringNumbers'], 'numbers in the answers of Redis are read here as numbers'],
  [['readOnly', 'role', 'preferredSlaves'], 'everything here is written to a master'],
  [['monitor'], 'a connection that monitors takes no commands'],
  [
    ['commandTimeout', 'blockingTimeout', 'blockingTimeoutGrace', 'socketTimeout'],
    "Redis is waited for with time limits of pshub's own; that of a call is 'timeoutMs'",
  ],
]

/** Every option of ioredis; there is one to decide about when its types name another one. */
export const knownOptions: readonly string[] = [...inObjects, ...inUrls, ...Object.keys(own)]

/**
 * What the constructor of an ioredis client takes. What is first counts, against the order of its declared types: what
 * follows ? in a URL must not undo these options. `turn` says which sentinel, or which node of a Cluster, is asked first: one that does
 * not answer must not take up the time of each new client. `address`: the node that is meant, whatever the target names.
 */
export const clientArguments = (
  target: RedisTarget,
  connectionName: string,
  turn = 0,
  address?: Address,
): [LegacyOptions, string?] => {
  const given = expanded(target)
  if (typeof given === 'string') return [{ ...address, ...own, connectionName } as LegacyOptions, given]
  const { cluster, ...options } = given
  const { sentinels } = options
  const first = cluster?.[turn % cluster.length]
  const start = turn % (sentinels?.length || 1)
  const turned = sentinels && { sentinels: [...sentinels.slice(start), ...sentinels.slice(0, start)] }
  return [{ ...options, ...turned, ...first, ...address, ...own, connectionName } as LegacyOptions]
}

/** The nodes of a Cluster that the target names. */
export const clusterOf = (target: RedisTarget): readonly Address[] | undefined => {
  const given = expanded(target)
  return typeof given === 'string' ? undefined : given.cluster
}

/** Where a node is reached from here, when its own address is of another network. */
export const mappedAddress = (target: RedisTarget, { host, port }: Address): Address => {
  const map = typeof target === 'string' ? undefined : target.natMap
  const mapped = typeof map === 'function' ? map(`${host}:${port}`) : map?.[`${host}:${port}`]
  return mapped ?? { host, port }
}

/** The same with the password of now, where that has to be asked for. */
export const withPassword = async (target: RedisTarget): Promise<RedisTarget> => {
  if (!asksPassword(target)) return target
  const password: unknown = await target.password()
  if (typeof password === 'string') return { ...target, password }
  throw new Error(`the function that was given as redis.password returned ${shown(password)}, and no text`)
}

export const asksPassword = (target: RedisTarget): target is RedisTargetOptions & { password: PasswordSource } =>
  typeof target === 'object' && typeof target.password === 'function'

type LegacyOptions = RedisOptions & { replyMapping?: 'legacy' }

/** Checks a `redis` setting before anything is started. Throws ConfigError. */
export const checkTarget = (target: unknown): void => {
  if (typeof target === 'object' && target !== null) {
    for (const [name, value] of Object.entries(target)) checkOption(name, value)
    checkSeveral(target)
    return
  }
  if (typeof target === 'string' && isOfSeveral(target)) {
    checkTarget(expanded(target))
    return
  }
  if (typeof target !== 'string' || !/^rediss?:\/\/[^/\s]+/.test(target))
    throw new ConfigError(
      "'redis' must be a URL like redis://127.0.0.1:6379, redis+sentinel://host:26379/name or redis+cluster://host:6379, or an object of ioredis options.",
    )
  const database = /^rediss?:\/\/[^/?]+\/([^?]+)/.exec(target)?.[1]
  if (database !== undefined) checkOption('db', database)
  for (const [name, value] of new URLSearchParams(/\?(.*)$/s.exec(target)?.[1])) {
    checkOption(name, value)
    if (inObjects.includes(name))
      throw new ConfigError(`redis.${name} cannot be set in a URL; give 'redis' as an object of ioredis options.`)
  }
}

const checkOption = (name: string, value: unknown): void => {
  if (value === undefined || value === null) return
  if (ownNames.includes(name)) return
  if (!knownOptions.includes(name)) throw new ConfigError(`redis.${name} is no option of ioredis that is known here.`)
  const why = refusals.find(([names]) => names.includes(name))?.[1]
  if (why !== undefined && String(value) !== String(own[name]))
    throw new ConfigError(`redis.${name} cannot be ${shown(value)}: ${why}.`)
}

const shown = (value: unknown): string => (typeof value === 'object' ? 'set' : String(value))

/** The target as text that can be shown: no user, no password. */
export const describeTarget = (target: RedisTarget): string => {
  if (typeof target !== 'string') {
    if (target.cluster) return `cluster ${target.cluster.map(({ host, port }) => `${host}:${port}`).join(',')}`
    return target.sentinels ? `sentinel ${target.name}` : `${target.host ?? '127.0.0.1'}:${target.port ?? 6379}`
  }
  // Up to the last @, because a password may hold one; options after ? may be secrets too.
  return target.replace(/\/\/.*@/s, '//').replace(/\?.*$/s, '')
}
