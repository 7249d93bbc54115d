import type { RedisOptions } from 'ioredis'
import { ConfigError } from './errors.ts'

export type { RedisOptions }

/** What users give as `redis`: a URL or ioredis options (Sentinel ones included). */
export type RedisTarget = string | RedisOptions

/** What becomes of an option of ioredis. */
type Fate<T> =
  /** It goes to ioredis as it was given. */
  | 'passed'
  /** The same, and as a text: it may stand in a URL. */
  | 'text'
  /** Clients get this value whatever was given. */
  | { own: T | null | undefined }
  /** Refused for this reason, unless it is what clients get anyway. */
  | { own: T | null | undefined; refused: string }

const aMaster = 'everything here is written to a master'
const aLimit = "Redis is waited for with time limits of pshub's own; that of a call is 'timeoutMs'"

/**
 * Every option of ioredis. Its own values keep ioredis' promises settling (each trap was reproduced against ioredis 6.0.0): with
 * `maxRetriesPerRequest` above 0 a command under way may pend for ever when the server accepts and closes; with re-sending on, a
 * push whose answer was lost runs twice; the offline queue has no bound; nor has the wait for a sentinel that says nothing. There
 * is no function among them, because they are copied into a thread.
 */
export const optionFates = {
  host: 'passed',
  port: 'passed',
  path: 'text',
  family: 'text',
  tls: 'text',
  keepAlive: 'passed',
  username: 'text',
  password: 'text',
  protocol: 'passed',
  Connector: 'passed',
  name: 'passed',
  sentinels: 'passed',
  sentinelUsername: 'passed',
  sentinelPassword: 'passed',
  sentinelTLS: 'passed',
  enableTLSForSentinelMode: 'passed',
  natMap: 'passed',
  updateSentinels: 'passed',
  sentinelMaxConnections: 'passed',
  sentinelReconnectStrategy: 'passed',
  sentinelRetryStrategy: { own: null },
  sentinelCommandTimeout: { own: 1000 },
  failoverDetector: { own: true },
  connectTimeout: { own: 2000 },
  disconnectTimeout: { own: 1000 },
  lazyConnect: { own: true },
  retryStrategy: { own: null },
  reconnectOnError: { own: null },
  maxRetriesPerRequest: { own: 0 },
  maxLoadingRetryTime: { own: 1000 },
  autoResendUnfulfilledCommands: { own: false },
  autoResubscribe: { own: false },
  enableOfflineQueue: { own: false },
  enableReadyCheck: { own: true },
  noDelay: { own: true },
  connectionName: { own: null },
  disableClientInfo: { own: true },
  clientInfoTag: { own: '' },
  replyMapping: { own: 'legacy' },
  // Commands of one tick leave in one write as it is.
  enableAutoPipelining: { own: false },
  autoPipeliningIgnoredCommands: { own: [] },
  // Nobody could call these on a client that is not shown.
  scripts: { own: {} },
  himportFieldsets: { own: [] },
  showFriendlyErrorStack: { own: false },
  offlineQueue: { own: false },
  commandQueue: { own: false },
  db: { own: 0, refused: "use database 0 and the option 'namespace' to keep things apart" },
  keyPrefix: { own: '', refused: "use the option 'namespace' to keep things apart" },
  stringNumbers: { own: false, refused: 'numbers in the answers of Redis are read here as numbers' },
  readOnly: { own: false, refused: aMaster },
  role: { own: 'master', refused: aMaster },
  preferredSlaves: { own: undefined, refused: aMaster },
  monitor: { own: false, refused: 'a connection that monitors takes no commands' },
  commandTimeout: { own: undefined, refused: aLimit },
  blockingTimeout: { own: undefined, refused: aLimit },
  blockingTimeoutGrace: { own: undefined, refused: aLimit },
  socketTimeout: { own: undefined, refused: aLimit },
} satisfies { [K in keyof RedisOptions]-?: Fate<NonNullable<RedisOptions[K]>> }

const fates: Record<string, Fate<unknown>> = optionFates
const fateOf = (name: string): Fate<unknown> | undefined => (Object.hasOwn(fates, name) ? fates[name] : undefined)
const ownOptions = Object.fromEntries(
  Object.entries(fates).flatMap(([name, fate]) => (typeof fate === 'object' ? [[name, fate.own]] : [])),
)

/**
 * What the constructor of an ioredis client takes. What is first counts, against the order of its declared types: what
 * follows ? in a URL must not undo these options. `turn` says which sentinel is asked first: one that does not answer must not
 * take up the time of each new client.
 */
export const clientArguments = (target: RedisTarget, connectionName: string, turn = 0): [LegacyOptions, string?] => {
  if (typeof target === 'string') return [{ ...ownOptions, connectionName } as LegacyOptions, target]
  const { sentinels } = target
  const start = turn % (sentinels?.length || 1)
  const turned = sentinels && { sentinels: [...sentinels.slice(start), ...sentinels.slice(0, start)] }
  return [{ ...target, ...turned, ...ownOptions, connectionName } as LegacyOptions]
}

type LegacyOptions = RedisOptions & { replyMapping?: 'legacy' }

/** Checks a `redis` setting before anything is started. Throws ConfigError. */
export const checkTarget = (target: unknown): RedisTarget => {
  if (typeof target === 'object' && target !== null) {
    for (const [name, value] of Object.entries(target)) checkOption(name, value)
    return target as RedisOptions
  }
  if (typeof target !== 'string' || !/^rediss?:\/\/[^/\s]+/.test(target))
    throw new ConfigError("'redis' must be a URL like redis://127.0.0.1:6379 or an object of ioredis options.")
  const database = /^rediss?:\/\/[^/?]+\/([^?]+)/.exec(target)?.[1]
  if (database !== undefined) checkOption('db', database)
  for (const [name, value] of new URLSearchParams(/\?(.*)$/s.exec(target)?.[1])) {
    checkOption(name, value)
    if (fateOf(name) === 'passed')
      throw new ConfigError(`redis.${name} cannot be set in a URL; give 'redis' as an object of ioredis options.`)
  }
  return target
}

const checkOption = (name: string, value: unknown): void => {
  if (value === undefined || value === null) return
  const fate = fateOf(name)
  if (fate === undefined) throw new ConfigError(`redis.${name} is no option of ioredis that is known here.`)
  if (typeof fate === 'object' && 'refused' in fate && String(value) !== String(fate.own))
    throw new ConfigError(`redis.${name} cannot be ${shown(value)}: ${fate.refused}.`)
}

const shown = (value: unknown): string => (typeof value === 'object' ? 'set' : String(value))

/** The target as text that can be shown: no user, no password. */
export const describeTarget = (target: RedisTarget): string => {
  if (typeof target !== 'string')
    return target.sentinels ? `sentinel ${target.name}` : `${target.host ?? '127.0.0.1'}:${target.port ?? 6379}`
  // Up to the last @, because a password may hold one; options after ? may be secrets too.
  return target.replace(/\/\/.*@/s, '//').replace(/\?.*$/s, '')
}
