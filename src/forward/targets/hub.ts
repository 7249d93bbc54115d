import { RelayHub } from '../../hub/relay.ts'
import type { RedisTarget } from '../../redis/target.ts'
import { ConfigError, type ErrorCode, HubError, messageOf } from '../../wire/errors.ts'
import { forwarderOf, isQueueName } from '../../wire/keys.ts'
import { namesOf, refuseOptions } from '../../wire/options.ts'
import { type ForwardedJob, type ForwardTarget, isCountTo, type NotForwarded } from '../target.ts'

/** A target in another hub. */
export interface HubTargetOptions {
  /** The Redis of the other hub. */
  redis: RedisTarget
  /** Its namespace. Default pshub. */
  namespace?: string | undefined
  /** Queue in the other hub. Default: the queue of the task. */
  queue?: string | undefined
  /** How long the other hub remembers a job, so that a repeated delivery does not enqueue it again. Default an hour. */
  rememberMs?: number | undefined
}

const optionNames = namesOf<HubTargetOptions>({ redis: true, namespace: true, queue: true, rememberMs: true })
const hourMs = 3600_000
const maxRememberMs = 30 * 24 * hourMs
/** However often such a job were sent, it would not fit. */
const final: readonly string[] = ['InvalidArgs', 'PayloadTooLarge'] satisfies ErrorCode[]

/** Enqueues each job in another hub, with the same id, task and arguments. @throws ConfigError */
export const otherHub = (options: HubTargetOptions): ForwardTarget => {
  refuseOptions('otherHub', options, optionNames)
  const { redis, namespace = 'pshub', queue, rememberMs = hourMs } = options
  if (queue !== undefined && !isQueueName(queue))
    throw new ConfigError("otherHub: 'queue' must be the name of a queue: 1 to 64 letters, digits, and _ . -")
  // It could be this one: then what it has forwarded comes back, is known there, and has gone nowhere.
  if (queue !== undefined && forwarderOf(queue) !== undefined)
    throw new ConfigError(`otherHub: ${queue} belongs to a forwarder; name a queue that workers serve.`)
  if (!isCountTo(rememberMs, maxRememberMs))
    throw new ConfigError(`otherHub: 'rememberMs' must be a whole number from 1 to ${maxRememberMs}.`)
  const hub = new RelayHub({ redis, namespace, logLevel: 'silent', statsd: undefined })
  return {
    async forward(batch) {
      const taken: string[] = []
      const failed: NotForwarded[] = []
      const relay = async (job: ForwardedJob) => {
        try {
          await hub.relay(job, queue, rememberMs)
          taken.push(job.id)
        } catch (error) {
          const isFinal = error instanceof HubError && final.includes(error.code)
          failed.push({ id: job.id, reason: messageOf(error), isFinal })
        }
      }
      await Promise.all(batch.map(relay))
      return { taken, failed }
    },
    close: () => hub.close(),
  }
}
