import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { run } from '../redis/library.ts'
import { crc16 } from '../redis/slots.ts'
import { isCount, objectOf, Unreadable } from '../wire/foreign.ts'
import { isQueueName, isShardOf, type QueueKeys } from '../wire/keys.ts'

/**
 * Over which shards a queue is spread: queues of their own, each under its own hash tag. The record lies in the place of each of them; the
 * one in the queue's own place counts, and the others are brought up to it. It changes in three steps, each with the next epoch:
 *
 * 1. `isComing`: all workers serve the new shards, and take jobs whose key belongs elsewhere there. Hubs put work where they did before.
 * 2. Hubs put work into the new shards; one whose key still has jobs where it belonged before, there, behind these.
 * 3. What belonged elsewhere is gone: there is no `earlier` any more, and the next change may begin.
 */
export interface Shards {
  epoch: number
  /** The first one is the queue itself, always. */
  names: readonly [string, ...string[]]
  isComing: boolean
  /** How it was spread before, as long as something may be left of that. */
  earlier: readonly [string, ...string[]] | undefined
}

export const mostShards = 256
/** What the functions read of it at the most. */
const maxLength = 100_000

export const unsharded = (queue: string): Shards => ({
  epoch: 0,
  names: [queue],
  isComing: false,
  earlier: undefined,
})

/** The epoch of a record, as the functions see it. */
export const epochIn = (text: string): number => Number(/^\{"epoch":(\d{1,15}),/.exec(text)?.[1] ?? 0)

/** Undefined where there is none, or something else, or one of another queue. */
export const parseShards = (text: unknown, queue: string): Shards | undefined => {
  try {
    if (typeof text !== 'string' || !text.startsWith('{"epoch":')) return undefined
    const { epoch, names, coming, earlier } = objectOf(text, maxLength)
    if (!isCount(epoch) || epoch < 1 || !areNames(names, queue)) return undefined
    if (earlier !== undefined && !areNames(earlier, queue)) return undefined
    return { epoch, names, isComing: coming === true && earlier !== undefined, earlier }
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

const areNames = (value: unknown, queue: string): value is [string, ...string[]] =>
  Array.isArray(value) &&
  value[0] === queue &&
  isQueueName(queue) &&
  value.length <= mostShards &&
  new Set(value).size === value.length &&
  value.slice(1).every(name => isShardOf(name, queue))

export const shardsText = ({ epoch, names, isComing, earlier }: Shards): string =>
  JSON.stringify({ epoch, names, ...(isComing ? { coming: true } : {}), earlier })

/** The record in the place of a queue or one of its shards. */
export const readShards = async (client: Redis, keys: QueueKeys, queue: string): Promise<Shards | undefined> =>
  parseShards(await command(client, 'get', keys.shards), queue)

/** Notes it in the place of a queue or a shard. `expected`: the epoch that is to be there now. Returns whether it did. */
export const noteShards = async (client: Redis, keys: QueueKeys, shards: Shards, expected?: number): Promise<boolean> =>
  (await run(client, 'shard', [keys.shards], [shardsText(shards), expected ?? ''])) === 1

/** All that are to be served: those, too, that are none any more. */
export const servedShards = ({ names, earlier = [] as never }: Shards): string[] => [...new Set([...names, ...earlier])]

/** Those into which work is put. */
export const openShards = ({ names, isComing, earlier }: Shards): readonly [string, ...string[]] =>
  isComing && earlier ? earlier : names

/** Where the jobs of a key run. */
export const homeOf = (names: readonly [string, ...string[]], key: string): string =>
  names[crc16(Buffer.from(key)) % names.length]!

/** Where jobs of a key may still wait that came before the change; undefined where that is where they are put now. */
export const formerHomeOf = ({ names, isComing, earlier }: Shards, key: string): string | undefined => {
  const home = !isComing && earlier ? homeOf(earlier, key) : undefined
  return home === homeOf(names, key) ? undefined : home
}
