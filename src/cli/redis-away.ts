import type { Events } from '../figures/events.ts'
import { explained, isAboutRights } from '../redis/refusals.ts'
import { describeTarget, type RedisTarget } from '../redis/target.ts'
import { HubError } from '../wire/errors.ts'

/** Redis cannot be reached or denies access: the same sentence from every command, with what to do about it. */
export class RedisAway extends HubError {
  constructor(target: RedisTarget, reason: string) {
    const how = isAboutRights(reason) ? 'denies access' : 'could not be reached'
    super('NotEnqueued', `Redis at ${describeTarget(target)} ${how}: ${explained(reason)}; set --redis or PSHUB_REDIS.`)
  }
}

/**
 * Follows the connections that carry commands: one, or one for each node of a Cluster, of which one that is up is enough. The returned
 * function says why there is none; undefined while there is one.
 */
export const watchRedis = (events: Events): (() => string | undefined) => {
  const up = new Set<string>()
  let last = 'no answer in time'
  const isCommands = (role: string) => / commands( |$)/.test(role)
  events.on('redis:up', ({ role }) => {
    if (isCommands(role)) up.add(role)
  })
  events.on('redis:down', ({ role, reason }) => {
    if (!isCommands(role)) return
    up.delete(role)
    last = reason
  })
  return () => (up.size > 0 ? undefined : last)
}
