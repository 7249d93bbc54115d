import { command, serversOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { numberIn } from '../wire/foreign.ts'

/** Memory of Redis; of several servers, the fullest. */
export interface RedisMemory {
  usedBytes: number
  /** Above this, Redis rejects writes: calls, jobs and figures. */
  maxBytes: number
}

/** Undefined where there is no limit, or this Redis user may not read it. */
export const readRedisMemory = async (client: Redis): Promise<RedisMemory | undefined> => {
  const all = await Promise.all(serversOf(client).map(readOne))
  const limited = all.filter(each => each !== undefined)
  const [fullest] = limited.sort((a, b) => b.usedBytes / b.maxBytes - a.usedBytes / a.maxBytes)
  return fullest
}

const readOne = async (client: Redis): Promise<RedisMemory | undefined> => {
  try {
    const text = String(await command(client, 'info', 'memory'))
    const of = (name: string) => numberIn(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1])
    const [used, max, uncounted = 0] = [of('used_memory'), of('maxmemory'), of('mem_not_counted_for_evict')]
    return used === undefined || !max ? undefined : { usedBytes: Math.max(0, used - uncounted), maxBytes: max }
  } catch (error) {
    if ((error as Error).name === 'ReplyError') return undefined
    throw error
  }
}
