import { within } from '../../wire/clock.ts'
import { ConfigError, messageOf } from '../../wire/errors.ts'
import { latePackage } from '../../wire/late-package.ts'
import { namesOf, refuseOptions } from '../../wire/options.ts'
import {
  checkedFormat,
  type ForwardedJob,
  type ForwardFormat,
  type ForwardTarget,
  type NotForwarded,
} from '../target.ts'
import type { AmqpChannel, AmqpConnection, AmqpPackage } from './amqp-package.ts'

/** A target in RabbitMQ. */
export interface AmqpOptions {
  /** The broker: amqp:// or amqps://. */
  url: string
  /** Exchange to publish to; it must exist. Default: '', which routes to the queue named by the routing key. */
  exchange?: string | undefined
  /** Default: the name of the task. */
  routingKey?: string | ((job: ForwardedJob) => string) | undefined
  /** False: a message that no queue receives counts as confirmed. Default true: it is rejected. */
  mandatory?: boolean | undefined
  /** Formats a job as a message. Default: all of it as JSON. */
  format?: ForwardFormat | undefined
}

const optionNames = namesOf<AmqpOptions>({ url: true, exchange: true, routingKey: true, mandatory: true, format: true })
const connectMs = 10_000
const closeMs = 2000
const heartbeatSeconds = 10
/** How many characters of an exchange, a key and a short text there may be. */
const maxShort = 255

/** A connection with a channel that confirms. */
interface Link {
  readonly connection: AmqpConnection
  readonly channel: AmqpChannel
  /** Why what was published is not known to have arrived; rejects when the channel is gone. */
  readonly gone: Promise<never>
  /** Ids of messages that came back, because no queue takes them. */
  readonly returned: Set<string>
}

/**
 * Publishes each job as a persistent message; it is taken when the broker has confirmed it. A message that no queue
 * receives is rejected. Needs the package `amqplib`.
 *
 * @throws ConfigError
 */
export const amqp = (options: AmqpOptions): ForwardTarget => {
  refuseOptions('amqp', options, optionNames)
  const { url, exchange = '', routingKey, mandatory = true } = options
  if (typeof url !== 'string' || !/^amqps?:\/\/[^/\s]+/.test(url) || !URL.canParse(url))
    throw new ConfigError("amqp: 'url' must be one of amqp:// or amqps://, as in amqp://rabbit:5672/vhost.")
  const keyOf = typeof routingKey === 'function' ? routingKey : (job: ForwardedJob) => routingKey ?? job.task
  const format = checkedFormat('amqp', options.format)
  const client = packageOf()
  let opening: Promise<Link> | undefined
  const open = (): Promise<Link> => {
    opening ??= connect(client, url).then(
      link => {
        link.gone.catch(() => {
          opening = undefined
        })
        return link
      },
      error => {
        opening = undefined
        throw new Error(`the broker could not be reached: ${messageOf(error)}`)
      },
    )
    return opening
  }
  return {
    async forward(batch, signal) {
      const link = await open()
      // It may be on its way a second time by now.
      signal.throwIfAborted()
      const taken: string[] = []
      const failed: NotForwarded[] = []
      const publish = async (job: ForwardedJob) => {
        const { id } = job
        const { channel, gone, returned } = link
        returned.delete(id)
        try {
          const confirmed = new Promise<void>((resolve, reject) => {
            const done = (error: unknown) =>
              error ? reject(new Error(`the broker did not confirm it: ${messageOf(error)}`)) : resolve()
            channel.publish(exchange, keyOf(job), Buffer.from(format(job)), { ...propertiesOf(job), mandatory }, done)
          })
          await Promise.race([confirmed, gone])
          if (!returned.delete(id)) taken.push(id)
          else
            failed.push({ id, reason: `no queue takes it: exchange '${exchange}', key '${keyOf(job)}'`, isFinal: true })
        } catch (error) {
          failed.push({ id, reason: messageOf(error) })
        }
      }
      await Promise.all(batch.map(publish))
      return { taken, failed }
    },
    async close() {
      // One that does not answer is not waited for.
      if (opening)
        await within(
          opening.then(({ connection }) => connection.close()),
          closeMs,
        )
    },
  }
}

/** @throws ConfigError */
const packageOf = (): AmqpPackage => {
  try {
    return latePackage('amqplib') as AmqpPackage
  } catch (error) {
    // Behind the first line of Node's text comes who wanted it.
    const [reason = ''] = messageOf(error).split('\n')
    if (reason.includes("'amqplib'"))
      throw new ConfigError('amqp: the package amqplib is not installed here; install it: npm install amqplib')
    throw new ConfigError(`amqp: the package amqplib cannot be loaded: ${reason}`)
  }
}

const connect = async (client: AmqpPackage, url: string): Promise<Link> => {
  const heartbeat = url.includes('heartbeat=') ? '' : `${url.includes('?') ? '&' : '?'}heartbeat=${heartbeatSeconds}`
  const connection = await client.connect(`${url}${heartbeat}`, { timeout: connectMs })
  let lose: (reason: Error) => void = () => undefined
  const gone = new Promise<never>((_, reject) => {
    lose = reject
  })
  // Whoever publishes hears of it.
  gone.catch(() => undefined)
  const onLost = (error?: Error) => {
    lose(new Error(error ? messageOf(error) : 'the connection to the broker was closed'))
    connection.close().catch(() => undefined)
  }
  connection.on('error', onLost)
  connection.on('close', onLost)
  const channel = await connection.createConfirmChannel()
  channel.on('error', onLost)
  channel.on('close', onLost)
  const returned = new Set<string>()
  // It comes ahead of the confirmation of the same message.
  channel.on('return', message => void returned.add(String(message?.properties?.messageId)))
  return { connection, channel, gone, returned }
}

const propertiesOf = ({ id, task, attempt, key, traceparent, tracestate }: ForwardedJob) => ({
  persistent: true,
  messageId: id,
  contentType: 'application/json',
  type: task.slice(0, maxShort),
  timestamp: Math.floor(Date.now() / 1000),
  headers: Object.fromEntries(
    Object.entries({ attempt, key, traceparent, tracestate }).filter(([, value]) => value !== undefined),
  ),
})
