import type { Events } from '../figures/events.ts'
import { Connection } from './connection.ts'
import type { RedisTarget } from './target.ts'

/** Seconds a blocked read waits before it looks again; also the longest a lost bell can cost. */
export const blockSeconds = 2

/** A request without an answer for this long condemns its connection. */
const commandStallMs = 2000

/** A connection of a hub's on which Redis may wait for its replicas. */
export const makeDurableConnection = (target: RedisTarget, events: Events, beside: Connection): Connection => {
  const role = 'hub durable'
  return new Connection({
    target,
    name: 'pshub-hub-durable',
    stallMs: commandStallMs + 1000,
    beside,
    onUp: () => events.emit('redis:up', { role }),
    onDown: reason => events.emit('redis:down', { role, reason: reason.message }),
  })
}

/** The two connections of a hub or a worker (on a Cluster, two for each node that is used): one for requests, which must be answered soon, and one that may block. */
export const makeConnections = (
  owner: 'hub' | 'worker',
  target: RedisTarget,
  events: Events,
): { commands: Connection; blocking: Connection } => {
  const make = (role: string, stallMs: number, beside?: Connection) => {
    const roleAt = (node?: string) => (node === undefined ? `${owner} ${role}` : `${owner} ${role} ${node}`)
    return new Connection({
      target,
      name: `pshub-${owner}-${role}`,
      stallMs,
      ...(beside ? { beside } : {}),
      onUp: node => events.emit('redis:up', { role: roleAt(node) }),
      onDown: (reason, node) => events.emit('redis:down', { role: roleAt(node), reason: reason.message }),
    })
  }
  const commands = make('commands', commandStallMs)
  return { commands, blocking: make('blocking', blockSeconds * 1000 + 1000, commands) }
}
