import { integerOf, rangeOf } from './commands-of-keys.ts'
import type { Commands, Keyspace } from './keyspace.ts'
import { RedisError, type Reply, syntaxError } from './reply.ts'
import { type Scored, SortedSet, scoreOf, scoreText } from './sorted-set.ts'

const told = (found: readonly Scored[], withScores: boolean): Reply =>
  found.flatMap(({ member, score }) => (withScores ? [member, scoreText(score)] : [member]))

/** Flags of ZADD exclude each other. */
const checkFlags = (flags: Set<string>): void => {
  const of = (...names: string[]) => names.filter(name => flags.has(name)).length
  if (of('NX', 'XX') > 1) throw new RedisError('ERR XX and NX options at the same time are not compatible')
  if (of('NX', 'LT', 'GT') > 1)
    throw new RedisError('ERR GT, LT, and/or NX options at the same time are not compatible')
}

const zadd = (keys: Keyspace, [key, ...words]: string[]): Reply => {
  const flags = new Set<string>()
  while (/^(NX|XX|LT|GT|CH)$/i.test(words[0] ?? '')) flags.add(words.shift()!.toUpperCase())
  if (words.length === 0 || words.length % 2 !== 0) throw syntaxError()
  checkFlags(flags)
  // What is no score is refused before anything is written.
  const scored = words.flatMap((text, at) => (at % 2 === 0 ? [[words[at + 1]!, scoreOf(text)] as const] : []))
  let [added, changed] = [0, 0]
  const there = keys.get(key!, 'zset')
  const set = there ?? (flags.has('XX') ? undefined : keys.made(key!, 'zset'))
  for (const [member, score] of set ? scored : []) {
    const before = set!.score(member)
    if (before === undefined ? flags.has('XX') : flags.has('NX')) continue
    if (before !== undefined && ((flags.has('LT') && score >= before) || (flags.has('GT') && score <= before))) continue
    if (before === undefined) added++
    else if (before !== score) changed++
    set!.set(member, score)
  }
  return flags.has('CH') ? added + changed : added
}

/** The words behind a range. */
const readFlags = (words: string[], known: readonly string[]) => {
  const flags = new Set<string>()
  let limit: { from: number; count: number } | undefined
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!.toUpperCase()
    if (word === 'LIMIT') limit = { from: integerOf(words[++at]), count: integerOf(words[++at]) }
    else if (known.includes(word)) flags.add(word)
    else throw syntaxError()
  }
  // Below 0: all that there are behind the first.
  const cut = (found: readonly Scored[]) => {
    if (!limit) return found
    return limit.count < 0 ? found.slice(limit.from) : found.slice(limit.from, limit.from + limit.count)
  }
  return { flags, isLimited: limit !== undefined, cut }
}

const zrange = (keys: Keyspace, [key, first, last, ...words]: string[]): Reply => {
  const { flags, isLimited, cut } = readFlags(words, ['REV', 'WITHSCORES', 'BYSCORE'])
  const set = keys.get(key!, 'zset')
  const inOrder = (found: readonly Scored[]) => (flags.has('REV') ? [...found].reverse() : found)
  if (flags.has('BYSCORE')) {
    const [low, high] = flags.has('REV') ? [last!, first!] : [first!, last!]
    return told(cut(inOrder(betweenIn(set, low, high))), flags.has('WITHSCORES'))
  }
  if (isLimited)
    throw new RedisError('ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX')
  const sorted = inOrder(set?.sorted ?? [])
  return told(sorted.slice(...rangeOf(first, last, sorted.length)), flags.has('WITHSCORES'))
}

const zrangebyscore = (keys: Keyspace, [key, low, high, ...words]: string[]): Reply => {
  const { flags, cut } = readFlags(words, ['WITHSCORES'])
  return told(cut(betweenIn(keys.get(key!, 'zset'), low!, high!)), flags.has('WITHSCORES'))
}

/** What is no end of a range is refused, whether there is a set or not. */
const betweenIn = (set: SortedSet | undefined, low: string, high: string): Scored[] =>
  (set ?? new SortedSet()).between(low, high)

const removed = (keys: Keyspace, key: string, members: readonly string[]): number => {
  const set = keys.get(key, 'zset')
  const gone = members.filter(member => set?.delete(member)).length
  keys.dropEmpty(key)
  return gone
}

const zpopmin = (keys: Keyspace, [key, count]: string[]): Reply => {
  const first = (keys.get(key!, 'zset')?.sorted ?? []).slice(0, count === undefined ? 1 : integerOf(count))
  removed(
    keys,
    key!,
    first.map(({ member }) => member),
  )
  return told(first, true)
}

const membersOf = (found: readonly Scored[]): string[] => found.map(({ member }) => member)

const scoreReply = (score: number | undefined): Reply => (score === undefined ? null : scoreText(score))

export const commandsOfSortedSets: Commands = {
  zadd: [3, zadd],
  zcard: [1, (keys, [key]) => keys.get(key!, 'zset')?.size ?? 0],
  zcount: [3, (keys, [key, low, high]) => betweenIn(keys.get(key!, 'zset'), low!, high!).length],
  zscore: [2, (keys, [key, member]) => scoreReply(keys.get(key!, 'zset')?.score(member!))],
  zrank: [
    2,
    (keys, [key, member]) => {
      const place = keys.get(key!, 'zset')?.sorted.findIndex(each => each.member === member) ?? -1
      return place < 0 ? null : place
    },
  ],
  zrange: [3, zrange],
  zrangebyscore: [3, zrangebyscore],
  zrem: [2, (keys, [key, ...members]) => removed(keys, key!, members)],
  zremrangebyscore: [
    3,
    (keys, [key, low, high]) => removed(keys, key!, membersOf(betweenIn(keys.get(key!, 'zset'), low!, high!))),
  ],
  zremrangebyrank: [
    3,
    (keys, [key, first, last]) => {
      const sorted = keys.get(key!, 'zset')?.sorted ?? []
      return removed(keys, key!, membersOf(sorted.slice(...rangeOf(first, last, sorted.length))))
    },
  ],
  zpopmin: [1, zpopmin],
}
