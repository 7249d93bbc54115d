import { command } from '../../redis/client.ts'
import type { RedisTarget } from '../../redis/target.ts'
import { ConfigError, messageOf } from '../../wire/errors.ts'
import { stringifyExact } from '../../wire/json/exact-json.ts'
import { namesOf, refuseOptions } from '../../wire/options.ts'
import { type ForwardedJob, type ForwardTarget, isCountTo, type NotForwarded } from '../target.ts'
import { RedisLink } from './redis-link.ts'
import { checkKey } from './redis-list.ts'

/** A target stream in Redis. */
export interface RedisStreamOptions {
  /** The Redis that has the stream. */
  redis: RedisTarget
  /** Name of the stream. */
  key: string
  /** Approximate number of entries to keep: older ones are deleted, read or not. Default: all. */
  maxLength?: number | undefined
}

const optionNames = namesOf<RedisStreamOptions>({ redis: true, key: true, maxLength: true })

/** Adds each job to a stream, with XADD. @throws ConfigError */
export const redisStream = (options: RedisStreamOptions): ForwardTarget => {
  refuseOptions('redisStream', options, optionNames)
  const { redis, key, maxLength } = options
  checkKey('redisStream', key)
  if (maxLength !== undefined && !isCountTo(maxLength, Number.MAX_SAFE_INTEGER))
    throw new ConfigError("redisStream: 'maxLength' must be a whole number of at least 1.")
  const link = new RedisLink(redis)
  const limit = maxLength === undefined ? [] : ['MAXLEN', '~', maxLength]
  return {
    async forward(batch, signal) {
      const taken: string[] = []
      const failed: NotForwarded[] = []
      const add = async (job: ForwardedJob) => {
        try {
          await link.send(client => command(client, 'xadd', key, ...limit, '*', ...fieldsOf(job)), signal)
          taken.push(job.id)
        } catch (error) {
          failed.push({ id: job.id, reason: messageOf(error) })
        }
      }
      await Promise.all(batch.map(add))
      return { taken, failed }
    },
    close: () => link.close(),
  }
}

/** Those that the job has, each with its value; the arguments are JSON. */
const fieldsOf = ({ id, task, args, key, from, attempt, traceparent, tracestate }: ForwardedJob): string[] =>
  Object.entries({ id, task, args: stringifyExact(args), key, from, attempt, traceparent, tracestate }).flatMap(
    ([name, value]) => (value === undefined ? [] : [name, String(value)]),
  )
