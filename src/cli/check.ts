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
    return `${where} cannot be read and counts as absent: ${reason}`
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
    finding.message = `${verdict}; what it lacks is shown by: pshub check --for ${finding.what.replace(' rights', '')}`
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
  summary: 'see whether this Redis is reachable and fit',
  about: [
    'Connects to Redis, measures a round trip (the median of five), and looks at what pshub depends on: version, ' +
      'role, eviction, mode, persistence, its library in Redis (which it loads where that is missing), and the rights of the user. It warns of what is in Redis and cannot be read, and of tasks ' +
      'that are served in two queues. A worker refuses to start where this finds an error.',
    'Without --for it says of each use whether the user may; that it may not is an error only where it may nothing at all. ' +
      'What is missing is named, with the command that grants it.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    {
      flag: 'for',
      value: 'use',
      about:
        'hub (to call), jobs (to call and to enqueue), worker (to serve), view (to look), admin (to look and pause), registry (to keep who is ' +
        'logged in there) or install (to load the library): ' +
        'what the user must be able to do',
    },
    {
      flag: 'queue',
      value: 'name',
      isList: true,
      about: 'queue to call or to serve; several with commas, or --queue again',
      setting: 'queue',
      fallback: "'default'",
    },
    jsonOption,
  ],
  examples: [
    { line: 'pshub check', about: 'the local Redis' },
    { line: 'pshub check --for worker --queue images', about: 'may a worker serve this queue?' },
    { line: 'PSHUB_REDIS=rediss://user:secret@redis.example:6380 pshub check', about: 'another one, over TLS' },
  ],
  exitCodes: {
    0: 'fit, perhaps with warnings',
    1: 'it cannot be used: an error was found',
    2: 'the command line or a setting is wrong',
    3: 'it could not be reached',
  },
  run: invocation => check(invocation, false),
}

export const doctorCommand: Command = {
  ...checkCommand,
  name: 'doctor',
  usage: 'doctor',
  summary: 'the same as check, and what lives and lies there that should not be so',
  about: [
    'Does what pshub check does, and looks further: settings of Redis that close connections, its clock, its slow log, the versions of live ' +
      'workers, tasks that they declare in different ways, workers that are gone and hold work which nobody takes over, and keys under the namespace that nothing of pshub ' +
      'writes. Each warning says what to do.',
    'Beside what pshub check does it only reads. It goes through the keys of Redis, up to 200,000 of each server. What this user may not read (CONFIG GET, SLOWLOG GET) is passed over: no role of ' +
      'pshub needs it.',
  ],
  examples: [
    { line: 'pshub doctor', about: 'something is odd' },
    { line: 'pshub doctor --json | jq \'.findings[] | select(.level != "ok")\'', about: 'in a nightly check' },
  ],
  run: invocation => check(invocation, true),
}
