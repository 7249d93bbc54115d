import { command } from './client.ts'
import type { Keys } from './keys.ts'
import { isFull, type Redis } from './redis.ts'
import { scripts } from './scripts.ts'

/** Replies nobody fetches go after this long. */
export const replyTtlMs = 60_000

/**
 * Puts replies on a hub's list. As two plain commands, because the script costs Redis three times as much, and twelve times
 * as much with replies of 10 kB: its Lua hashes every byte that it is given (redis/redis#9449). Both leave in one packet, so
 * there is no list without an end of life. A full Redis refuses the plain push and takes the script.
 */
export const pushReplies = async (
  client: Redis,
  keys: Keys,
  hubId: string,
  replies: readonly string[],
): Promise<void> => {
  const key = keys.reply(hubId)
  const pushed = command(client, 'rpush', key, ...replies)
  const expires = command(client, 'pexpire', key, replyTtlMs)
  try {
    await pushed
  } catch (error) {
    expires.catch(() => undefined)
    if (!isFull(error as Error)) throw error
    await scripts.reply.run(client, [key], [replyTtlMs, ...replies])
    return
  }
  await expires
}
