import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { ConfigError, defineTask, type EventMap, Worker, type WorkerOptions } from '../../src/index.ts'
import { findUnfit } from '../../src/redis/boot-check.ts'
import { Connection } from '../../src/redis/connection.ts'
import { type Role, roles } from '../../src/redis/rights.ts'
import { missingRights } from '../../src/redis/rights-check.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { Inspect } from '../../src/worker/roles/inspect.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { useRights } from '../support/acl-users.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

/** What a worker does where it may not, or should not, serve. */
const server = useRedis()
const rights = useRights(server)

const echo = defineTask('echo:1.0', {}, args => args)
const policy = (value: string) => server.redis.config('SET', 'maxmemory-policy', value)

/** Asks as a user of these rules. */
const asking = async (rules: string) => {
  const client = server.redis.duplicate({ ...(await login(rules)), enableReadyCheck: false, disableClientInfo: true })
  server.onEnd(() => client.disconnect())
  return client
}
const login = async (rules: string) => {
  await rights.user('app', rules)
  return { username: 'app', password: 'secret' }
}

const asksByItself = (role: Role) => role === 'view' || role === 'admin' || role === 'registry'

describe('the look at rights', () => {
  it.each(roles)('finds nothing missing for a %s with what it needs, asking without a trace', async role => {
    const client = await asking(rights.rules(role))
    expect(await missingRights(client, role, makeKeys(server.namespace), 'q')).toBeUndefined()
    const denied = await rights.denied()
    expect(denied).toEqual(asksByItself(role) ? ['app command fcall'] : [])
  })
})

describe('a worker', () => {
  /** The place of a server that is not there yet: a socket of its own, where nobody else can come to be before it. */
  const place = () => {
    const dir = mkdtempSync(join(tmpdir(), 'pshub-unfit-'))
    server.onEnd(() => rmSync(dir, { recursive: true }))
    return join(dir, 'redis')
  }
  const make = (redis: WorkerOptions['redis']) => {
    const worker = new Worker({
      redis: redis!,
      namespace: server.namespace,
      queue: 'q',
      logLevel: 'silent',
      tasks: [echo],
    })
    server.onEnd(() => worker.stop({ graceMs: 100 }))
    const problems: EventMap['problem'][] = []
    worker.events.on('problem', problem => problems.push(problem))
    return { worker, problems }
  }

  it('does not start without a right that it needs, and says which', async () => {
    const { worker } = make(await rights.user('app', `${rights.rules('worker')} -lpop`))
    const refused = worker.start()
    await expect(refused).rejects.toThrow(ConfigError)
    await expect(refused).rejects.toThrow(
      /^This Redis cannot be used: this user may not serve a queue: it lacks LPOP on \S+:\{q\}:calls, LPOP on \S+:\{q\}:jobs, .*\. To grant it: ACL/,
    )
    expect(await server.keys()).toEqual([])
  })

  it('starts without a right that it only should have', async () => {
    const { worker, problems } = make(await rights.user('app', `${rights.rules('worker')} -info`))
    await worker.start()
    expect(await server.hub().call('echo:1.0', 1)).toBe(1)
    expect(problems).toEqual([])
    await rights.denied()
  })

  it('for which Redis came late looks then: it serves nothing until the server is fit, and says why once', async () => {
    const path = place()
    const { worker, problems } = make({ path })
    await worker.start()
    const late = await startServer({ args: ['--unixsocket', path, '--maxmemory-policy', 'allkeys-lru'] })
    server.onEnd(() => late.stop())
    const redis = server.redis.duplicate({ port: late.port })
    server.onEnd(() => redis.disconnect())
    await eventually(() => problems.length > 0)
    // It looks with INFO, as this does.
    const asked = async () => Number(/cmdstat_info:calls=(\d+)/.exec(await redis.info('commandstats'))![1])
    const before = await asked()
    let own = 0
    await eventually(async () => (await asked()) - before - ++own > 1)
    expect(problems).toEqual([
      { where: 'redis', reason: expect.stringMatching(/^This Redis cannot be used: maxmemory-policy is allkeys-lru/) },
    ])
    expect(await redis.keys('*')).toEqual([])
    await redis.config('SET', 'maxmemory-policy', 'noeviction')
    await eventually(
      async () =>
        (await server
          .hub({ redis: late.url })
          .call('echo:1.0', 'fit')
          .catch(() => 0)) === 'fit',
    )
    expect(problems).toHaveLength(1)
  })

  it('that is stopped before Redis was fit leaves nothing and complains of nothing more', async () => {
    const path = place()
    const { worker, problems } = make({ path, username: 'app', password: 'secret' })
    await worker.start()
    const late = await startServer({ args: ['--unixsocket', path] })
    server.onEnd(() => late.stop())
    const redis = server.redis.duplicate({ port: late.port })
    server.onEnd(() => redis.disconnect())
    await redis.call(
      'ACL',
      'SETUSER',
      'app',
      'reset',
      'on',
      '>secret',
      '~*',
      '+info',
      '+client',
      '+fcall',
      '+function|load',
    )
    await eventually(() => problems.length > 0)
    await worker.stop()
    expect(problems).toMatchObject([{ where: 'redis', reason: expect.stringMatching(/it lacks TIME, /) }])
    expect(await redis.keys('*')).toEqual([])
  })
})

describe('while a worker serves', () => {
  it('it goes on looking', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
    server.onEnd(() => vi.useRealTimers())
    const worker = await server.worker([echo])
    const problems: string[] = []
    worker.events.on('problem', ({ reason }) => problems.push(reason))
    server.onEnd(() => server.redis.config('SET', 'maxmemory-policy', 'noeviction'))
    await server.redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    vi.advanceTimersByTime(60_000)
    await eventually(() => problems.some(reason => reason.includes('maxmemory-policy')))
  })

  it('a change of the server is told once, and once more when it comes again', async () => {
    const connection = new Connection({ target: server.url, name: 'inspect', stallMs: 2000 })
    server.onEnd(() => connection.close())
    connection.open()
    await connection.whenReady()
    const told: string[] = []
    let looks = 0
    const inspect = new Inspect({
      connection,
      everyMs: 10,
      findUnfit: async client => {
        const reasons = await findUnfit(client, [{ role: 'worker', keys: makeKeys(server.namespace), queue: 'q' }])
        looks++
        return reasons
      },
      onUnfit: reasons => told.push(...reasons),
    })
    const watch = inspect.watch()
    server.onEnd(() => policy('noeviction'))
    const someLooks = async () => {
      const until = looks + 3
      await eventually(() => looks >= until)
    }
    const evicting = (name: string) => expect.stringMatching(new RegExp(`^maxmemory-policy is ${name}: `))
    await someLooks()
    expect(told).toEqual([])
    await policy('allkeys-lru')
    await someLooks()
    await policy('volatile-ttl')
    await someLooks()
    await policy('noeviction')
    await someLooks()
    await policy('allkeys-lru')
    await someLooks()
    expect(told).toEqual([evicting('allkeys-lru'), evicting('volatile-ttl'), evicting('allkeys-lru')])
    inspect.stop()
    await watch
  })
})
