import { describe, expect, it } from 'vitest'
import { defineTask, type HubError } from '../../src/index.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { useRights } from '../support/acl-users.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

/** What the first caller hears of a Redis that does not let it call: what is wrong and what to do, and never a Timeout. */
const server = useRedis()
const rights = useRights(server)

const echo = defineTask('echo:1.0', {}, args => args)

/** The first call of a new hub fails as certainly not sent, within the second that a Redis is waited for. */
const firstCall = async (redis: string, expected: RegExp): Promise<HubError> => {
  const started = performance.now()
  const error = await failure(server.hub({ redis }).call('echo:1.0', 1, { timeoutMs: 5000 }))
  expect(error).toMatchObject({ code: 'NotEnqueued', ran: 'no', message: expect.stringMatching(expected) })
  expect(performance.now() - started).toBeLessThan(1400)
  return error
}

const grantedBy = (error: HubError) => /What grants it: (ACL SETUSER .+)$/.exec(error.message)![1]!.split(' ')

describe('the first call, with', () => {
  it('a wrong password', async () => {
    const url = await rights.user('app', rights.rules('hub'))
    const error = await firstCall(
      url.replace('secret', 'guess'),
      /does not accept this user or password; correct them in/,
    )
    expect(error.message).not.toContain('guess')
    await rights.denied()
  })

  it('no password where one is needed', async () => {
    const locked = await startServer({ args: ['--requirepass', 'secret'] })
    server.onEnd(() => locked.stop())
    await firstCall(locked.url, /Redis wants a password; give it in its URL/)
  })

  it('a user who may not even look: at once, with the command that was refused', async () => {
    const started = performance.now()
    await firstCall(await rights.user('app', '~* +info'), /lacks a right; 'pshub check' names it.*'hstrlen' command/)
    expect(performance.now() - started).toBeLessThan(500)
    await rights.denied()
  })

  it('a user who may look and not push', async () => {
    await server.worker([echo])
    const error = await firstCall(
      await rights.user('app', `${rights.rules('hub')} -rpush`),
      /^The Redis user may not call tasks of queue q: it lacks RPUSH on t\d+:\{q\}:calls, RPUSH on t\d+:\{q\}:bell, RPUSH on t\d+:reply:\{\*\}:read\. What/,
    )
    // What it says is enough to go on.
    const [first, ...words] = grantedBy(error)
    await server.redis.call(first!, ...words)
    const hub = server.hub({ redis: server.url.replace('//', '//app:secret@') })
    expect(await hub.call('echo:1.0', 'granted')).toBe('granted')
    expect(await rights.denied()).toEqual([])
  })

  it('a user who may run no function', async () => {
    await server.worker([echo])
    const rules = `${rights.rules('hub')} -fcall`
    await firstCall(await rights.user('app', rules), /may not call tasks of queue q: it lacks FCALL\. What/)
    await rights.denied()
  })

  it('a user who may push and not read what comes back: nothing is run', async () => {
    const runs: unknown[] = []
    await server.worker([defineTask('echo:1.0', {}, args => runs.push(args))])
    const rules = rights.rules('hub').replaceAll(/~\S+:reply:\S+/g, '')
    await firstCall(await rights.user('app', rules), /it lacks BLMOVE LRANGE LTRIM UNLINK on t\d+:reply:\{\*\}, /)
    expect(runs).toEqual([])
    expect(await rights.denied()).toEqual([])
  })

  it('a replica', async () => {
    await server.worker([echo])
    const replica = await startServer({ args: ['--replicaof', '127.0.0.1', String(server.server.port)] })
    server.onEnd(() => replica.stop())
    const other = server.redis.duplicate({ port: replica.port })
    server.onEnd(() => other.disconnect())
    await eventually(async () => (await other.info('replication')).includes('master_link_status:up'), 15_000)
    await eventually(() => other.hexists(`${server.namespace}:tasks`, 'echo:1.0'))
    await firstCall(replica.url, /for \d+ ms: this server is a replica, which refuses writes; connect to its master/)
  }, 30_000)

  it('a server that does not tell its version: it is called', async () => {
    const url = await rights.user('app', `${rights.rules('hub')} -info`)
    await server.worker([echo])
    expect(await server.hub({ redis: url }).call('echo:1.0', 'fine')).toBe('fine')
    expect(await rights.denied()).toEqual(expect.arrayContaining(['app command info']))
  })
})

describe('a hub that called before', () => {
  it('is told of a right that it lost, by the refusal of the push', async () => {
    await server.worker([echo])
    const hub = server.hub({ redis: await rights.user('app', rights.rules('hub')) })
    await hub.call('echo:1.0')
    await server.redis.call('ACL', 'SETUSER', 'app', '-rpush')
    expect(await failure(hub.call('echo:1.0'))).toMatchObject({
      code: 'NotEnqueued',
      message: expect.stringMatching(
        /^Redis refused the request: the Redis user lacks a right; 'pshub check' names it/,
      ),
    })
    await rights.denied()
  })

  it('is told that its password was changed, and comes back by itself when it is right again', async () => {
    await server.worker([echo])
    const hub = server.hub({ redis: await rights.user('app', rights.rules('hub')) })
    await hub.call('echo:1.0')
    const downs: string[] = []
    hub.events.on('redis:down', ({ role, reason }) => role === 'hub commands' && downs.push(reason))
    await server.redis.call('ACL', 'SETUSER', 'app', 'resetpass', '>other')
    await server.redis.call('CLIENT', 'KILL', 'USER', 'app')
    await eventually(() => downs.some(reason => reason.startsWith('WRONGPASS')))
    expect(downs.length).toBeLessThanOrEqual(2)
    expect(await failure(hub.call('echo:1.0', 1, { timeoutMs: 4000 }))).toMatchObject({
      code: 'NotEnqueued',
      message: expect.stringMatching(/does not accept this user or password/),
    })
    await server.redis.call('ACL', 'SETUSER', 'app', '>secret')
    await eventually(async () => (await hub.call('echo:1.0', 'back').catch(() => 0)) === 'back')
    await rights.denied()
  })

  it('reads the overview or is told why not', async () => {
    await server.worker([echo])
    const hub = server.hub({ redis: await rights.user('app', rights.rules('hub')) })
    expect(await failure(hub.overview())).toMatchObject({
      name: 'HubError',
      code: 'NotEnqueued',
      message: expect.stringMatching(/^The registry could not be read: the Redis user lacks a right/),
    })
    await rights.denied()
  })
})
