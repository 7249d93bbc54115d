import { checkup } from '../catalogue/looks/checkup.ts'
import { readOverview } from '../catalogue/overview.ts'
import { bootCheck, type Finding } from '../redis/boot-check.ts'
import { command } from '../redis/client.ts'
import type { Connection } from '../redis/connection.ts'
import { isRefusal } from '../redis/failures.ts'
import { libraryName } from '../redis/library.ts'
import { isAboutRights } from '../redis/refusals.ts'
import { type Role, roles } from '../redis/rights.ts'
import { lookAtServers } from '../redis/server-look.ts'
import { describeTarget } from '../redis/target.ts'
import { namedQueues, readQueues } from '../settings/queues.ts'
import { type Keys, makeKeys } from '../wire/keys.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonOption } from './options.ts'
import { printable } from './printable.ts'
import { withRedis } from './redis-session.ts'
import { doubledOf } from './warnings.ts'

const pings = 5

/**
 * Median of a few round trips, in milliseconds. The first one of a connection is often slower than all that follow. Not with
 * PING, which nothing else needs and whoever has only the needed rights may not send. A refusal is a round trip as well: who lacks this
 * right is told below.
 */
const measurePing = async (connection: Connection): Promise<number> => {
  const times: number[] = []
  for (let i = 0; i < pings; i++) {
    const startedAt = performance.now()
    await connection
      .send(client => command(client, 'time'))
      .catch(error => {
        if (!isAboutRights((error as Error).message)) throw error
      })
    times.push(performance.now() - startedAt)
  }
  return Math.round(times.sort((a, b) => a - b)[(pings - 1) / 2]! * 100) / 100
}

/** What of the registry needs somebody. Who may not read it has not come for that. */
const checkRegistry = async (connection: Connection, keys: Keys, isDoctor: boolean): Promise<Finding[]> => {
  const overview = await connection
    .send(client => readOverview(client, keys))
    .catch(error => {
      if (isRefusal(error)) return undefined
      throw error
    })
  const unreadable = (overview?.unreadable ?? []).map(({ key, field, reason }) => {
    const where = field === undefined ? key : `${field} of ${key}`
    return `${where} cannot be read and is ignored: ${reason}`
  })
  const doubled = (overview?.tasks ?? []).flatMap(task => doubledOf(task) ?? [])
  const told = [...doubled, ...unreadable].map((message): Finding => ({ what: 'registry', level: 'warning', message }))
  if (!isDoctor) return told
  const servers = await connection.send(client => lookAtServers(client, libraryName))
  if (!overview)
    return [...servers, { what: 'registry', level: 'warning', message: 'not checked: this user may not read it' }]
  return [...servers, ...told, ...(await connection.send(client => checkup(client, keys, overview)))]
}

const roleOf = (flag: string): Role => {
  const role = roles.find(known => known === flag)
  if (role) return role
  throw new UsageError(`--for must be ${roles.join(', ')}; it is '${flag}'.`, 'check')
}

/** As long as there is something that the user may do. */
const forgiveRights = (findings: Finding[]): void => {
  const rights = findings.filter(({ what }) => what.endsWith(' rights'))
  const denied = rights.filter(({ level }) => level === 'error')
  if (denied.length === rights.length) return
  for (const finding of denied) {
    finding.level = 'warning'
    const verdict = finding.message.split(':', 1)[0]
    finding.message = `${verdict}; to see what is missing: pshub check --for ${finding.what.replace(' rights', '')}`
  }
}

/** What is found of one queue is mostly found of the others, too. */
const distinct = (findings: Finding[]): Finding[] =>
  findings.filter(
    ({ what, message }, at) => at === findings.findIndex(each => each.what === what && each.message === message),
  )

const styles = { ok: 'green', warning: 'yellow', error: 'red' } as const

const check = async (invocation: Invocation, isDoctor: boolean): Promise<number> => {
  const { flags, output } = invocation
  const settings = settingsOf('worker', isDoctor ? doctorCommand : checkCommand, invocation, 'silent')
  const wanted = flags.for === undefined ? roles : [roleOf(flags.for)]
  const keys = makeKeys(settings.namespace)
  const queues = namedQueues(readQueues(settings.queue)!)
  const purposes = wanted.flatMap(role => queues.map(queue => ({ role, keys, queue })))
  const { pingMs, findings } = await withRedis(settings, async connection => ({
    pingMs: await measurePing(connection),
    findings: [
      ...distinct(await connection.send(client => bootCheck(client, purposes))),
      ...(await checkRegistry(connection, keys, isDoctor)),
    ],
  }))
  // Nobody said what this user is for: it is no fault that it may not do everything.
  if (flags.for === undefined) forgiveRights(findings)
  const redis = describeTarget(settings.redis)
  if (flags.json !== undefined) output.json({ redis, pingMs, findings })
  else {
    const { out } = output
    const reached: Finding = { what: 'reachable', level: 'ok', message: `${redis} answers within ${pingMs} ms` }
    const all = [reached, ...findings]
    const width = Math.max(...all.map(({ what }) => what.length))
    for (const { what, level, message } of all) {
      out.line(`${out.paint(styles[level], level.padEnd(7))}  ${what.padEnd(width)}  ${printable(message)}`)
    }
  }
  return findings.some(({ level }) => level === 'error') ? exitCodes.failed : exitCodes.ok
}

export const checkCommand: Command = {
  name: 'check',
  usage: 'check',
  summary: 'check whether pshub can use this Redis',
  about: [
    'Connects to Redis, measures a round trip (the median of five), and checks what pshub depends on: version, role, ' +
      'eviction, mode, persistence, the library in Redis (which it loads if missing), and the rights of the user. It ' +
      'warns about unreadable records in Redis and about tasks that are served in two queues. A worker refuses to ' +
      'start if this command finds an error.',
    'Without --for it shows for each role whether the user may take it. A missing right is an error only if the user ' +
      'may take no role at all. The output names each missing right and the command that grants it.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    {
      flag: 'for',
      value: 'use',
      about:
        'hub (call), jobs (call and enqueue), worker (serve), view (look), admin (look and pause), registry (keep ' +
        'sessions) or install (load the library): ' +
        'role that the user must be able to take',
    },
    {
      flag: 'queue',
      value: 'name',
      isList: true,
      about: 'queue to call or serve; several with commas, or repeat --queue',
      setting: 'queue',
      fallback: "'default'",
    },
    jsonOption,
  ],
  examples: [
    { line: 'pshub check', about: 'the local Redis' },
    { line: 'pshub check --for worker --queue images', about: 'may a worker serve this queue?' },
    { line: 'PSHUB_REDIS=rediss://user:secret@redis.example:6380 pshub check', about: 'another Redis, over TLS' },
  ],
  exitCodes: {
    0: 'usable, perhaps with warnings',
    1: 'not usable: an error was found',
    2: 'the command line or a setting is wrong',
    3: 'Redis could not be reached',
  },
  run: invocation => check(invocation, false),
}

export const doctorCommand: Command = {
  ...checkCommand,
  name: 'doctor',
  usage: 'doctor',
  summary: 'all that check does, and a search for common problems',
  about: [
    'Does what pshub check does, and also checks settings of Redis that close connections, its clock, its slow log, the versions of live ' +
      'workers, tasks that they declare differently, lost workers whose requests nobody takes over, and foreign keys ' +
      'in the namespace. Each warning says what to do.',
    'Beyond pshub check it only reads. It scans the keys of Redis, up to 200,000 of each server. It skips what this user may not read (CONFIG GET, SLOWLOG GET): no role of ' +
      'pshub needs it.',
  ],
  examples: [
    { line: 'pshub doctor', about: 'when something looks wrong' },
    { line: 'pshub doctor --json | jq \'.findings[] | select(.level != "ok")\'', about: 'in a nightly check' },
  ],
  run: invocation => check(invocation, true),
}
