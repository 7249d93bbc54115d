import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { scripts } from '../../src/scripts.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** Users with the rights that PROTOCOL.md lists, and no others. */
const server = useRedis()

const keys = () => queueKeys(server)

describe('the rights that PROTOCOL.md lists', () => {
  /** The two ACL lines of the document, for the test's own namespace. */
  const rights = () => {
    const text = readFileSync(new URL('../../PROTOCOL.md', import.meta.url), 'utf8')
    const lines = [...text.matchAll(/^ACL SETUSER (pshub-\w+) on >secret (.+)$/gm)]
    return new Map(lines.map(([, user, rules]) => [user!, rules!.replaceAll('pshub:', `${server.namespace}:`)]))
  }
  const login = async (user: string) => {
    const rules = rights().get(user)
    expect(rules, `PROTOCOL.md has no ACL line for ${user}`).toBeDefined()
    await server.redis.call('ACL', 'SETUSER', user, 'reset', 'on', '>secret', ...rules!.split(' '))
    return server.url.replace('//', `//${user}:secret@`)
  }

  it('are enough for a Hub and a Worker', async () => {
    const problems: unknown[] = []
    const echo = defineTask('echo:1.0', {}, args => args)
    const worker = await server.worker([echo], { redis: await login('pshub-worker') })
    const hub = server.hub({ redis: await login('pshub-caller') })
    worker.events.on('problem', problem => problems.push(problem))
    hub.events.on('problem', problem => problems.push(problem))
    expect(await server.redis.call('ACL', 'LOG')).toEqual([])
    expect(problems).toEqual([])
    expect(await hub.call('echo', 'x')).toBe('x')
    expect((await hub.overview()).queues).toMatchObject([{ queue: 'q', workers: 1 }])
    // Foreign work, a long result and a hand-back use the rest of the commands.
    expect(await hub.call('echo:1.0', 'x'.repeat(5000))).toHaveLength(5000)
    await server.redis.rpush(keys().calls, '{"at":1,"ttl":0,"id":"f","task":"foreign:1.0"}')
    // So does adopting from a worker that died.
    await server.redis.hset(keys().held('gone'), 'x', '{"at":1,"ttl":1,"id":"x","task":"echo:1.0"}')
    await server.redis.zadd(keys().leases, 1, 'gone')
    await eventually(async () => (await server.redis.zscore(keys().leases, 'gone')) === null)
    await eventually(() => worker.busy === 0)
    await server.redis.del(keys().calls)
    await worker.stop()
    await hub.close()
    expect(problems).toEqual([])
    await server.redis.del(keys().calls, keys().bell)
    const denied = (await server.redis.call('ACL', 'LOG')) as unknown[]
    expect(denied).toEqual([])
  })

  it('keep a caller from claiming and a worker from pushing calls of others', async () => {
    const caller = new Redis(await login('pshub-caller'))
    server.onEnd(() => caller.disconnect())
    const { calls, bell, held, leases } = keys()
    await expect(scripts.claim.run(caller, [calls, bell, held('w'), leases], ['w', 1])).rejects.toThrow(/NOPERM/)
    await expect(caller.hset(`${server.namespace}:tasks`, 'a', 'b')).rejects.toThrow(/NOPERM/)
    await server.redis.call('ACL', 'LOG', 'RESET')
  })
})
