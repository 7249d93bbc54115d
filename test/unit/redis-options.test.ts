import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Hub, Worker } from '../../src/index.ts'
import { checkTarget, clientOptions, knownOptions } from '../../src/redis/target.ts'

const declared = (file: string): string =>
  readFileSync(new URL(`../../node_modules/ioredis/built/${file}.d.ts`, import.meta.url), 'utf8')

/** The members of an interface, or of what it picks from Node's options. */
const membersOf = (file: string, name: string): string[] => {
  const text = declared(file)
  const body = text.split(`interface ${name} `)[1]?.split('\n}\n')[0] ?? ''
  return [...body.matchAll(/^ {4}(\w+)\??: /gm)].map(([, member]) => member!)
}

const standalone = () => {
  const text = declared('connectors/StandaloneConnector')
  const picked = [...text.matchAll(/Pick<\w+, ([^>]+)>/g)].flatMap(([, names]) => names!.match(/\w+/g)!)
  const own = [...text.split('StandaloneConnectionOptions = ')[1]!.matchAll(/^ {4}(\w+)\?: /gm)].map(
    ([, name]) => name!,
  )
  return [...picked, ...own]
}

describe('the options of ioredis', () => {
  it('are all decided about: those that its own types name', () => {
    const known = new Set([
      ...membersOf('redis/RedisOptions', 'CommonRedisOptions extends CommanderOptions'),
      ...membersOf('utils/Commander', 'CommanderOptions'),
      ...membersOf('connectors/SentinelConnector/index', 'SentinelConnectionOptions'),
      ...standalone(),
    ])
    expect(known.size).toBeGreaterThan(50)
    expect(knownOptions.toSorted()).toEqual([...known].sort())
  })

  it.each([
    ['keyPrefix', 'app:', /'namespace'/],
    ['stringNumbers', true, /numbers/],
    ['db', 3, /database 0/],
    ['readOnly', true, /master/],
    ['role', 'slave', /master/],
    ['preferredSlaves', [{ ip: 'a', port: '1' }], /master/],
    ['monitor', true, /monitoring/],
    ['commandTimeout', 500, /timeoutMs/],
    ['blockingTimeout', 500, /timeoutMs/],
    ['blockingTimeoutGrace', 500, /timeoutMs/],
    ['socketTimeout', 500, /timeoutMs/],
    ['keyprefix', 'app:', /not a known option of ioredis/],
    ['constructor', 'app:', /not a known option of ioredis/],
  ])('are refused where they would change what is written or read, with a reason: %s', (name, value, why) => {
    const refused = expect.objectContaining({ name: 'ConfigError', message: expect.stringMatching(why) })
    const sentence = expect.objectContaining({ message: expect.stringMatching(/^redis\.\w+ [^.]+\.$/) })
    const refusalOf = (redis: unknown): unknown => {
      for (const make of [
        () => new Hub({ redis: redis as string }),
        () => new Worker({ redis: redis as string, tasks: [] }),
      ])
        try {
          make()
        } catch (error) {
          return error
        }
      return undefined
    }
    expect(refusalOf({ [name]: value })).toEqual(refused)
    expect(refusalOf({ [name]: value })).toEqual(sentence)
    expect(refusalOf(`redis://host/0?family=4&${name}=${value}`)).toMatchObject({
      message: expect.stringMatching(/^option 'redis' (has an unsupported option after \?|must not name a database)/),
    })
  })

  it('that a URL cannot hold are refused in one', () => {
    for (const name of ['sentinels', 'natMap', 'keepAlive', 'updateSentinels'])
      expect(() => checkTarget(`redis://host?${name}=1`)).toThrow(/it may have .*family, tls, and an object/)
    const url = 'rediss://user:p%3Fw@host:1/0?family=6&db=0&tls=RedisCloudFixed'
    expect(clientOptions(url, 'name')).toMatchObject({ host: 'host', port: 1, family: 6, tls: 'RedisCloudFixed' })
  })

  it('are refused only for what they change', () => {
    const same = {
      keyPrefix: '',
      stringNumbers: false,
      db: 0,
      readOnly: false,
      role: 'master',
      socketTimeout: undefined,
    }
    expect(() => checkTarget(same)).not.toThrow()
  })

  it('that keep calls safe count, whatever was given', () => {
    const given = { host: 'h', retryStrategy: () => 5, enableAutoPipelining: true, connectTimeout: 60_000, scripts: {} }
    const options = clientOptions(given, 'name')
    expect(options).toMatchObject({ host: 'h', retryStrategy: null, enableAutoPipelining: false, connectTimeout: 2000 })
    expect(options.connectionName).toBe('name')
    // A worker's thread gets a copy.
    expect(structuredClone(options)).toEqual(options)
  })

  it('turn with each try the sentinels, so that another one is asked first', () => {
    const sentinels = ['a', 'b', 'c'].map(host => ({ host }))
    const orders = [0, 1, 2, 3].map(turn => clientOptions({ name: 'm', sentinels }, 'n', turn).sentinels)
    expect(orders.map(order => order?.map(({ host }) => host).join(''))).toEqual(['abc', 'bca', 'cab', 'abc'])
  })
})
