import { command, nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { ConfigError } from '../wire/errors.ts'
import { numberIn } from '../wire/foreign.ts'
import { isQueueName, type Keys } from '../wire/keys.ts'

/** @throws ConfigError */
export const checkQueueName = (queue: unknown): void => {
  if (isQueueName(queue)) return
  const shown = typeof queue === 'string' ? `'${queue.slice(0, 80)}'` : String(queue)
  throw new ConfigError(
    `${shown} is not the name of a queue: 1 to 64 letters, digits, and _ . - (a letter or digit first).`,
  )
}

/** Pauses a queue, whether it has workers or not. An earlier pause goes on, with its own time. */
export const pauseQueue = async (
  client: Redis,
  keys: Keys,
  queue: string,
): Promise<{ pausedMs: number; wasPaused: boolean }> => {
  const { paused } = keys.queue(queue)
  const nowMs = await nowMsOf(client)
  const before = (await command(client, 'set', paused, nowMs, 'NX', 'GET')) as string | null
  const pausedMs = numberIn(before)
  if (pausedMs !== undefined) return { pausedMs, wasPaused: true }
  // Workers take what is no time for no pause; it must not keep anybody from pausing.
  if (before !== null) await command(client, 'set', paused, nowMs)
  return { pausedMs: nowMs, wasPaused: false }
}

/**
 * Ends the pause of a queue. Returns whether there was one. A life that ended long ago removes the key, also from a full Redis
 * and never somebody else's of another type; whether a user may do that can be asked without doing it, other than GETDEL.
 */
export const resumeQueue = async (client: Redis, keys: Keys, queue: string): Promise<boolean> =>
  numberIn((await command(client, 'getex', keys.queue(queue).paused, 'PXAT', 1)) as string | null) !== undefined
