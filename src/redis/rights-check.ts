import type { Keys } from '../wire/keys.ts'
import { command } from './client.ts'
import type { Redis } from './connection.ts'
import { dispensable, type Role, rulesOf, type Use, usesOf } from './rights.ts'

/** What follows a command's name and key, where a command without it would not be one. */
const rests: Record<string, string[]> = {
  'HDEL HGET HMGET HSTRLEN LPOS LPUSH RPUSH ZREM ZSCORE CLIENT|SETNAME': ['_'],
  'LRANGE LTRIM ZRANGE ZRANGEBYSCORE ZREMRANGEBYRANK ZREMRANGEBYSCORE': ['0', '0'],
  'BLPOP LPOP PEXPIRE': ['1'],
  'LINDEX CLIENT|UNBLOCK': ['0'],
  'EVAL EVALSHA': ['_', '0'],
  HSET: ['_', '_'],
  LREM: ['1', '_'],
  ZADD: ['0', '_'],
  // Sent for an admin; it changes nothing: Redis looks at rights before it finds that two of the words exclude each other.
  SET: ['_', 'NX', 'XX', 'GET'],
}
const restOf = new Map(
  Object.entries(rests).flatMap(([commands, rest]) => commands.split(' ').map(command => [command, rest] as const)),
)

/** Something a user may not do: a command, and the key that it concerns. */
interface Probe {
  command: string
  key: string | undefined
  words: string[]
}

const probesOf = (uses: Use[]): Probe[] =>
  uses.flatMap(({ key, script, commands }): Probe[] => {
    const probes = commands.map(command => ({ command, key, words: wordsOf(command, key) }))
    return script ? [{ command: 'EVAL', key, words: ['EVAL', '_', '1', key!] }, ...probes] : probes
  })

const wordsOf = (command: string, key: string | undefined): string[] => {
  if (key === undefined) return [...command.split('|'), ...(restOf.get(command) ?? [])]
  if (command === 'BLMOVE') return [command, key, key, 'LEFT', 'RIGHT', '1']
  return [command, key, ...(restOf.get(command) ?? [])]
}

/**
 * Redis itself says whether the user may: acl_check_cmd runs nothing, needs no right of its own besides EVAL, and leaves no
 * trace in the server's log of denials. Each command is given as the number of its words and the words.
 */
const askScript = `
local denied, at, probe = {}, 1, 0
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  if not redis.acl_check_cmd(unpack(ARGV, at + 1, at + count)) then denied[#denied + 1] = probe end
  at = at + count + 1
  probe = probe + 1
end
return denied`

/** What the connected user lacks. */
export interface Missing {
  /** False when pshub can do without all of it. */
  isNeeded: boolean
  /** By key: what may not be done with it. */
  what: string
  /** The command for an administrator. */
  grant: string
}

/**
 * What the connected user may not do of what a role needs; undefined when it may do everything. Works for a user who may not
 * run ACL commands. `queue` is the one that it is to call or serve.
 * @throws Error when this server cannot tell
 */
export const missingRights = async (
  client: Redis,
  role: Role,
  keys: Keys,
  queue: string,
): Promise<Missing | undefined> => {
  const probes = probesOf(usesOf(role, keys, queue, '*'))
  const denied = await deniedOf(client, probes, role)
  if (denied.length === 0) return undefined
  const user = client.options.username || 'default'
  return {
    isNeeded: denied.some(({ command }) => !dispensable.includes(command)),
    what: describe(denied),
    grant: `ACL SETUSER ${user} ${rulesOf(role, keys)}`,
  }
}

const deniedOf = async (client: Redis, probes: Probe[], role: Role): Promise<Probe[]> => {
  const args = probes.flatMap(({ words }) => [String(words.length), ...words])
  try {
    const denied = (await command(client, 'eval', askScript, 0, ...args)) as number[]
    return denied.map(index => probes[index]!)
  } catch (error) {
    if (!isDenied(error)) throw error
    // Who only looks or pauses needs no EVAL, and all that is sent for it here is harmless.
    if (role === 'view' || role === 'admin') return refusedOf(client, probes)
    return probes.filter(({ command, key }) => command.startsWith('EVAL') && key === undefined)
  }
}

const refusedOf = async (client: Redis, probes: Probe[]): Promise<Probe[]> => {
  // The name of a connection is not looked for, because asking would change it.
  const sent = probes.filter(({ command }) => command !== 'CLIENT|SETNAME')
  const outcomes = await Promise.allSettled(sent.map(({ words: [name, ...rest] }) => command(client, name!, ...rest)))
  return sent.filter((_, index) => {
    const outcome = outcomes[index]!
    return outcome.status === 'rejected' && isDenied(outcome.reason)
  })
}

const isDenied = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOPERM')

/** pshub:tasks (HKEYS HMGET), pshub:workers (HMGET), and EVAL */
const describe = (denied: Probe[]): string => {
  const byKey = new Map<string | undefined, string[]>()
  for (const { key, command } of denied) byKey.set(key, [...(byKey.get(key) ?? []), command])
  return [...byKey]
    .map(([key, commands]) => (key === undefined ? commands.join(' ') : `${commands.join(' ')} on ${key}`))
    .join(', ')
}
