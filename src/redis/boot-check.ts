import { ConfigError } from '../wire/errors.ts'
import type { Keys } from '../wire/keys.ts'
import { command, nodeOf, serversOf } from './client.ts'
import type { Redis } from './connection.ts'
import { isAway } from './failures.ts'
import { install, libraryRevision } from './library.ts'
import { explained } from './refusals.ts'
import type { Role } from './rights.ts'
import { missingRights } from './rights-check.ts'

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

/** What is said of a node of a Cluster that is away. */
const reachable = 'reachable'

/**
 * Looks whether this Redis, or each master of this Cluster, can keep pshub's promises, with the rights that the connected user has.
 * @throws NotConnected or ConnectionLost when it is away, or all masters are that the purposes' queues live on
 */
export const bootCheck = async (client: Redis, purposes: Purpose[]): Promise<Finding[]> => {
  const servers = serversOf(client)
  const needed = purposes.map(({ keys, queue }) => nodeOf(client, keys.queue(queue).calls))
  const away = new Map<string | undefined, Error>()
  const all = await Promise.all(
    servers.map(server =>
      checkServer(server, purposes).catch((error: Error): Finding[] => {
        if (!isAway(error)) throw error
        away.set(server.node, error)
        return [{ what: reachable, level: 'error', message: `it is unreachable: ${error.message}` }]
      }),
    ),
  )
  const [first] = away.values()
  if (first && (away.size === servers.length || (needed.length > 0 && needed.every(node => away.has(node)))))
    throw first
  // What is found of one node is mostly found of the others, too.
  const isOfAll = ({ what, message }: Finding) =>
    all.every(findings => findings.some(each => each.what === what && each.message === message))
  return all.flatMap((findings, at) =>
    findings.flatMap(finding => {
      if (isOfAll(finding)) return at === 0 ? [finding] : []
      return [{ ...finding, message: `${servers[at]!.node}: ${finding.message}` }]
    }),
  )
}

const checkServer = async (client: Redis, purposes: Purpose[]): Promise<Finding[]> => {
  const info = await readInfo(client)
  const verdicts = Object.entries(checks).map(([what, check]) => [what, check(info)] as const)
  // A replica refuses to load it, and the connection does not outlive such an answer.
  const mayLoad = info.get('role') !== 'slave'
  const library = mayLoad ? [['library', await checkLibrary(client, purposes)] as const] : []
  const ofRights = purposes.map(
    async purpose => [`${purpose.role} rights`, await checkRights(client, purpose)] as const,
  )
  const all = [...verdicts, ...library, ...(await Promise.all(ofRights))]
  return all.map(([what, [level, message]]) => ({ what, level, message }))
}

/** What makes this server unfit for these purposes, one sentence each; empty when it is fit as far as can be seen. */
export const findUnfit = async (client: Redis, purposes: Purpose[]): Promise<string[]> => {
  const findings = await bootCheck(client, purposes)
  // What is away is looked at when it is back.
  const wrong = findings.filter(({ what, level }) => level === 'error' && what !== reachable)
  return [...new Set(wrong.map(({ message }) => message))]
}

export const unfitError = (reasons: string[]): ConfigError =>
  new ConfigError(`This Redis cannot be used: ${reasons.join('; ')}.`)

type Info = ReadonlyMap<string, string>

/** Empty for a user who may not read it: then nothing is known, which is no error. */
const readInfo = async (client: Redis): Promise<Info> => {
  try {
    const text = (await command(client, 'info')) as string
    return new Map([...text.matchAll(/^([^:\r\n]+):([^\r\n]*)/gm)].map(([, name, value]) => [name!, value!]))
  } catch (error) {
    if ((error as Error).name === 'ReplyError') return new Map()
    throw error
  }
}

type Verdict = [level: Finding['level'], message: string]

const checks: Record<string, (info: Info) => Verdict> = {
  version: info => {
    const valkey = info.get('valkey_version')
    if (valkey) return ['ok', `Valkey ${valkey}`]
    const version = info.get('redis_version')
    if (!version) return ['warning', 'the server does not report its version; 7.0 or newer is required']
    if (Number(version.split('.')[0]) >= 7) return ['ok', `Redis ${version}`]
    return ['error', `Redis ${version} is too old; 7.0 or newer is required`]
  },
  role: info => {
    const role = info.get('role')
    if (role === undefined) return ['warning', 'the server does not report its role; it must be a master']
    if (role === 'master') return ['ok', 'master']
    return ['error', `this server is a ${role}, which refuses writes; connect to its master`]
  },
  eviction: info => {
    const policy = info.get('maxmemory_policy')
    if (policy === undefined)
      return ['warning', "the server does not report its maxmemory-policy; it must be 'noeviction'"]
    if (policy === 'noeviction') return ['ok', 'noeviction']
    const wrong = `maxmemory-policy is ${policy}: a full server would silently drop requests`
    return ['error', `${wrong}. Set it with: redis-cli config set maxmemory-policy noeviction`]
  },
  mode: info => {
    const mode = info.get('redis_mode') ?? info.get('server_mode')
    if (mode === 'sentinel') return ['error', 'this is a sentinel; use redis+sentinel://host:26379/name']
    return ['ok', mode ?? 'the server does not report its mode']
  },
  persistence: info => {
    const aof = info.get('aof_enabled')
    if (aof === '1') return ['ok', 'append-only file on']
    const lost = 'waiting requests are lost when Redis restarts (callers get a Timeout)'
    if (aof !== undefined) return ['warning', `append-only file off: ${lost}`]
    return ['warning', `the server does not report whether its append-only file is on; without it ${lost}`]
  },
}

/** Loads the library where it is missing and this user may. */
const checkLibrary = async (client: Redis, purposes: Purpose[]): Promise<Verdict> => {
  const isNeeded = purposes.some(({ role }) => role === 'hub' || role === 'worker')
  try {
    const { revision, isFit, isNew, refusal } = await install(client)
    if (isFit) return ['ok', `revision ${revision}${isNew ? ', loaded just now' : ''}`]
    const present = revision === undefined ? 'is missing' : `has revision ${revision}, and ${libraryRevision} is needed`
    const why = refusal ? `, and it cannot be loaded: ${explained(refusal.message)}` : ''
    return [isNeeded ? 'error' : 'warning', `pshub's library ${present}${why}. Load it with: pshub install`]
  } catch (error) {
    const { name, message } = error as Error
    if (name !== 'ReplyError') throw error
    // Who may not run it is told so with its rights, and an old server is named above.
    return ['warning', `it is unknown whether pshub's library is there: ${explained(message)}`]
  }
}

const purposes: Record<Role, string> = {
  hub: 'call tasks',
  jobs: 'call tasks and enqueue jobs',
  worker: 'serve a queue',
  view: 'look at tasks, workers and queues',
  admin: 'look at tasks, workers and queues, pause and forget them',
  registry: 'keep the sessions of the registry',
  install: 'load the library',
}

const checkRights = async (client: Redis, { role, keys, queue }: Purpose): Promise<Verdict> => {
  const purpose = purposes[role]
  try {
    const missing = await missingRights(client, role, keys, queue)
    if (!missing) return ['ok', `this user may ${purpose}`]
    const lacks = `it lacks ${missing.what}. To grant it: ${missing.grant}`
    if (missing.isNeeded) return ['error', `this user may not ${purpose}: ${lacks}`]
    return ['warning', `this user may ${purpose}, but with limits: ${lacks}`]
  } catch (error) {
    const { name, message } = error as Error
    if (name !== 'ReplyError') throw error
    return ['warning', `it is unknown whether this user may ${purpose}: ${explained(message)}`]
  }
}
