import type { Keys } from '../wire/keys.ts'
import { command } from './client.ts'
import type { Redis } from './connection.ts'
import { run } from './library.ts'
import { isDispensable, isOfClusters, type Probe, probesOf, type Role, rulesOf } from './rights.ts'

/** What the connected user lacks. */
export interface Missing {
  /** False when pshub can do without all of it. */
  isNeeded: boolean
  /** By key: what may not be done with it. */
  what: string
  /** The command for an administrator. */
  grant: string
}

type Denied = Pick<Probe, 'command' | 'key'>

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
  const all = await deniedOf(client, role, keys, queue)
  const denied = client.node === undefined ? all.filter(each => !isOfClusters(each)) : all
  if (denied.length === 0) return undefined
  const user = client.options?.username || 'default'
  return {
    isNeeded: denied.some(each => !isDispensable(each, keys)),
    what: describe(denied),
    grant: `ACL SETUSER ${user} ${rulesOf(role, keys)}`,
  }
}

const deniedOf = async (client: Redis, role: Role, keys: Keys, queue: string): Promise<Denied[]> => {
  try {
    const answer = (await run(client, 'denied', [], [role, keys.namespace, queue])) as string[]
    return answer.flatMap((command, at) => (at % 2 === 0 ? [{ command, key: answer[at + 1] || undefined }] : []))
  } catch (error) {
    if (!isDenied(error)) throw error
    // Who only looks or pauses needs no FCALL, and all that is sent for it here is harmless.
    if (role === 'view' || role === 'admin' || role === 'registry')
      return refusedOf(client, probesOf(role, keys, queue))
    return [{ command: 'FCALL', key: undefined }]
  }
}

const refusedOf = async (client: Redis, probes: Probe[]): Promise<Denied[]> => {
  // The name of a connection is not looked for, because asking would change it.
  const sent = probes.filter(({ command }) => command !== 'CLIENT|SETNAME')
  const outcomes = await Promise.allSettled(sent.map(({ words: [name, ...rest] }) => command(client, name!, ...rest)))
  return sent.filter((_, index) => {
    const outcome = outcomes[index]!
    return outcome.status === 'rejected' && isDenied(outcome.reason)
  })
}

const isDenied = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOPERM')

/** pshub:tasks (HKEYS HMGET), pshub:workers (HMGET), and FCALL */
const describe = (denied: Denied[]): string => {
  const byKey = new Map<string | undefined, string[]>()
  for (const { key, command } of denied) byKey.set(key, [...(byKey.get(key) ?? []), command])
  return [...byKey]
    .map(([key, commands]) => (key === undefined ? commands.join(' ') : `${commands.join(' ')} on ${key}`))
    .join(', ')
}
