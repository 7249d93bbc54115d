import { command, nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { isRefusal } from '../redis/failures.ts'
import { ConfigError } from '../wire/errors.ts'
import { numberIn } from '../wire/foreign.ts'
import { isQueueName, type Keys, type QueueKeys } from '../wire/keys.ts'
import { readShards, servedShards } from './shards.ts'

/** @throws ConfigError */
export const checkQueueName = (queue: unknown): void => {
  if (isQueueName(queue)) return
  const shown = typeof queue === 'string' ? `'${queue.slice(0, 80)}'` : String(queue)
  throw new ConfigError(
    `${shown} is not the name of a queue: 1 to 64 letters, digits, and _ . - (a letter or digit first).`,
  )
}

/** Pauses a queue, all places of it, whether it has workers or not. An earlier pause goes on, with its own time. */
export const pauseQueue = async (
  client: Redis,
  keys: Keys,
  queue: string,
): Promise<{ pausedMs: number; wasPaused: boolean }> => {
  const [own, ...others] = await placesOf(client, keys, queue)
  const done = await pausePlace(client, keys.queue(own))
  await Promise.all(others.map(name => pausePlace(client, keys.queue(name))))
  return done
}

const pausePlace = async (client: Redis, { paused }: QueueKeys): Promise<{ pausedMs: number; wasPaused: boolean }> => {
  const nowMs = await nowMsOf(client, paused)
  const before = (await command(client, 'set', paused, nowMs, 'NX', 'GET')) as string | null
  const pausedMs = numberIn(before)
  if (pausedMs !== undefined) return { pausedMs, wasPaused: true }
  // Workers take what is no time for no pause; it must not keep anybody from pausing.
  if (before !== null) await command(client, 'set', paused, nowMs)
  return { pausedMs: nowMs, wasPaused: false }
}

/**
 * Ends the pause of a queue, in all places of it. Returns whether there was one. A life that ended long ago removes the key, also from a full
 * Redis and never somebody else's of another type; whether a user may do that can be asked without doing it, other than GETDEL.
 */
export const resumeQueue = async (client: Redis, keys: Keys, queue: string): Promise<boolean> => {
  const resume = async (name: string) =>
    numberIn((await command(client, 'getex', keys.queue(name).paused, 'PXAT', 1)) as string | null) !== undefined
  const were = await Promise.all((await placesOf(client, keys, queue)).map(resume))
  return were.includes(true)
}

/** The queue and its shards; who may not read of those, as an earlier version asked for no such right, sees the queue alone. */
const placesOf = async (client: Redis, keys: Keys, queue: string): Promise<[string, ...string[]]> => {
  const shards = await readShards(client, keys.queue(queue), queue).catch(error => {
    if (isRefusal(error)) return undefined
    throw error
  })
  const [own = queue, ...others] = shards ? servedShards(shards) : [queue]
  return [own, ...others]
}
