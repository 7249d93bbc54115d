import { command } from '../../redis/client.ts'
import type { RedisTarget } from '../../redis/target.ts'
import { ConfigError, messageOf } from '../../wire/errors.ts'
import { namesOf, refuseOptions } from '../../wire/options.ts'
import { checkedFormat, type ForwardFormat, type ForwardTarget, type NotForwarded } from '../target.ts'
import { RedisLink } from './redis-link.ts'

/** A target list in Redis. */
export interface RedisListOptions {
  /** The Redis that has the list. */
  redis: RedisTarget
  /** Name of the list. Messages are appended to it. */
  key: string
  /** Formats a job as a message. Default: all of it as JSON. */
  format?: ForwardFormat | undefined
}

const optionNames = namesOf<RedisListOptions>({ redis: true, key: true, format: true })

/** Appends each job to a list, with RPUSH. @throws ConfigError */
export const redisList = (options: RedisListOptions): ForwardTarget => {
  refuseOptions('redisList', options, optionNames)
  const { redis, key } = options
  checkKey('redisList', key)
  const format = checkedFormat('redisList', options.format)
  const link = new RedisLink(redis)
  return {
    async forward(batch, signal) {
      const taken: string[] = []
      const failed: NotForwarded[] = []
      const texts: string[] = []
      for (const job of batch) {
        try {
          texts.push(format(job))
          taken.push(job.id)
        } catch (error) {
          failed.push({ id: job.id, reason: messageOf(error) })
        }
      }
      // All of them in one command, or none.
      if (texts.length > 0) await link.send(client => command(client, 'rpush', key, ...texts), signal)
      return { taken, failed }
    },
    close: () => link.close(),
  }
}

/** @throws ConfigError */
export const checkKey = (target: string, key: unknown): void => {
  if (typeof key !== 'string' || key === '') throw new ConfigError(`${target}: 'key' must be the name of a key.`)
}
