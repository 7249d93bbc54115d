import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { amqp, otherHub, redisList, redisStream } from '../../src/index.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { startForwarder } from '../support/forwarding.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const fixture = useRedis()
let other: Awaited<ReturnType<typeof startServer>>
let there: Redis

beforeAll(async () => {
  other = await startServer()
  there = new Redis(other.url)
  there.on('error', () => undefined)
})
beforeEach(() => there.flushall())
afterAll(async () => {
  there.disconnect()
  await other.stop()
})

const forward = 'billing'
const errorsOf = async (id: string) => (await fixture.hub().jobDetails(id, { queue: 'forward.billing' })).errors

describe('a Redis list', () => {
  it('gets each job as JSON, in one command for a batch', async () => {
    const hub = fixture.hub({ name: 'shop' })
    const big = 1253261109769874438n
    const entries = [1, 2, 3].map(n => ['paid', { n, text: 'ä{}[]', big }, { key: `k${n}` }] as const)
    const { ids } = await hub.enqueueMany(entries, { forward })
    await startForwarder(fixture, { target: redisList({ redis: other.url, key: 'paid' }) })
    await eventually(async () => (await there.llen('paid')) === 3)
    const texts = await there.lrange('paid', 0, -1)
    for (const text of texts) expect(text).toContain(`"big":${big}`)
    const messages = texts.map(text => JSON.parse(text))
    expect(messages).toEqual(
      ids.map((id, at) => {
        const n = at + 1
        return {
          id,
          task: 'paid',
          args: { n, text: 'ä{}[]', big: Number(big) },
          key: `k${n}`,
          from: 'shop',
          attempt: 1,
        }
      }),
    )
    expect(await there.info('commandstats')).toContain('cmdstat_rpush:calls=1,')
  })

  it('does not get a job whose format fails or is no text, but the others of its batch', async () => {
    const made: Record<string, () => unknown> = {
      bad: () => {
        throw new Error('it has no order')
      },
      none: () => undefined,
      good: () => 'good',
    }
    const format = ({ task }: { task: string }) => made[task]!() as string
    const target = redisList({ redis: other.url, key: 'made', format })
    await startForwarder(fixture, { target, slots: 3, waitMs: 60_000 })
    const hub = fixture.hub()
    const { ids } = await hub.enqueueMany([['bad'], ['none'], ['good']], { forward, retries: 0 })
    const dead = hub.dead('forward.billing')
    await eventually(async () => (await dead.count()) === 2)
    expect(await there.lrange('made', 0, -1)).toEqual(['good'])
    const why = (await dead.list()).map(({ id, errors }) => [id, errors[0]!.message])
    expect(new Map(why as [string, string][])).toEqual(
      new Map([
        [ids[0], 'it has no order'],
        [ids[1], "'format' must return a string, not undefined"],
      ]),
    )
    await dead.delete()
  })

  it('whose user lacks a right is told in the words of its Redis', async () => {
    await there.call('ACL', 'SETUSER', 'lister', 'on', '>geheim', '~inbox', '+rpush', '+info')
    const redis = other.url.replace('//', '//lister:geheim@')
    const job = { id: 'j'.repeat(22), task: 'paid', args: {}, attempt: 1 }
    const signal = new AbortController().signal
    const target = redisList({ redis, key: 'inbox' })
    expect(await target.forward([job], signal)).toMatchObject({ taken: [job.id] })
    const elsewhere = redisList({ redis, key: 'elsewhere' })
    const { message } = await failure(Promise.resolve(elsewhere.forward([job], signal)))
    expect(message).toMatch(/^Redis at redis:\/\/127\.0\.0\.1:\d+: NOPERM .* keys?\b/)
    await Promise.all([target.close?.(), elsewhere.close?.()])
  })

  it('that refuses, or is away, keeps jobs for a later try', async () => {
    fixture.allowLeftovers()
    await there.set('paid', 'of another type')
    await startForwarder(fixture, { target: redisList({ redis: other.url, key: 'paid' }), backoff: 20 })
    const hub = fixture.hub()
    const job = await hub.enqueue('paid', {}, { forward, retries: 1000, tracked: true })
    await eventually(async () => /WRONGTYPE/.test((await errorsOf(job.id)).at(-1)?.message ?? ''))
    expect((await errorsOf(job.id)).at(-1)).toMatchObject({ code: 'NotTaken' })
    const { port, dir } = other
    await other.stop({ keepDir: true } as never)
    await eventually(async () =>
      /could not be reached|ECONNREFUSED/.test((await errorsOf(job.id)).at(-1)?.message ?? ''),
    )
    other = await startServer({ port, dir })
    await job.result({ timeoutMs: 30_000 })
    expect(JSON.parse((await there.lpop('paid'))!).id).toBe(job.id)
  })
})

describe('a Redis stream', () => {
  it('gets each job as an entry', async () => {
    const hub = fixture.hub({ name: 'shop' })
    const job = await hub.enqueue('paid', { order: 17 }, { forward, key: 'order-17' })
    await startForwarder(fixture, { target: redisStream({ redis: other.url, key: 'events' }) })
    const entries = await eventually(async () => {
      const found = await there.xrange('events', '-', '+')
      return found.length > 0 && found
    })
    expect(entries).toMatchObject([[expect.stringMatching(/^\d+-\d+$/), expect.anything()]])
    const fields = (entries as [string, string[]][])[0]![1]
    const pairs = fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1]!] as const] : []))
    expect(pairs).toEqual([
      ['id', job.id],
      ['task', 'paid'],
      ['args', '{"order":17}'],
      ['key', 'order-17'],
      ['from', 'shop'],
      ['attempt', '1'],
    ])
  })

  it('keeps about so many entries as it is told to', async () => {
    const hub = fixture.hub()
    await hub.enqueueMany(
      Array.from({ length: 500 }, () => ['a'] as const),
      { forward },
    )
    await startForwarder(fixture, { target: redisStream({ redis: other.url, key: 'events', maxLength: 100 }) })
    const infoOf = async () => (await there.xinfo('STREAM', 'events').catch(() => [])) as unknown[]
    await eventually(async () => {
      const info = await infoOf()
      return info[info.indexOf('entries-added') + 1] === 500
    })
    expect(await there.xlen('events')).toBeLessThanOrEqual(200)
  })
})

describe('another hub', () => {
  it('has the job under the same id, in the queue of its task, in its order', async () => {
    const target = otherHub({ redis: other.url, namespace: 'there' })
    await startForwarder(fixture, { target, slots: 4 })
    const hub = fixture.hub({ name: 'shop' })
    const seen: unknown[] = []
    const { defineTask, Worker } = await import('../../src/index.ts')
    const args = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const
    const sync = defineTask('sync:1.0', { keyed: 'ordered', args }, ({ n }, { id, from }) => {
      seen.push([n, id, from])
    })
    const worker = new Worker({ redis: other.url, namespace: 'there', queue: 'far', tasks: [sync], logLevel: 'silent' })
    fixture.onEnd(() => worker.stop({ graceMs: 500 }))
    await worker.start()
    const jobs = []
    for (let n = 0; n < 10; n++) jobs.push(await hub.enqueue('sync:1', { n }, { forward, key: 'k' }))
    await eventually(() => seen.length === 10)
    expect(seen).toEqual(jobs.map(({ id }, n) => [n, id, 'shop']))
    const bad = await hub.enqueue('sync:1.0', { n: 'seven' }, { forward, key: 'k' })
    await eventually(async () => (await hub.dead('forward.billing').count()) === 1)
    const [dead] = await hub.dead('forward.billing').list()
    expect(dead).toMatchObject({ id: bad.id, errors: [{ code: 'Refused' }] })
    expect(dead!.errors[0]!.message).toContain('/n must be integer')
    await hub.dead('forward.billing').delete()
  })

  it('does not get a job twice that comes twice, and waits for a task that nobody knows yet', async () => {
    const target = otherHub({ redis: other.url, namespace: 'there', queue: 'far' })
    const job = { id: 'j'.repeat(22), task: 'new:1.0', args: { n: 1 }, attempt: 1 }
    const signal = new AbortController().signal
    for (let n = 0; n < 3; n++) expect(await target.forward([job], signal)).toMatchObject({ taken: [job.id] })
    expect(await there.llen('there:{far}:jobs')).toBe(1)
    const anywhere = otherHub({ redis: other.url, namespace: 'there' })
    const { failed, taken } = (await anywhere.forward([{ ...job, task: 'nowhere:1.0' }], signal)) as {
      failed: unknown[]
      taken: string[]
    }
    expect(taken).toEqual([])
    expect(failed).toMatchObject([{ id: job.id, isFinal: false }])
    await Promise.all([target.close?.(), anywhere.close?.()])
  })
})

describe('what cannot be a target', () => {
  it.each([
    [() => redisList({ redis: 'http://x', key: 'a' }), "'redis' must be a URL"],
    [() => redisList({ redis: 'redis://127.0.0.1:1', key: '' }), "redisList: 'key' must be the name of a key"],
    [() => redisList({ redis: 'redis://127.0.0.1:1', kee: 'a' } as never), "did you mean 'key'"],
    [() => redisStream({ redis: 'redis://127.0.0.1:1', key: 'a', maxLength: 0 }), "'maxLength' must be"],
    [
      () => redisList({ redis: 'redis://127.0.0.1:1', key: 'a', format: 'json' } as never),
      "'format' must be a function",
    ],
    [() => otherHub({ redis: 'redis://127.0.0.1:1', queue: 'a b' }), "otherHub: 'queue' must be"],
    [() => otherHub({ redis: 'redis://127.0.0.1:1', queue: 'forward.a' }), 'belongs to a forwarder'],
    [() => otherHub({ redis: 'redis://127.0.0.1:1', rememberMs: 0 }), "'rememberMs' must be"],
    [() => amqp({ url: 'http://x' }), "'url' must be one of amqp://"],
    [() => amqp({ url: 'amqp://x:99999' }), "'url' must be one of amqp://"],
    [() => amqp({ url: 'amqp://x', format: 'json' } as never), "'format' must be a function"],
    [() => amqp({ url: 'amqp://x', exchnge: 'a' } as never), "did you mean 'exchange'"],
  ])('%# is refused', (make, why) => {
    expect(make).toThrow(why)
  })
})
