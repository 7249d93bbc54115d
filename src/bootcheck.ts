import { command } from './client.ts'
import { ConfigError } from './errors.ts'
import type { Keys } from './keys.ts'
import type { Redis } from './redis.ts'
import { explained } from './refusals.ts'
import type { Role } from './rights.ts'
import { missingRights } from './rightscheck.ts'

/** One thing the boot check looked at. */
export interface Finding {
  what: string
  level: 'ok' | 'warning' | 'error'
  message: string
}

/** What this user is going to do here, so that its rights can be checked. */
export interface Purpose {
  role: Role
  keys: Keys
  /** The queue to call or to serve. */
  queue: string
}

/** Looks whether this Redis can keep pshub's promises, with the rights that the connected user has. */
export const bootCheck = async (client: Redis, purposes: Purpose[]): Promise<Finding[]> => {
  const info = await readInfo(client)
  const checks = [checkVersion, checkRole, checkEviction, checkMode, checkPersistence]
  const rights = await Promise.all(purposes.map(purpose => checkRights(client, purpose)))
  return [...checks.map(check => check(info)), ...rights]
}

/** What makes this server unfit for that purpose, one sentence each; empty when it is fit as far as can be seen. */
export const findUnfit = async (client: Redis, purpose: Purpose): Promise<string[]> => {
  const findings = await bootCheck(client, [purpose])
  return findings.filter(({ level }) => level === 'error').map(({ message }) => message)
}

export const unfitError = (reasons: string[]): ConfigError =>
  new ConfigError(`This Redis cannot be used: ${reasons.join('; ')}.`)

type Info = ReadonlyMap<string, string>

/** Empty for a user who may not read it: then nothing is known, which is no error. */
const readInfo = async (client: Redis): Promise<Info> => {
  try {
    return parseInfo((await command(client, 'info')) as string)
  } catch (error) {
    if ((error as Error).name === 'ReplyError') return new Map()
    throw error
  }
}

const parseInfo = (text: string): Info =>
  new Map(
    text.split('\r\n').flatMap(line => {
      const at = line.indexOf(':')
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : []
    }),
  )

const checkVersion = (info: Info): Finding => {
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

const checkRole = (info: Info): Finding => {
  const what = 'role'
  const role = info.get('role')
  if (role === 'master') return { what, level: 'ok', message: 'master' }
  if (role === undefined)
    return { what, level: 'warning', message: 'the server does not tell its role; it must be a master' }
  return { what, level: 'error', message: `this server is a ${role}, which refuses writes; connect to its master` }
}

const checkEviction = (info: Info): Finding => {
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

const checkMode = (info: Info): Finding => {
  const what = 'mode'
  const mode = info.get('redis_mode') ?? info.get('server_mode')
  if (mode === undefined)
    return { what, level: 'warning', message: 'the server does not tell its mode; it must not be a Cluster' }
  return mode === 'cluster'
    ? { what, level: 'error', message: 'this is a Cluster node; this version of pshub does not connect to Clusters' }
    : { what, level: 'ok', message: mode }
}

const checkPersistence = (info: Info): Finding => {
  const what = 'persistence'
  const aof = info.get('aof_enabled')
  if (aof === '1') return { what, level: 'ok', message: 'append-only file on' }
  const state =
    aof === undefined
      ? 'the server does not tell whether its append-only file is on; without it'
      : 'append-only file off:'
  return {
    what,
    level: 'warning',
    message: `${state} requests that wait are lost when Redis restarts (callers get a Timeout)`,
  }
}

const purposes: Record<Role, string> = {
  hub: 'call tasks',
  worker: 'serve a queue',
  view: 'look at tasks, workers and queues',
  admin: 'look at tasks, workers and queues, and pause these',
}

const checkRights = async (client: Redis, { role, keys, queue }: Purpose): Promise<Finding> => {
  const what = `${role} rights`
  try {
    const missing = await missingRights(client, role, keys, queue)
    if (!missing) return { what, level: 'ok', message: `this user may ${purposes[role]}` }
    const [level, verdict] = missing.isNeeded
      ? (['error', `this user may not ${purposes[role]}`] as const)
      : (['warning', `this user may ${purposes[role]}, but not all that helps`] as const)
    return { what, level, message: `${verdict}: it lacks ${missing.what}. What grants it: ${missing.grant}` }
  } catch (error) {
    if ((error as Error).name !== 'ReplyError') throw error
    return {
      what,
      level: 'warning',
      message: `it cannot be found out whether this user may ${purposes[role]}: ${explained((error as Error).message)}`,
    }
  }
}
