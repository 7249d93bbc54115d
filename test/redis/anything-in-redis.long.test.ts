import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { defineTask, type Hub, type Worker } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { anyJson, anyText } from '../support/any-json.ts'
import { everythingOf } from '../support/everything-of.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

/** What is in Redis was written by others, and may be anything: it must hurt nothing else. */
const server = useRedis()

const healthy = defineTask('healthy:1.0', { description: 'Is well.', args: { type: 'object' } }, () => 'well')
const fail = defineTask('fail:1.0', {}, () => {
  throw new Error('on purpose')
})
const keys = () => makeKeys(server.namespace)

let worker: Worker
let hub: Hub
/** The registry as the worker wrote it. */
let whole: [key: string, content: Buffer][]

beforeEach(async () => {
  worker = await server.worker([healthy, fail])
  hub = server.hub()
  expect((await failure(hub.call('fail:1.0', {}, { timeoutMs: 15_000 }))).code).toBe('TaskFailed')
  await eventually(async () => (await hub.failures()).length === 1)
  const hashes = [keys().tasks, keys().workers, keys().stats, keys().taskStats, keys().failures]
  whole = []
  for (const key of hashes) {
    const content = await server.redis.dumpBuffer(key)
    if (content) whole.push([key, content])
  }
  server.onEnd(repair)
})

const ofQueues = (): string[] =>
  ['q', 'zz'].flatMap(queue => {
    const { calls, jobs, dead, leases, paused, held } = keys().queue(queue)
    // The healthy task's own queue cannot do without these.
    const needed = queue === 'q' ? [] : [calls, leases, jobs]
    return [...needed, dead, paused, held('junk'), ...(queue === 'q' ? [] : [held(worker.id)])]
  })

const repair = async () => {
  const { tasks, workers, stats, taskStats, slow, failures } = keys()
  await server.redis.del(tasks, workers, stats, taskStats, slow, failures, ...ofQueues())
  await server.redis.zrem(keys().queue('q').leases, 'junk')
  for (const [key, content] of whole) await server.redis.restore(key, 0, content, 'REPLACE')
}

const expectAllWell = async () => {
  for (const each of [hub, server.hub()]) expect(await each.call('healthy', {}, { timeoutMs: 20_000 })).toBe('well')
  const overview = await hub.overview()
  expect(overview.tasks.find(({ task }) => task === 'healthy:1.0')).toMatchObject({
    queue: 'q',
    description: 'Is well.',
    args: { type: 'object' },
    timeoutMs: 5000,
    workers: expect.arrayContaining([worker.id]),
  })
  expect(overview.workers.find(({ id }) => id === worker.id)).toMatchObject({ queue: 'q', live: true, slots: 4 })
  for (const text of await everythingOf(hub, overview)) expect(text.length).toBeGreaterThan(0)
  return overview
}

const card = { task: 'junk:1.0', queue: 'zz', description: 'x', timeoutMs: 1, idempotent: true, digest: 'd', at: 1 }
const workerCard = {
  id: 'junk',
  queue: 'q',
  host: 'h',
  pid: 1,
  slots: 1,
  tasks: { 'healthy:1.0': 'd', 'junk:1.0': 'd' },
  client: 'any/1',
  started: 1,
}
const stats = { seen: 1, busy: 1, draining: false, counters: { ok: 1 }, busyShare: 1, loopMs: { mean: 1 }, rssBytes: 1 }
const junkWorker = async (text: string) => {
  await server.redis.hset(keys().workers, 'junk', text)
  await server.redis.zadd(keys().queue('q').leases, Date.now() + 600_000, 'junk')
}

describe('any JSON in any record', () => {
  const nasty = fc.constantFrom<unknown>({ toString: 1 }, [[]], 1e308, 'x'.repeat(1000))
  const mutated = (record: object) =>
    fc.oneof(
      anyJson.map(value => JSON.stringify(value)),
      anyText,
      {
        weight: 6,
        arbitrary: fc
          .tuple(
            fc.constantFrom(...Object.keys(record), ...Object.keys(record), 'args', 'us', '__proto__', 'x'),
            fc.oneof(anyJson, nasty),
          )
          .map(([member, value]) => JSON.stringify(Object.fromEntries([...Object.entries(record), [member, value]]))),
      },
    )
  const window = { ok: 1, errors: {}, us: { backlog: { counts: [1, 1], sum: 1, max: 1 }, queue: 1, exec: 1 } }
  const call = { id: 'a', at: 1, us: { backlog: 1, queue: 1, exec: 1 }, code: 'x', message: 'm', execUs: 1 }
  const listOf = mutated(call).map(text => {
    try {
      return JSON.stringify({ 'healthy:1.0': [JSON.parse(text)] })
    } catch {
      return text
    }
  })
  const measured = mutated({ ok: 1, errors: { x: 1 }, callers: { x: 1 }, window }).map(
    text => `{"ms":1000,"tasks":{"healthy:1.0":${text}},"others":${text}}`,
  )
  const fieldOf = fc.oneof(fc.constantFrom('junk:1.0', 'junk:1.0@zz', 'healthy:1.0@zz', '__proto__', 'a@b@c'), anyText)

  it('hurts nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fieldOf, mutated(card)), { maxLength: 4 }),
        fc.array(mutated(workerCard), { maxLength: 2 }),
        mutated(stats),
        measured,
        listOf,
        async (cards, workers, stat, tasks, calls) => {
          for (const [field, text] of cards) await server.redis.hset(keys().tasks, field, text)
          for (const text of workers) await junkWorker(text)
          await server.redis.hset(keys().stats, 'junk', stat)
          await server.redis.hset(keys().taskStats, 'junk', tasks)
          await server.redis.hset(keys().slow, 'junk', calls)
          await server.redis.hset(keys().failures, 'junk', calls)
          await expectAllWell()
          await repair()
        },
      ),
      { numRuns: 150 },
    )
  }, 180_000)
})

describe('any type at any key', () => {
  const writes: Record<string, (key: string) => Promise<unknown>> = {
    string: key => server.redis.set(key, 'x'),
    list: key => server.redis.rpush(key, 'x'),
    hash: key => server.redis.hset(key, 'x', 'y'),
    set: key => server.redis.sadd(key, 'x'),
    zset: key => server.redis.zadd(key, 1, 'x'),
    stream: key => server.redis.xadd(key, '*', 'x', 'y'),
  }
  const put = async (key: string, type: string) => {
    await server.redis.del(key)
    await writes[type]!(key)
  }
  const anyType = fc.constantFrom(...Object.keys(writes))

  it('of a queue, or of what workers measure, hurts nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(), anyType), { minLength: 1, maxLength: 6 }), async places => {
        const { stats, taskStats, slow, failures } = keys()
        const all = [...ofQueues(), stats, taskStats, slow, failures]
        const junk = { ...card, task: 'junk:1.0', queue: 'zz' }
        await server.redis.hset(keys().tasks, 'junk:1.0', JSON.stringify(junk))
        await junkWorker(JSON.stringify({ ...workerCard, queue: 'zz' }))
        for (const [at, type] of places) await put(all[at % all.length]!, type)
        await expectAllWell()
        await repair()
      }),
      { numRuns: 40 },
    )
  }, 180_000)

  for (const name of ['tasks', 'workers'] as const)
    it(`of pshub:${name} leaves the rest readable`, async () => {
      for (const type of Object.keys(writes).filter(each => each !== 'hash')) {
        await put(keys()[name], type)
        const overview = await hub.overview()
        expect(overview.unreadable).toEqual([{ key: keys()[name], reason: 'it is of another type (WRONGTYPE)' }])
        expect(overview[name]).toEqual([])
        expect(overview.queues).toMatchObject([{ queue: 'q' }])
        await everythingOf(hub, overview)
        await repair()
      }
    })
})
