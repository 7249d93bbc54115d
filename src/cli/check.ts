import { bootCheck, type Finding } from '../bootcheck.ts'
import { type Connection, describeTarget } from '../redis.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonOption } from './options.ts'
import { printable } from './printable.ts'
import { withRedis } from './redis-session.ts'

const pings = 5

/** Median of a few round trips, in milliseconds. The first one of a connection is often slower than all that follow. */
const measurePing = async (connection: Connection): Promise<number> => {
  const times: number[] = []
  for (let i = 0; i < pings; i++) {
    const startedAt = performance.now()
    await connection.send(client => client.ping())
    times.push(performance.now() - startedAt)
  }
  return Math.round(times.sort((a, b) => a - b)[(pings - 1) / 2]! * 100) / 100
}

const styles = { ok: 'green', warning: 'yellow', error: 'red' } as const

const run = async (invocation: Invocation): Promise<number> => {
  const { flags, output } = invocation
  const settings = settingsOf('hub', checkCommand, invocation, 'silent')
  const { pingMs, findings } = await withRedis(settings, async connection => ({
    pingMs: await measurePing(connection),
    findings: await connection.send(bootCheck),
  }))
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
    'Connects to Redis, measures a round trip (the median of five PINGs), and looks at what pshub depends on: version, ' +
      'role, eviction, mode and persistence. A worker refuses to start where this finds an error.',
  ],
  arity: { min: 0, max: 0 },
  options: [jsonOption],
  examples: [
    { line: 'pshub check', about: 'the local Redis' },
    { line: 'PSHUB_REDIS=rediss://user:secret@redis.example:6380 pshub check', about: 'another one, over TLS' },
  ],
  exitCodes: {
    0: 'fit, perhaps with warnings',
    1: 'it cannot be used: an error was found',
    2: 'the command line or a setting is wrong',
    3: 'it could not be reached',
  },
  run,
}
