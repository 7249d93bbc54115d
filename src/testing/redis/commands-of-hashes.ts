import { integerOf } from './commands-of-keys.ts'
import type { Commands, Keyspace } from './keyspace.ts'
import { ok, RedisError, type Reply } from './reply.ts'

const setFields = (keys: Keyspace, [key, ...words]: string[]): number => {
  if (words.length % 2 !== 0) throw new RedisError("ERR wrong number of arguments for 'hset' command")
  const hash = keys.made(key!, 'hash')
  const before = hash.size
  for (let at = 0; at < words.length; at += 2) hash.set(words[at]!, words[at + 1]!)
  return hash.size - before
}

const hdel = (keys: Keyspace, [key, ...fields]: string[]): Reply => {
  const hash = keys.get(key!, 'hash')
  const gone = fields.filter(field => hash?.delete(field)).length
  keys.dropEmpty(key!)
  return gone
}

const hincrby = (keys: Keyspace, [key, field, by]: string[]): Reply => {
  const step = integerOf(by)
  const before = keys.get(key!, 'hash')?.get(field!) ?? '0'
  if (!/^-?\d{1,19}$/.test(before)) throw new RedisError('ERR hash value is not an integer')
  const now = Number(before) + step
  keys.made(key!, 'hash').set(field!, String(now))
  return now
}

const hsetnx = (keys: Keyspace, [key, field, text]: string[]): Reply => {
  if (keys.get(key!, 'hash')?.has(field!)) return 0
  return setFields(keys, [key!, field!, text!])
}

/** Without a count one, with one so many different ones. The first ones are as random as any. */
const hrandfield = (keys: Keyspace, [key, count]: string[]): Reply => {
  const fields = [...(keys.get(key!, 'hash')?.keys() ?? [])]
  return count === undefined ? (fields[0] ?? null) : fields.slice(0, Math.abs(integerOf(count)))
}

export const commandsOfHashes: Commands = {
  hset: [3, setFields],
  hmset: [
    3,
    (keys, words) => {
      setFields(keys, words)
      return ok
    },
  ],
  hsetnx: [3, hsetnx],
  hget: [2, (keys, [key, field]) => keys.get(key!, 'hash')?.get(field!) ?? null],
  hmget: [
    2,
    (keys, [key, ...fields]) => {
      const hash = keys.get(key!, 'hash')
      return fields.map(field => hash?.get(field) ?? null)
    },
  ],
  hgetall: [1, (keys, [key]) => [...(keys.get(key!, 'hash') ?? [])].flat()],
  hkeys: [1, (keys, [key]) => [...(keys.get(key!, 'hash')?.keys() ?? [])]],
  hvals: [1, (keys, [key]) => [...(keys.get(key!, 'hash')?.values() ?? [])]],
  hlen: [1, (keys, [key]) => keys.get(key!, 'hash')?.size ?? 0],
  hstrlen: [2, (keys, [key, field]) => keys.get(key!, 'hash')?.get(field!)?.length ?? 0],
  hexists: [2, (keys, [key, field]) => (keys.get(key!, 'hash')?.has(field!) ? 1 : 0)],
  hdel: [2, hdel],
  hincrby: [3, hincrby],
  hrandfield: [1, hrandfield],
}
