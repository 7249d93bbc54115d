import type { RedisOptions } from 'ioredis'
import { ConfigError } from '../wire/errors.ts'

export interface Address {
  host: string
  port: number
}

/** A password that is asked for with each new connection, as tokens that expire are. */
export type PasswordSource = () => string | Promise<string>

/** Where Redis is, in code: ioredis' options, with `sentinels`, or with `cluster`. */
export interface RedisTargetOptions extends Omit<RedisOptions, 'password'> {
  password?: string | PasswordSource | undefined
  /** Nodes of a Cluster, to begin with. Not needed where the one that is named is a node: that is found out. */
  cluster?: readonly Address[]
}

/**
 * What users give as `redis`: a URL, of one server or node (`redis://`, `rediss://`), of sentinels (`redis+sentinel://host,host/name`)
 * or of nodes of a Cluster (`redis+cluster://host,host`), or ioredis' options, with `sentinels` or `cluster`.
 */
export type RedisTarget = string | RedisTargetOptions

/** Ports where none is named. */
const ports = { sentinel: 26_379, cluster: 6379 }
type Kind = keyof typeof ports

const scheme = /^(rediss?)\+(sentinel|cluster):\/\/(.*)$/s
const options = ['username', 'password', 'sentinelUsername', 'sentinelPassword', 'family']

/** Whether a URL names sentinels, or nodes of a Cluster. */
export const isOfSeveral = (url: string): boolean => scheme.test(url)

/**
 * The options that a URL of several servers stands for; any other target as it is.
 *
 *     redis+sentinel://[user:password@]host[:26379][,host...]/name[?sentinelUsername=...&sentinelPassword=...]
 *     redis+cluster://[user:password@]host[:6379][,host...]
 *
 * `rediss+`: over TLS, to sentinels too. User and password are those of the servers with the data.
 * @throws ConfigError
 */
export const expanded = (target: RedisTarget): RedisTarget => {
  if (typeof target !== 'string') return target
  const [, start, kind, rest] = (scheme.exec(target) ?? []) as [string?, string?, Kind?, string?]
  if (!kind || rest === undefined) return target
  const [place = '', query = ''] = rest.split(/\?(.*)/s)
  // Up to the last @, because a password may hold one.
  const [, credentials, hosts = '', path = ''] = /^(?:(.*)@)?([^/]*)(?:\/(.*))?$/s.exec(place) ?? []
  const addresses = hosts.split(',').map(host => addressOf(host, kind))
  const read: RedisTargetOptions = { ...credentialsOf(credentials), ...optionsOf(query, kind) }
  if (start === 'rediss') read.tls = {}
  if (kind === 'cluster') {
    if (path !== '') throw new ConfigError(`'redis' names ${path}, but a Cluster has neither databases nor a name.`)
    return { ...read, cluster: addresses }
  }
  const name = decodeURIComponent(path)
  if (name === '' || name.includes('/'))
    throw new ConfigError("'redis' names no master; write redis+sentinel://host:26379/name.")
  const tls = start === 'rediss' ? { sentinelTLS: {}, enableTLSForSentinelMode: true } : {}
  return { ...read, ...tls, sentinels: addresses, name }
}

const addressOf = (text: string, kind: Kind): Address => {
  const [, six, four, port = String(ports[kind])] =
    /^(?:\[([\da-f:.]+)\]|([^:\s[\]]+))(?::(\d{1,5}))?$/i.exec(text) ?? []
  const host = six ?? four
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new ConfigError(`'redis' names '${text}', which is no host; write redis+${kind}://host:${ports[kind]},...`)
  return { host, port: Number(port) }
}

const credentialsOf = (text: string | undefined): RedisTargetOptions => {
  if (text === undefined) return {}
  const [username = '', password] = text.split(/:(.*)/s)
  return {
    ...(username === '' ? {} : { username: decoded(username) }),
    ...(password === undefined ? {} : { password: decoded(password) }),
  }
}

/** A % that begins nothing is one. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const optionsOf = (query: string, kind: Kind): RedisTargetOptions => {
  const read: Record<string, unknown> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    const isKnown = options.includes(name) && (kind === 'sentinel' || !name.startsWith('sentinel'))
    if (!isKnown)
      throw new ConfigError(`redis.${name} cannot be set in a URL of ${kind}s; give 'redis' as an object of options.`)
    read[name] = name === 'family' ? Number(value) : value
  }
  return read
}

/** Checks the options that name several servers. @throws ConfigError */
export const checkSeveral = (target: object): void => {
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
