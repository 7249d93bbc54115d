import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { install, libraryRevision, libraryText, run } from '../../src/redis/library.ts'
import { useRights } from '../support/acl-users.ts'
import { delay } from '../support/delay.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const server = useRedis()
const rights = useRights(server)

const echo = defineTask('echo:1.0', { idempotent: true }, args => args)
const flush = () => server.redis.function('FLUSH')
const revision = () => run(server.redis, 'revision', [], [])
/** The library as another version of pshub would have it. */
const ofRevision = (number: number) =>
  libraryText().replace(`local revision = ${libraryRevision}`, `local revision = ${number}`)

describe('the library', () => {
  it('has another revision than the one that was published with other functions', () => {
    // Changed after it was published? Raise libraryRevision. Else write the new digest here.
    const digest = createHash('sha256').update(libraryText()).digest('hex').slice(0, 12)
    expect([libraryRevision, digest]).toEqual([7, 'b571949ac672'])
  })

  it('is loaded where it is missing, and left alone where it is there', async () => {
    await flush()
    expect(await install(server.redis)).toEqual({
      revision: libraryRevision,
      isFit: true,
      isNew: true,
      refusal: undefined,
    })
    expect(await install(server.redis)).toMatchObject({ isFit: true, isNew: false })
  })

  it('replaces an older one, and never a newer one', async () => {
    await server.redis.function('LOAD', 'REPLACE', ofRevision(0))
    expect(await install(server.redis)).toMatchObject({ revision: libraryRevision, isNew: true })
    await server.redis.function('LOAD', 'REPLACE', ofRevision(libraryRevision + 1))
    expect(await install(server.redis)).toMatchObject({ revision: libraryRevision + 1, isFit: true, isNew: false })
    expect(await revision()).toBe(libraryRevision + 1)
    await flush()
  })

  it('is not loaded into a full Redis, and says so', async () => {
    await flush()
    await server.redis.config('SET', 'maxmemory', 1)
    const found = await install(server.redis)
    await server.redis.config('SET', 'maxmemory', 0)
    expect(found).toMatchObject({ revision: undefined, isFit: false })
    expect(found.refusal?.message).toMatch(/^OOM/)
  })

  it('runs on a full Redis what empties it, and refuses what fills it', async () => {
    const client = server.redis
    const key = `${server.namespace}:reply:{h}`
    await install(client)
    await client.config('SET', 'maxmemory', 1)
    const replied = await run(client, 'reply', [key], [60_000, 'a'])
    const pushed = await failure(run(client, 'push', ['{q}c', '{q}b', '{q}p'], [1, 60_000, 10, 0, '"ttl":0}']))
    await client.config('SET', 'maxmemory', 0)
    expect(replied).toBe(1)
    expect(pushed.message).toMatch(/^OOM/)
    expect(await client.exists('{q}c', '{q}p')).toBe(0)
    await client.del(key)
  })
})

describe('where the library is gone', () => {
  it('calls that are under way go on, and none is lost or run twice', async () => {
    const runs = new Map<unknown, number>()
    const count = defineTask('count:1.0', {}, async n => {
      runs.set(n, (runs.get(n) ?? 0) + 1)
      await delay(2, 'so that the library goes while calls run')
      return n
    })
    await server.worker([count], { slots: 8 })
    const hub = server.hub()
    for (let round = 0; round < 20; round++) {
      const numbers = Array.from({ length: 20 }, (_, n) => round * 20 + n)
      const calls = Promise.all(numbers.map(n => hub.call('count:1.0', n)))
      // Four times in all: a function is called five times at the most.
      if (round % 5 === 0) await flush()
      expect(await calls).toEqual(numbers)
    }
    expect([...runs.values()].every(times => times === 1)).toBe(true)
    expect(runs.size).toBe(400)
  })

  it('a caller that may not load it is told what to run, and goes on when it is there', async () => {
    await server.worker([echo])
    const redis = await rights.user('app', rights.rules('hub'))
    const hub = server.hub({ redis })
    expect(await hub.call('echo:1.0', 1)).toBe(1)
    await flush()
    const error = await failure(hub.call('echo:1.0', 2))
    expect([error.code, error.ran]).toEqual(['NotEnqueued', 'no'])
    expect(error.message).toMatch(/does not have pshub's library, and this user may not load it; run 'pshub install'/)
    await install(server.redis)
    expect(await hub.call('echo:1.0', 3)).toBe(3)
    await rights.denied()
  })

  it('a worker that may not load it does not start, and says what to run', async () => {
    await flush()
    const redis = await rights.user('app', rights.rules('worker'))
    await expect(server.worker([echo], { redis })).rejects.toThrow(
      /^This Redis cannot be used: pshub's library is missing, and it cannot be loaded: .*function\|load.* Load it with: pshub install/,
    )
    await server.redis.function('LOAD', 'REPLACE', ofRevision(0))
    await expect(server.worker([echo], { redis })).rejects.toThrow(/library has revision 0, and 7 is needed/)
    await install(server.redis)
    const worker = await server.worker([echo], { redis })
    expect(worker.id).toBeTruthy()
    await rights.denied()
  })
})
