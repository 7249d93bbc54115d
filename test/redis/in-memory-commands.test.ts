import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { libraryText } from '../../src/redis/library.ts'
import { roles, usesOf } from '../../src/redis/rights.ts'
import { Line } from '../../src/testing/redis/connector.ts'
import { MemoryRedis } from '../../src/testing/redis/server.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { startServer } from '../../tools/redis-server.mjs'

/*
 * The commands of the Redis in memory against those of a real one: the same words, one answer. pshub's functions run on both from the same text, so
 * what differs can only differ here.
 */

let server: Awaited<ReturnType<typeof startServer>>
let real: Redis
/** Over a connection, as hubs and workers have one. */
let memory: Redis

beforeAll(async () => {
  server = await startServer()
  real = new Redis(server.url, { protocol: 2 } as never)
  memory = new Redis(new Line(await MemoryRedis.open()).target as never)
})
afterAll(async () => {
  real.disconnect()
  memory.disconnect()
  await server.stop()
})

const answer = (redis: Redis, words: string[]): Promise<unknown> =>
  redis.call(words[0]!, ...words.slice(1)).catch(error => ({ error: String(error.message) }))

/** Where no order is promised. */
const unordered = new Set(['keys', 'smembers', 'hgetall', 'hkeys', 'hvals'])
const comparable = (name: string, said: unknown): unknown =>
  unordered.has(name) && Array.isArray(said) ? [...said].map(String).sort() : said

const names = ['a', 'ö'] as const
const key = fc.constantFrom(...names)
const word = fc.constantFrom('x', 'y', '世界', '', '7')
const place = fc.constantFrom('0', '1', '2', '-1', '-2', '5', '-9')
const score = fc.constantFrom('1', '2', '-5', '1.5', '+inf', '-inf', '1795220163659000')
const end = fc.oneof(score, fc.constantFrom('(1', '(2', '(+inf', '(-inf'))
const some = (each: fc.Arbitrary<string>, most = 3) => fc.array(each, { minLength: 1, maxLength: most })
const maybe = (...words: string[]) => fc.subarray(words)
const limit = fc.oneof(
  fc.constant([]),
  fc.tuple(fc.constantFrom('0', '1', '3'), fc.constantFrom('1', '2', '-1')).map(each => ['LIMIT', ...each]),
)
const line = (name: string, ...parts: fc.Arbitrary<string | readonly string[]>[]) =>
  fc.tuple(...parts).map(words => [name, ...words.flat()])

/** By what they are about. */
const ofTexts = fc.oneof(
  line('get', key),
  line('mget', some(key)),
  line(
    'set',
    key,
    word,
    fc.constantFrom(
      [],
      ['NX'],
      ['XX'],
      ['GET'],
      ['NX', 'GET'],
      ['PX', '50000'],
      ['KEEPTTL'],
      ['NX', 'XX'],
      ['PX', '0'],
      ['BAD'],
    ),
  ),
  line('getex', key, fc.constantFrom([], ['PX', '50000'], ['PERSIST'], ['PXAT', '1'])),
  line('getrange', key, place, place),
  line('del', some(key)),
  line('unlink', some(key)),
  line('exists', some(key)),
  line('persist', key),
  line('pexpire', key, fc.constantFrom('90000', '-1')),
  line('type', key),
  line('keys', fc.constantFrom('*', 'a*', '?', 'x')),
  line('sadd', key, some(word)),
  line('smembers', key),
)
const ofLists = fc.oneof(
  line('lpush', key, some(word)),
  line('rpush', key, some(word)),
  line('lpop', key, fc.constantFrom([], ['2'], ['0'])),
  line('llen', key),
  line('lindex', key, place),
  line('lrange', key, place, place),
  line('ltrim', key, place, place),
  line('lrem', key, fc.constantFrom('0', '1', '-1', '2', '-2'), word),
  line('lpos', key, word),
)
const ofHashes = fc.oneof(
  line('hset', key, fc.tuple(word, word, word, word)),
  line('hset', key, word, word, word),
  line('hsetnx', key, word, word),
  line('hget', key, word),
  line('hmget', key, some(word)),
  line('hgetall', key),
  line('hkeys', key),
  line('hvals', key),
  line('hlen', key),
  line('hstrlen', key, word),
  line('hexists', key, word),
  line('hdel', key, some(word)),
  line('hincrby', key, word, fc.constantFrom('1', '-2')),
)
const zadd = line(
  'zadd',
  key,
  fc.constantFrom([], ['NX'], ['XX'], ['LT'], ['GT'], ['CH'], ['XX', 'GT'], ['NX', 'LT'], ['NX', 'XX']),
  score,
  word,
)
const ofSortedSets = fc.oneof(
  // What they all look at.
  ...[zadd, zadd, zadd, zadd],
  line('zadd', key, score, word, score, word),
  line('zcard', key),
  line('zscore', key, word),
  line('zrank', key, word),
  line('zcount', key, end, end),
  line('zrange', key, place, place, maybe('REV', 'WITHSCORES')),
  line('zrange', key, end, end, fc.constant(['BYSCORE']), maybe('REV', 'WITHSCORES'), limit),
  line('zrangebyscore', key, end, end, maybe('WITHSCORES'), limit),
  line('zrem', key, some(word)),
  line('zremrangebyscore', key, end, end),
  line('zremrangebyrank', key, place, place),
  line('zpopmin', key, fc.constantFrom([], ['2'])),
)
const any = fc.oneof(ofTexts, ofLists, ofHashes, ofSortedSets)
/** Mostly of one kind, so that they find what the ones before left, and now and then of another. */
const lines = (kind: typeof any) =>
  fc.array(fc.oneof({ arbitrary: kind, weight: 12 }, { arbitrary: any, weight: 1 }), { minLength: 30, maxLength: 60 })

/** What is there at the end, of whatever kind: to the others all answer that it is not theirs. */
const lookAtAll = names.flatMap(name => [
  ['get', name],
  ['lrange', name, '0', '-1'],
  ['hgetall', name],
  ['smembers', name],
  ['zrange', name, '0', '-1', 'WITHSCORES'],
])

describe('a command of the Redis in memory', () => {
  it.each([
    ['texts', ofTexts],
    ['lists', ofLists],
    ['hashes', ofHashes],
    ['sorted sets', ofSortedSets],
  ])(
    'about %s answers as one of a real Redis does, whatever was done before',
    { timeout: 120_000 },
    async (_, kind) => {
      await fc.assert(
        fc.asyncProperty(lines(kind), async sent => {
          await Promise.all([real.flushall(), memory.flushall()])
          for (const words of [...sent, ...lookAtAll]) {
            const name = words[0]!
            const expected = comparable(name, await answer(real, words))
            expect(comparable(name, await answer(memory, words)), words.join(' ')).toEqual(expected)
          }
        }),
        { numRuns: 20 },
      )
    },
  )

  it('that waits answers as one of a real Redis does', async () => {
    await Promise.all([real.flushall(), memory.flushall()])
    const sent = [
      ['blpop', 'a', 'ö', '0.001'],
      ['rpush', 'ö', 'x', 'y', 'z'],
      ['blpop', 'a', 'ö', '0.001'],
      ['blmove', 'ö', 'a', 'LEFT', 'RIGHT', '0.001'],
      ['blmove', 'ö', 'ö', 'RIGHT', 'LEFT', '0.001'],
      ['blmove', 'none', 'a', 'LEFT', 'LEFT', '0.001'],
      ['set', 'text', 'x'],
      ['blpop', 'text', '0.001'],
      ['blmove', 'a', 'text', 'LEFT', 'LEFT', '0.001'],
    ]
    for (const words of [...sent, ...lookAtAll])
      expect(await answer(memory, words), words.join(' ')).toEqual(await answer(real, words))
  })

  it('is there for all that pshub sends, in every role, but those of a Cluster', async () => {
    const sent = new Set(roles.flatMap(role => usesOf(role, makeKeys('n'), 'q', 'id').flatMap(use => use.commands)))
    const unknown: string[] = []
    for (const name of sent) {
      const said = await answer(memory, name.toLowerCase().split('|'))
      if (/unknown|disabled/.test((said as { error?: string } | null)?.error ?? '')) unknown.push(name)
    }
    expect(unknown).toEqual(['CLUSTER|SLOTS'])
  })
})

describe("pshub's functions in memory", () => {
  it('are the text that a real Redis loads', async () => {
    const words = ['function', 'load', libraryText()]
    expect(await answer(memory, words)).toBe(await answer(real, words))
    expect(await answer(memory, words)).toEqual(await answer(real, words))
  })

  it.each([
    ['numbers longer than 32 bits', "return string.format('%d %s %5d|%05d|%i', 1795220163659000, 'x', 7, -7, '12')"],
    ['numbers as text', "return { tostring(1795220163659), 1e15 .. '', 2 / 3 .. '', 10 / 2 .. '', -0.5 .. '' }"],
    ['numbers in commands', "redis.call('SET', 'n', 1795220163659) return redis.call('GET', 'n')"],
    ['a fraction that is returned', 'return { 2.9, -2.9, true, false, 3 }'],
    [
      'JSON',
      `local read = cjson.decode('{"a":[1,2.5,null,{}],"b":"\\\\u00e4 a/b \\\\\\\\ \\\\" \\\\n"}')
      return { cjson.encode(read.b), cjson.encode(read.a[2]), cjson.encode({ 'x', 1 }), cjson.encode({}), tostring(read.a[3] == cjson.null) }`,
    ],
    ['what is no JSON', "return tostring(pcall(cjson.decode, '{nonsense'))"],
    ['an error that is caught', "redis.call('SET', 's', 'x') local said = redis.pcall('LLEN', 's') return said.err"],
    ['an error that is returned', "return redis.error_reply('ERR no such thing')"],
    ['patterns', "return { string.match('pshub:{q}:jobs', '{(.-)}'), (string.gsub('a.b', '%.', '%%')) }"],
    ['nothing', 'return nil'],
  ])('have %s as in a real Redis', async (_, body) => {
    const library = `#!lua name=probe\nredis.register_function('probe', function(KEYS, ARGV) ${body} end)`
    const load = ['function', 'load', 'REPLACE', library]
    await Promise.all([answer(real, load), answer(memory, load)])
    expect(await answer(memory, ['fcall', 'probe', '0'])).toEqual(await answer(real, ['fcall', 'probe', '0']))
  })
})
