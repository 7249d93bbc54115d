import type { Events } from '../figures/events.ts'
import { Connection } from './connection.ts'
import type { RedisTarget } from './target.ts'

/** Seconds a blocked read waits before it looks again; also the longest a lost bell can cost. */
export const blockSeconds = 2

/** A request without an answer for this long condemns its connection. */
const commandStallMs = 2000

/** The two connections of a hub or a worker: one for requests, which must be answered soon, and one that may block. */
export const makeConnections = (
  owner: 'hub' | 'worker',
  target: RedisTarget,
  events: Events,
): { commands: Connection; blocking: Connection } => {
  const make = (role: string, stallMs: number) =>
    new Connection({
      target,
      name: `pshub-${owner}-${role}`,
      stallMs,
      onUp: () => events.emit('redis:up', { role: `${owner} ${role}` }),
      onDown: reason => events.emit('redis:down', { role: `${owner} ${role}`, reason: reason.message }),
    })
  return { commands: make('commands', commandStallMs), blocking: make('blocking', blockSeconds * 1000 + 1000) }
}
