export interface Address {
  host: string
  port: number
}

/** What a Redis URL says. Its grammar is in PROTOCOL.md, its cases are in clients/vectors/addresses.json. */
export interface RedisUrl {
  kind: 'one' | 'sentinel' | 'cluster'
  isTls: boolean
  /** Of `one` a single one; none where there is a socket. */
  addresses: Address[]
  /** The path of a Unix socket. */
  path?: string
  username?: string
  password?: string
  /** How sentinels call the master. */
  name?: string
  /** What follows ?, besides the database. */
  options: Map<string, string>
}

/** What is wrong with a URL, to follow the name of the setting. It shows no part of the URL, which may be one of a password. */
export class WrongUrl extends Error {}

const example = {
  one: 'redis://127.0.0.1:6379',
  sentinel: 'redis+sentinel://host1:26379,host2:26379/name',
  cluster: 'redis+cluster://host1:6379,host2:6379',
}
const scheme = /^(redis|rediss|unix)(?:\+(sentinel|cluster))?:\/\/(.*)$/s
const node = /^(?:\[([\da-f:.]+(?:%[\w.-]+)?)\]|([^\s:/?#%[\]"',]+))(?::(\d{1,5}))?$/i

/**
 * User and password end at the last @ of the URL, so that a password may stand there as it is.
 * @throws WrongUrl
 */
export const readUrl = (url: string): RedisUrl => {
  if (/^[ \t\n\v\f\r]|[ \t\n\v\f\r]$/.test(url)) throw new WrongUrl('must not begin or end with white space')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(url))
    throw new WrongUrl('must not hold a line break or another control character; in a password a line break is %0A')
  const [, start, several, rest = ''] = scheme.exec(url) ?? []
  if (start === undefined || (start === 'unix' && several))
    throw new WrongUrl(`must be a URL like ${example.one}, ${example.sentinel} or ${example.cluster}`)
  const at = rest.lastIndexOf('@')
  const [, hosts = '', path = '', query = ''] = /^([^/?]*)([^?]*)\??(.*)$/s.exec(rest.slice(at + 1)) ?? []
  const read: RedisUrl = {
    kind: (several as 'sentinel' | 'cluster' | undefined) ?? 'one',
    isTls: start === 'rediss',
    addresses: [],
    ...credentialsOf(at < 0 ? '' : rest.slice(0, at)),
    options: optionsOf(query),
  }
  if (start === 'unix') return { ...read, path: socketOf(hosts, path) }
  if (read.kind === 'sentinel') read.name = nameOf(path)
  else checkDatabase(path.slice(1))
  return { ...read, addresses: addressesOf(hosts, read.kind) }
}

const credentialsOf = (text: string): Pick<RedisUrl, 'username' | 'password'> => {
  if (/[?&](sentinel)?(username|password)=/i.test(text))
    throw new WrongUrl('must have an @ behind its hosts written as %40, and a ? in its password as %3F')
  if (text === '' || text === ':') return {}
  const [username = '', password] = text.split(/:(.*)/s)
  if (password === undefined)
    throw new WrongUrl(
      'must have a colon before the password, as in redis://user:password@host or redis://:password@host',
    )
  return { ...(username !== '' && { username: decoded(username) }), password: decoded(password) }
}

/** A % that no two hexadecimal digits follow is one, and a + is one. */
const decoded = (text: string): string => {
  try {
    return text.replace(/(?:%[\da-f]{2})+/gi, decodeURIComponent)
  } catch {
    throw new WrongUrl('must have each % of its password written as %25: what follows one is no text in UTF-8')
  }
}

const optionsOf = (query: string): RedisUrl['options'] => {
  const pairs = query.split('&').filter(pair => pair !== '')
  const options = new Map(
    pairs.map(pair => pair.split(/=(.*)/s)).map(([name = '', value = '']) => [name, decoded(value)]),
  )
  checkDatabase(options.get('db') ?? '')
  options.delete('db')
  return options
}

const checkDatabase = (text: string): void => {
  if (text !== '' && text !== '0')
    throw new WrongUrl('must not name a database; use 0, and a namespace to keep things apart')
}

const nameOf = (path: string): string => {
  const name = decoded(path.slice(1))
  if (name === '' || name.includes('/'))
    throw new WrongUrl(`must name the master as the sentinels do, as in ${example.sentinel}`)
  return name
}

const socketOf = (hosts: string, path: string): string => {
  if (hosts !== '' || path === '') throw new WrongUrl('must be the path of a socket, as in unix:///run/redis.sock')
  return decoded(path)
}

const addressesOf = (hosts: string, kind: RedisUrl['kind']): Address[] => {
  const texts = hosts.split(',')
  if (kind === 'one' && texts.length > 1)
    throw new WrongUrl(`must list its hosts, as in ${example.sentinel} or ${example.cluster}`)
  return texts.map(text => {
    const [, six, four, port = kind === 'sentinel' ? '26379' : '6379'] = node.exec(text) ?? []
    const host = six ?? four
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
      throw new WrongUrl(`must name each host by a name or an address, as in ${example[kind]}`)
    return { host, port: Number(port) }
  })
}

/** The URL as it can be shown: no user, no password, no options. @throws WrongUrl */
export const shownUrl = ({ kind, isTls, addresses, path, name }: RedisUrl): string => {
  if (path !== undefined) return `unix://${path}`
  const hosts = addresses.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')
  const start = `${isTls ? 'rediss' : 'redis'}${kind === 'one' ? '' : `+${kind}`}`
  return `${start}://${hosts}${name === undefined ? '' : `/${name}`}`
}
