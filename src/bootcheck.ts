import { ConfigError } from './errors.ts'
import type { Connection, Redis } from './redis.ts'

/** One thing the boot check looked at. */
export interface Finding {
  what: string
  level: 'ok' | 'warning' | 'error'
  message: string
}

/** Looks whether this Redis can keep pshub's promises. Reads INFO alone, which needs no special rights. */
export const bootCheck = async (client: Redis): Promise<Finding[]> => {
  const info = parseInfo(await client.info())
  return [checkVersion(info), checkRole(info), checkEviction(info), checkMode(info), checkPersistence(info)]
}

const parseInfo = (text: string): Map<string, string> =>
  new Map(
    text.split('\r\n').flatMap(line => {
      const at = line.indexOf(':')
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : []
    }),
  )

const checkVersion = (info: Map<string, string>): Finding => {
  const what = 'version'
  const valkey = info.get('valkey_version')
  if (valkey) return { what, level: 'ok', message: `Valkey ${valkey}` }
  const version = info.get('redis_version')
  if (!version)
    return { what, level: 'warning', message: 'the server does not tell its version; 7.0 or newer is needed' }
  const fits = Number(version.split('.')[0]) >= 7
  return fits
    ? { what, level: 'ok', message: `Redis ${version}` }
    : { what, level: 'error', message: `Redis ${version} is too old; 7.0 or newer is needed` }
}

const checkRole = (info: Map<string, string>): Finding => {
  const what = 'role'
  const role = info.get('role')
  if (role === 'master') return { what, level: 'ok', message: 'master' }
  if (role === undefined)
    return { what, level: 'warning', message: 'the server does not tell its role; it must be a master' }
  return { what, level: 'error', message: `this server is a ${role}, which refuses writes; connect to its master` }
}

const checkEviction = (info: Map<string, string>): Finding => {
  const what = 'eviction'
  const policy = info.get('maxmemory_policy')
  if (policy === 'noeviction') return { what, level: 'ok', message: 'noeviction' }
  if (policy === undefined)
    return { what, level: 'warning', message: "the server does not tell its maxmemory-policy; it must be 'noeviction'" }
  return {
    what,
    level: 'error',
    message: `maxmemory-policy is ${policy}: a full server would silently drop requests. Set it with: redis-cli config set maxmemory-policy noeviction`,
  }
}

const checkMode = (info: Map<string, string>): Finding => {
  const what = 'mode'
  const mode = info.get('redis_mode') ?? info.get('server_mode') ?? 'unknown'
  return mode === 'cluster'
    ? { what, level: 'error', message: 'this is a Cluster node; this version of pshub does not connect to Clusters' }
    : { what, level: 'ok', message: mode }
}

const checkPersistence = (info: Map<string, string>): Finding => {
  const what = 'persistence'
  return info.get('aof_enabled') === '1'
    ? { what, level: 'ok', message: 'append-only file on' }
    : {
        what,
        level: 'warning',
        message: 'append-only file off: requests that wait are lost when Redis restarts (callers get a Timeout)',
      }
}

/** The error a worker should refuse to start with, when this server cannot keep the promises. */
export const findUnfit = async (connection: Connection): Promise<ConfigError | undefined> => {
  const findings = await connection.send(bootCheck).catch(() => [])
  const unfit = findings.filter(({ level }) => level === 'error').map(({ message }) => message)
  return unfit.length === 0 ? undefined : new ConfigError(`This Redis cannot be used: ${unfit.join('; ')}.`)
}
