import type { Events } from '../figures/events.ts'
import { explained, isAboutRights } from '../redis/refusals.ts'
import { describeTarget, type RedisTarget } from '../redis/target.ts'
import { HubError } from '../wire/errors.ts'

/** Redis cannot be reached or does not let us in: the same sentence from every command, with what to do about it. */
export class RedisAway extends HubError {
  constructor(target: RedisTarget, reason: string) {
    const how = isAboutRights(reason) ? 'does not let us in' : 'could not be reached'
    super('NotEnqueued', `Redis at ${describeTarget(target)} ${how}: ${explained(reason)}; set --redis or PSHUB_REDIS.`)
  }
}

/** Follows the connection that carries commands. The returned function says why it is away; undefined while it is up. */
export const watchRedis = (events: Events): (() => string | undefined) => {
  let away: string | undefined = 'no answer in time'
  const isCommands = (role: string) => role.endsWith(' commands')
  events.on('redis:up', ({ role }) => {
    if (isCommands(role)) away = undefined
  })
  events.on('redis:down', ({ role, reason }) => {
    if (isCommands(role)) away = reason
  })
  return () => away
}
