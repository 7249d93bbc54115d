import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { defineTask, type EventMap, type Hub, type Worker } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { anyJson, anyText } from '../support/any-json.ts'
import { everythingOf } from '../support/everything-of.ts'
import { jsonOf, useRegistry } from '../support/registry-fixture.ts'

/** What is in Redis was written by others, and may be anything: it must hurt nothing else. */
const server = useRegistry()

const healthy = defineTask('healthy:1.0', { description: 'Is well.', args: { type: 'object' } }, () => 'well')
const keys = () => makeKeys(server.namespace)

let worker: Worker
let hub: Hub
/** The registry as the worker wrote it. */
let whole: [key: string, content: Buffer][]

beforeEach(async () => {
  worker = await server.worker([healthy])
  hub = server.hub()
  const { tasks, workers, stats, taskStats } = keys()
  whole = []
  for (const key of [tasks, workers, stats, taskStats]) {
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
const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const junkWorker = async (text: string) => {
  await server.redis.hset(keys().workers, 'junk', text)
  await server.redis.zadd(keys().queue('q').leases, Date.now() + 600_000, 'junk')
}

describe('a record that is not what it should be', () => {
  it('hurts nothing else', async () => {
    const badCards = [
      JSON.stringify({ ...card, description: { toString: 1 } }),
      JSON.stringify({ ...card, args: 0 }).replace('"args":0', `"args":${deep(20_000)}`),
      JSON.stringify({ ...card, description: 'x'.repeat(2 ** 20) }),
      JSON.stringify({ ...card, toString: 1, constructor: 1 }).replace('"d"', '"d","__proto__":1'),
      JSON.stringify({ ...card, task: 'healthy:1.0' }),
      '{"task":',
    ]
    for (const text of badCards) {
      await server.redis.hset(keys().tasks, 'junk:1.0', text)
      await expectAllWell()
    }
    const badWorkers = [
      JSON.stringify({ ...workerCard, host: { toString: 1 }, slots: [], pid: {} }),
      JSON.stringify({ ...workerCard, more: 0 }).replace('"more":0', `"more":${deep(20_000)}`),
      JSON.stringify({ ...workerCard, tasks: { ...workerCard.tasks, __proto__: null, toString: {} } }),
      '{"id":',
    ]
    for (const text of badWorkers) {
      await junkWorker(text)
      await expectAllWell()
    }
  })

  it('is shown, and told once by each hub', async () => {
    const told: EventMap['registry:unreadable'][] = []
    hub.events.on('registry:unreadable', event => told.push(event))
    const { tasks, workers, slow, queue } = keys()
    await server.redis.hset(tasks, 'junk:1.0', '{"task":')
    await server.redis.hset(tasks, 'long:1.0', JSON.stringify({ ...card, description: 'x'.repeat(300_000) }))
    await junkWorker(deep(2000))
    await server.redis.set(slow, 'no hash')
    await server.redis.hset(tasks, 'zz:1.0', JSON.stringify({ ...card, task: 'zz:1.0' }))
    await server.redis.set(queue('zz').calls, 'no list')
    const expected = [
      { key: tasks, field: 'junk:1.0', reason: 'it is not JSON' },
      { key: tasks, field: 'long:1.0', reason: 'it is longer than 262144 characters' },
      { key: workers, field: 'junk', reason: 'it is nested deeper than 1024 levels' },
      { key: queue('zz').calls, reason: 'it has another type (WRONGTYPE)' },
    ]
    const { unreadable } = await hub.overview()
    expect(unreadable, JSON.stringify(unreadable)).toHaveLength(expected.length)
    expect(unreadable).toEqual(expect.arrayContaining(expected))
    await hub.overview()
    expect(told).toHaveLength(expected.length)
    expect((await hub.slowCalls()).length).toBe(0)
  })

  it('stays where it is when a worker sweeps: only a person can tell what it is', async () => {
    await server.redis.hset(keys().tasks, 'junk:1.0', 'no card')
    await server.redis.hset(keys().stats, 'junk', 'no statistics')
    await junkWorker(JSON.stringify(workerCard))
    const told: EventMap['registry:unreadable'][] = []
    const tasks = [defineTask('other:1.0', {}, () => 1)]
    const { Worker } = await import('../../src/index.ts')
    const options = { redis: server.url, namespace: server.namespace, queue: 'q', logLevel: 'silent' as const }
    const other = new Worker({ ...options, tasks })
    server.onEnd(() => other.stop())
    other.events.on('registry:unreadable', event => told.push(event))
    await other.start()
    expect(told.map(({ field }) => field).sort()).toEqual(['junk', 'junk:1.0'])
    expect(await server.redis.hexists(keys().tasks, 'junk:1.0')).toBe(1)
    expect(await server.redis.hexists(keys().workers, 'junk')).toBe(1)
  })

  it('is told in one line by pshub tasks, and in full by pshub check', async () => {
    await server.redis.hset(keys().tasks, 'bad:1.0', 'no card')
    await server.redis.hset(keys().tasks, 'worse:1.0', '\u001b[31m')
    const main = join(import.meta.dirname, '../../dist/cli/main.js')
    const run = (name: string) =>
      promisify(execFile)(process.execPath, [main, name, '--redis', server.url, '--namespace', server.namespace])
    const { stdout, stderr } = await run('tasks')
    expect(stdout).toMatch(/^healthy:1\.0/m)
    expect(stderr).toMatch(
      /^Warning: \w+:1\.0 of \S+:tasks cannot be read and is ignored: it is not JSON\. 1 more: pshub check\n$/,
    )
    expect((await run('check')).stdout.match(/^warning +registry .*it is not JSON$/gm)).toHaveLength(2)
  })

  it('leaves the service of the pages as it is', async () => {
    await server.redis.hset(keys().tasks, 'junk:1.0', JSON.stringify({ ...card, description: { toString: 1 } }))
    await server.redis.hset(keys().tasks, 'bad:1.0', 'no card')
    await server.redis.set(keys().queue('zz').calls, 'no list')
    await junkWorker(JSON.stringify({ ...workerCard, host: { toString: 1 } }))
    const registry = await server.registry()
    const paths = ['overview', 'tasks', 'workers', 'queues', 'slow', 'failures', 'history', 'tasks/healthy:1.0']
    for (const path of [...paths.map(path => `api/${path}`), 'metrics', 'openapi.json', 'healthz']) {
      const response = await registry.get(path)
      expect([path, response.status]).toEqual([path, 200])
      await response.text()
    }
    expect(await jsonOf(await registry.get('api/overview'))).toMatchObject({
      unreadable: expect.arrayContaining([{ key: keys().tasks, field: 'bad:1.0', reason: 'it is not JSON' }]),
    })
    expect((await registry.post('api/call/healthy', {})).status).toBe(200)
  })
})

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
      { numRuns: 40 },
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
      { numRuns: 15 },
    )
  }, 180_000)
})
