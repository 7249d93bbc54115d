import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ForwardTarget } from '../forward/target.ts'
import { variableIn } from '../settings/read.ts'
import { ConfigError, messageOf } from '../wire/errors.ts'
import { UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import type { Host } from './host.ts'

type Flags = Invocation['flags']

/** Where jobs go, as flags. */
export const targetFlags: Command['options'] = [
  {
    flag: 'to',
    value: 'url',
    about: 'target: https://, http://, redis://, rediss://, amqp:// or amqps://',
    fallback: 'PSHUB_FORWARD_TO',
  },
  { flag: 'list', value: 'key', about: 'with redis://: list to append them to' },
  { flag: 'stream', value: 'key', about: 'with redis://: stream to add them to' },
  { flag: 'max-length', value: 'n', about: 'entries that the stream keeps, approximately', fallback: 'all' },
  { flag: 'hub', value: 'namespace', about: 'with redis://: namespace of another hub to enqueue them in' },
  { flag: 'queue', value: 'name', about: 'with --hub: queue in that hub', fallback: 'the queue of the task' },
  {
    flag: 'exchange',
    value: 'name',
    about: 'with amqp://: exchange to publish them to',
    fallback: 'the default one',
  },
  { flag: 'routing-key', value: 'key', about: 'with amqp://: routing key', fallback: 'the task' },
  {
    flag: 'secret-file',
    value: 'path',
    about: 'with https://: file of signing secrets, one per line',
    fallback: 'PSHUB_FORWARD_SECRET',
  },
  { flag: 'headers-file', value: 'path', about: 'with https://: file of further headers, a JSON object' },
]

/** Flags that say more about each kind. */
const belonging = {
  http: ['secret-file', 'headers-file'],
  amqp: ['exchange', 'routing-key'],
  redis: ['list', 'stream', 'hub', 'max-length', 'queue'],
}
type Kind = keyof typeof belonging

/** @throws UsageError, ConfigError */
export const targetOf = async (
  { flags, host }: Pick<Invocation, 'flags' | 'host'>,
  module: string | undefined,
): Promise<ForwardTarget> => {
  const { env, cwd } = host
  const to = flags.to ?? variableIn(env, 'PSHUB_FORWARD_TO')
  if (module !== undefined) {
    const given = ['to', ...Object.values(belonging).flat()].find(flag => flags[flag] !== undefined)
    if (given !== undefined) throw wrong(`The module determines the target; omit --${given}.`)
    return moduleTarget(module, cwd)
  }
  if (to === undefined) throw wrong('Pass a target: --to <url>, PSHUB_FORWARD_TO, or a module.')
  const kind = kindOf(to, flags.to === undefined ? 'PSHUB_FORWARD_TO' : '--to')
  // A webhook takes none, wherever it comes from.
  if (kind !== 'http' && flags.to !== undefined && hasPassword(flags.to))
    throw wrong(
      '--to holds a password, which others can read in the list of processes; put the URL into PSHUB_FORWARD_TO.',
    )
  for (const [other, names] of Object.entries(belonging))
    for (const flag of names)
      if (other !== kind && flags[flag] !== undefined)
        throw wrong(`--${flag} is not for a URL that begins with ${kind}.`)
  if (kind === 'http') return webhookTarget(to, flags, host)
  return kind === 'redis' ? redisTarget(to, flags) : amqpTarget(to, flags)
}

const wrong = (message: string): UsageError => new UsageError(message, 'forward')

/** Ahead of the last @, because a password may hold one, a slash, and a question mark. */
const hasPassword = (url: string): boolean => /:\/\/.*:.*@|[?&]\w*password=/is.test(url)

const kindOf = (url: string, origin: string): Kind => {
  const [, scheme] = /^(http|redis|amqp)s?(?:\+\w+)?:\/\//.exec(url) ?? []
  if (scheme !== undefined) return scheme as Kind
  throw wrong(`${origin} must begin with https://, http://, redis://, rediss://, amqp:// or amqps://.`)
}

const moduleTarget = async (name: string, cwd: string): Promise<ForwardTarget> => {
  const { loadModule } = await import('./load-tasks.ts')
  const { exported } = await loadModule(name, cwd)
  const target = (exported.default ?? exported.target) as ForwardTarget | undefined
  if (typeof target?.forward === 'function') return target
  throw new ConfigError(
    `${name} exports no target: by default, or as 'target', an object with a method forward(batch, signal).`,
  )
}

const webhookTarget = async (url: string, flags: Flags, { env, cwd }: Host): Promise<ForwardTarget> => {
  const { webhook } = await import('../forward/targets/webhook.ts')
  const path = flags['secret-file']
  const text = path === undefined ? variableIn(env, 'PSHUB_FORWARD_SECRET') : textOf(path, cwd, '--secret-file')
  const secrets = (text ?? '').split(/\s+/).filter(each => each !== '')
  if (path !== undefined && secrets.length === 0) throw new ConfigError(`--secret-file: ${path} holds no secret.`)
  const headers = headersOf(flags['headers-file'], cwd)
  return webhook({ url, secret: secrets.length > 0 ? secrets : undefined, headers })
}

const headersOf = (path: string | undefined, cwd: string): Record<string, string> | undefined => {
  if (path === undefined) return undefined
  try {
    const headers = JSON.parse(textOf(path, cwd, '--headers-file'))
    if (
      typeof headers === 'object' &&
      headers !== null &&
      Object.values(headers).every(each => typeof each === 'string')
    )
      return headers
  } catch (error) {
    if (error instanceof ConfigError) throw error
  }
  throw new ConfigError(`--headers-file: ${path} must hold a JSON object with a string for each header.`)
}

const textOf = (path: string, cwd: string, flag: string): string => {
  try {
    return readFileSync(resolve(cwd, path), 'utf8')
  } catch (error) {
    throw new ConfigError(`${flag}: ${path} cannot be read: ${messageOf(error)}.`)
  }
}

const redisTarget = async (redis: string, flags: Flags): Promise<ForwardTarget> => {
  const { list, stream, hub, queue } = flags
  const maxLength = flags['max-length']
  const named = [list, stream, hub].filter(each => each !== undefined)
  if (named.length !== 1) throw wrong('With redis:// pass one of --list, --stream and --hub.')
  if (queue !== undefined && hub === undefined) throw wrong('--queue belongs to --hub.')
  if (maxLength !== undefined && stream === undefined) throw wrong('--max-length belongs to --stream.')
  if (maxLength !== undefined && !/^[1-9]\d{0,14}$/.test(maxLength))
    throw wrong(`--max-length must be a whole number of at least 1; it is '${maxLength}'.`)
  if (list !== undefined) return (await import('../forward/targets/redis-list.ts')).redisList({ redis, key: list })
  if (hub !== undefined) return (await import('../forward/targets/hub.ts')).otherHub({ redis, namespace: hub, queue })
  const { redisStream } = await import('../forward/targets/redis-stream.ts')
  return redisStream({ redis, key: stream!, maxLength: maxLength === undefined ? undefined : Number(maxLength) })
}

const amqpTarget = async (url: string, flags: Flags): Promise<ForwardTarget> => {
  const { amqp } = await import('../forward/targets/amqp.ts')
  return amqp({ url, exchange: flags.exchange, routingKey: flags['routing-key'] })
}
