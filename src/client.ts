import { Command, Redis, type RedisOptions } from 'ioredis'

export type { Redis, RedisOptions }

/** What users give as `redis`: a URL or ioredis options (Sentinel ones included). */
export type RedisTarget = string | RedisOptions

/**
 * Options that keep ioredis' promises settling (each trap was reproduced against ioredis 6.0.0): with
 * `maxRetriesPerRequest` above 0 a command under way may pend for ever when the server accepts and closes; with
 * re-sending on, a push whose answer was lost runs twice; the offline queue has no bound. There is no function among
 * them, because they are copied into a thread.
 */
const fixedOptions: RedisOptions = {
  lazyConnect: true,
  retryStrategy: null,
  reconnectOnError: null,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  enableReadyCheck: true,
  connectTimeout: 2000,
  disableClientInfo: true,
  failoverDetector: true,
}

type LegacyOptions = RedisOptions & { replyMapping?: 'legacy' }

/**
 * What the constructor of an ioredis client takes. What is first counts, against the order of its declared types: what
 * follows ? in a URL must not undo these options.
 */
export const clientArguments = (target: RedisTarget, connectionName: string): [LegacyOptions, string?] => {
  const options = { ...(typeof target === 'string' ? {} : target), ...fixedOptions, connectionName } as LegacyOptions
  return typeof target === 'string' ? [options, target] : [options]
}

export const makeClient = (target: RedisTarget, connectionName: string): Redis =>
  new (Redis as unknown as new (...given: unknown[]) => Redis)(...clientArguments(target, connectionName))

/**
 * Sends one command of those that each call needs. The client's own methods do the same and more: for a lone call, whose
 * commands find no processor cache warm, that is a hundredth of its time.
 */
export const command = (client: Redis, name: string, ...args: (string | number)[]): Promise<unknown> =>
  client.sendCommand(new Command(name, args, { replyEncoding: 'utf8' })) as Promise<unknown>

/** Ends a client for good. Not disconnect() alone: it half-closes, and a half-open peer never answers that. */
export const destroy = (client: Redis, reason: Error): void => {
  client.silentEmit('error', reason)
  client.disconnect()
  const { stream } = client as unknown as { stream?: { destroy(): void } }
  stream?.destroy()
}
