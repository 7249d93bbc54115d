import type { RedisOptions } from 'ioredis'
import { ConfigError } from '../wire/errors.ts'
import { type Address, readUrl, shownUrl, WrongUrl } from './url.ts'

export type { Address }

/** A password that is asked for with each new connection, as tokens that expire are. */
export type PasswordSource = () => string | Promise<string>

/** Where Redis is: ioredis options, with `sentinels` or `cluster`. */
export interface RedisTargetOptions extends Omit<RedisOptions, 'password'> {
  password?: string | PasswordSource | undefined
  /** Some nodes of a Cluster. Not needed if the named server is a node: pshub detects that. */
  cluster?: readonly Address[]
}

/**
 * The option `redis`: a URL of one server or node (`redis://`, `rediss://`, `unix://`), of sentinels
 * (`redis+sentinel://host,host/name`) or of nodes of a Cluster (`redis+cluster://host,host`), or ioredis options, with
 * `sentinels` or `cluster`.
 */
export type RedisTarget = string | RedisTargetOptions

const sentinelOptions = ['sentinelUsername', 'sentinelPassword']

/** Options that go to ioredis as they were given. */
const passedOn = [
  ...'host port keepAlive protocol Connector name natMap updateSentinels enableTLSForSentinelMode sentinels'.split(' '),
  ...'sentinelUsername sentinelPassword sentinelTLS sentinelMaxConnections sentinelReconnectStrategy'.split(' '),
  ...'path family tls username password'.split(' '),
]
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
  [['stringNumbers'], 'pshub expects numbers in replies as numbers'],
  [['readOnly', 'role', 'preferredSlaves'], 'pshub always uses the master'],
  [['monitor'], 'a monitoring connection accepts no commands'],
  [
    ['commandTimeout', 'blockingTimeout', 'blockingTimeoutGrace', 'socketTimeout'],
    "Redis is waited for with time limits of pshub's own; that of a call is 'timeoutMs'",
  ],
]

/** Every option of ioredis; there is one to decide about when its types name another one. */
export const knownOptions: readonly string[] = [...passedOn, ...Object.keys(own)]

/**
 * What the constructor of an ioredis client takes. `turn` says which sentinel, or which node of a Cluster, is asked first: one that does
 * not answer must not take up the time of each new client. `address`: the node that is meant, whatever the target names.
 */
export const clientOptions = (
  target: RedisTarget,
  connectionName: string,
  turn = 0,
  address?: Address,
): ClientOptions => {
  const { cluster, ...options } = expanded(target)
  const { sentinels } = options
  const first = cluster?.[turn % cluster.length]
  const start = turn % (sentinels?.length || 1)
  const turned = sentinels && { sentinels: [...sentinels.slice(start), ...sentinels.slice(0, start)] }
  const named = first || address ? { ...first, ...address, path: undefined } : {}
  return { ...options, ...turned, ...named, ...own, connectionName } as ClientOptions
}

/** The nodes of a Cluster that the target names. */
export const clusterOf = (target: RedisTarget): readonly Address[] | undefined => expanded(target).cluster

/** With the answers that its types promise where nothing is said of them. */
type ClientOptions = RedisOptions & { replyMapping?: 'legacy' }

const expanded = (target: RedisTarget): RedisTargetOptions => (typeof target === 'string' ? optionsOf(target) : target)

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
  throw new Error(
    `the function in redis.password returned ${password === null ? 'null' : `a value of type ${typeof password}`}, not a string`,
  )
}

export const asksPassword = (target: RedisTarget): target is RedisTargetOptions & { password: PasswordSource } =>
  typeof target === 'object' && typeof target.password === 'function'

/** What is wrong with a `redis` setting, to follow its name. @throws ConfigError that names an option of an object */
export const wrongTarget = (target: unknown): string | undefined => {
  if (typeof target === 'string') return wrongUrl(target)
  if (typeof target !== 'object' || target === null)
    return 'must be a URL like redis://127.0.0.1:6379, or an object of ioredis options'
  for (const [name, value] of Object.entries(target)) checkOption(name, value)
  checkSeveral(target)
  return undefined
}

/** @throws ConfigError */
export const checkTarget = (target: unknown): void => {
  const wrong = wrongTarget(target)
  if (wrong !== undefined) throw new ConfigError(`'redis' ${wrong}.`)
}

const checkOption = (name: string, value: unknown): void => {
  if (value === undefined || value === null) return
  if (ownNames.includes(name)) return
  if (!knownOptions.includes(name)) throw new ConfigError(`redis.${name} is not a known option of ioredis.`)
  const why = refusals.find(([names]) => names.includes(name))?.[1]
  if (why !== undefined && String(value) !== String(own[name]))
    throw new ConfigError(`redis.${name} cannot be ${shown(value)}: ${why}.`)
}

const shown = (value: unknown): string => (typeof value === 'object' ? 'set' : String(value))

/** The target as text that can be shown: no user, no password. */
export const describeTarget = (target: RedisTarget): string => {
  if (typeof target === 'string') return shownUrl(readUrl(target))
  if (target.cluster) return `cluster ${target.cluster.map(({ host, port }) => `${host}:${port}`).join(',')}`
  return target.sentinels ? `sentinel ${target.name}` : `${target.host ?? '127.0.0.1'}:${target.port ?? 6379}`
}

/** The options that a URL stands for. @throws WrongUrl */
const optionsOf = (url: string): RedisTargetOptions => {
  const { kind, isTls, addresses, path, username, password, name, options } = readUrl(url)
  const [first] = addresses
  const family = options.get('family')
  const profile = options.get('tls')
  return {
    ...(kind === 'one' && (path === undefined ? first : { path })),
    ...(kind === 'cluster' && { cluster: addresses }),
    ...(kind === 'sentinel' && { sentinels: addresses, name: name! }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(isTls && { tls: {} }),
    ...(profile !== undefined && { tls: profile as unknown as object }),
    ...(isTls && kind === 'sentinel' && { sentinelTLS: {}, enableTLSForSentinelMode: true }),
    ...(family !== undefined && { family: Number(family) }),
    ...Object.fromEntries(sentinelOptions.map(option => [option, options.get(option)]).filter(([, value]) => value)),
  }
}

/** What is wrong with a URL, to follow the name of the setting. */
const wrongUrl = (url: string): string | undefined => {
  try {
    const { kind, options } = readUrl(url)
    const known = [...(kind === 'sentinel' ? sentinelOptions : []), 'family', 'tls']
    if ([...options.keys()].every(name => known.includes(name)) && /^[046]?$/.test(options.get('family') ?? ''))
      return undefined
    return `has an unsupported option after ?; it may have ${known.join(', ')}, and an object of ioredis options takes the others`
  } catch (error) {
    if (error instanceof WrongUrl) return error.message
    throw error
  }
}

/** Checks the options that name several servers. @throws ConfigError */
const checkSeveral = (target: object): void => {
  const { sentinels, cluster, name } = target as { sentinels?: unknown; cluster?: unknown; name?: unknown }
  if (sentinels !== undefined && cluster !== undefined)
    throw new ConfigError("'redis' has both sentinels and cluster; name the one or the other.")
  if (sentinels !== undefined) checkAddresses('sentinels', sentinels)
  if (sentinels !== undefined && (typeof name !== 'string' || name === ''))
    throw new ConfigError("redis.sentinels needs redis.name, the sentinels' name of the master.")
  if (cluster !== undefined) checkAddresses('cluster', cluster)
}

const checkAddresses = (option: string, value: unknown): void => {
  const isAddress = (each: unknown) => {
    const { host, port } = (each ?? {}) as { host?: unknown; port?: unknown }
    return typeof host === 'string' && host !== '' && Number.isInteger(port)
  }
  // ioredis has a default for each part of a sentinel's address.
  const isFine = option === 'sentinels' ? (each: unknown) => typeof each === 'object' && each !== null : isAddress
  if (!Array.isArray(value) || value.length === 0 || !value.every(isFine))
    throw new ConfigError(`redis.${option} must be a list of { host, port } with at least one in it.`)
}
