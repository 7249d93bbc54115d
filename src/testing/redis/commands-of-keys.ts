import type { Commands, Keyspace } from './keyspace.ts'
import { ok, RedisError, type Reply, syntaxError } from './reply.ts'

/** @throws RedisError */
export const integerOf = (text: string | undefined): number => {
  if (text === undefined || !/^-?\d{1,19}$/.test(text))
    throw new RedisError('ERR value is not an integer or out of range')
  return Number(text)
}

/** Places of a range as Redis counts them: -1 is the last one. */
export const rangeOf = (first: string | undefined, last: string | undefined, length: number): [number, number] => {
  const from = integerOf(first)
  const to = integerOf(last)
  return [Math.max(0, from < 0 ? length + from : from), Math.max(0, Math.min(length, (to < 0 ? length + to : to) + 1))]
}

/** What follows is a duration, or a time since 1970; so many milliseconds long is each one of it. */
const durations: Record<string, number> = { EX: 1000, PX: 1 }
const times: Record<string, number> = { EXAT: 1000, PXAT: 1 }

/** The words behind SET and GETEX. */
const optionsOf = (words: string[], flags: readonly string[], command: string, nowMs: number) => {
  const given = new Set<string>()
  let endMs: number | undefined
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!.toUpperCase()
    const unit = durations[word] ?? times[word]
    if (unit !== undefined) {
      const ms = integerOf(words[++at]) * unit
      if (ms <= 0) throw new RedisError(`ERR invalid expire time in '${command}' command`)
      endMs = word in times ? ms : nowMs + ms
    } else if (flags.includes(word)) given.add(word)
    else throw syntaxError()
  }
  if (given.has('NX') && given.has('XX')) throw syntaxError()
  return { given, endMs }
}

const set = (keys: Keyspace, [key, text, ...words]: string[]): Reply => {
  const { given, endMs } = optionsOf(words, ['NX', 'XX', 'GET', 'KEEPTTL'], 'set', keys.nowMs())
  const isThere = keys.kindOf(key!) !== 'none'
  const before = given.has('GET') ? (keys.get(key!, 'string')?.text ?? null) : ok
  if ((given.has('NX') && isThere) || (given.has('XX') && !isThere)) return given.has('GET') ? before : null
  const end = given.has('KEEPTTL') ? keys.endOf(key!) : undefined
  keys.delete(key!)
  keys.made(key!, 'string').text = text!
  keys.expire(key!, endMs ?? end)
  return before
}

const getex = (keys: Keyspace, [key, ...words]: string[]): Reply => {
  const { given, endMs } = optionsOf(words, ['PERSIST'], 'getex', keys.nowMs())
  const there = keys.get(key!, 'string')
  if (!there) return null
  if (endMs !== undefined) keys.expire(key!, endMs)
  if (given.has('PERSIST')) keys.expire(key!, undefined)
  return there.text
}

const remove = (keys: Keyspace, names: string[]): Reply => names.filter(name => keys.delete(name)).length

const pexpire = (keys: Keyspace, [key, ms]: string[]): Reply => {
  if (!keys.expire(key!, keys.nowMs() + integerOf(ms))) return 0
  return 1
}

/** -2: there is none; -1: it stays. */
const pttl = (keys: Keyspace, [key]: string[]): Reply => {
  if (keys.kindOf(key!) === 'none') return -2
  const end = keys.endOf(key!)
  return end === undefined ? -1 : Math.ceil(end - keys.nowMs())
}

const persist = (keys: Keyspace, [key]: string[]): Reply => {
  const hadEnd = keys.endOf(key!) !== undefined
  if (hadEnd) keys.expire(key!, undefined)
  return hadEnd ? 1 : 0
}

/** A pattern with *, ? and character classes, as KEYS and SCAN take it. */
const matching = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern.replaceAll(/\\(.)|([.+^${}()|/\\])|(\*)|(\?)/gs, (_, escaped, special, star, one) =>
      star ? '.*' : one ? '.' : `\\${escaped ?? special}`,
    )}$`,
    's',
  )

const named = (keys: Keyspace, pattern: string | undefined): string[] => {
  const isMeant = matching(pattern ?? '*')
  return keys.names().filter(name => isMeant.test(name))
}

/** All at once: the next cursor is the end. */
const scan = (keys: Keyspace, [cursor, ...words]: string[]): Reply => {
  integerOf(cursor)
  const options = new Map<string, string>()
  for (let at = 0; at < words.length; at += 2) options.set(words[at]!.toUpperCase(), words[at + 1] ?? '')
  const kind = options.get('TYPE')
  const found = named(keys, options.get('MATCH')).filter(name => kind === undefined || keys.kindOf(name) === kind)
  return ['0', found]
}

/** Unlike that of a list, a range of a text that ends before its first character has that one. */
const getrange = (keys: Keyspace, [key, first, last]: string[]): Reply => {
  const text = keys.get(key!, 'string')?.text ?? ''
  const [from, to] = [integerOf(first), integerOf(last)]
  if (from < 0 && to < 0 && from > to) return ''
  const start = Math.max(0, from < 0 ? text.length + from : from)
  return text.slice(start, Math.max(0, to < 0 ? text.length + to : to) + 1)
}

/** Of any key, and of those with a text. */
export const commandsOfKeys: Commands = {
  get: [1, (keys, [key]) => keys.get(key!, 'string')?.text ?? null],
  // What is no text is nothing to it.
  mget: [
    1,
    (keys, names) => names.map(name => (keys.kindOf(name) === 'string' ? keys.get(name, 'string')!.text : null)),
  ],
  set: [2, set],
  getex: [1, getex],
  getrange: [3, getrange],
  del: [1, remove],
  unlink: [1, remove],
  exists: [1, (keys, names) => names.filter(name => keys.kindOf(name) !== 'none').length],
  pexpire: [2, pexpire],
  pttl: [1, pttl],
  persist: [1, persist],
  type: [1, (keys, [key]) => ({ ok: keys.kindOf(key!) })],
  keys: [1, (keys, [pattern]) => named(keys, pattern)],
  scan: [1, scan],
  dbsize: [0, keys => keys.names().length],
  flushall: [
    0,
    keys => {
      keys.clear()
      return ok
    },
  ],
  sadd: [
    2,
    (keys, [key, ...members]) => {
      const there = keys.made(key!, 'set')
      const before = there.size
      for (const member of members) there.add(member)
      return there.size - before
    },
  ],
  smembers: [1, (keys, [key]) => [...(keys.get(key!, 'set') ?? [])]],
}
