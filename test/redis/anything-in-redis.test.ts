import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { defineTask, type EventMap, type Hub, type Worker } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { everythingOf } from '../support/everything-of.ts'
import { jsonOf, useRegistry } from '../support/registry-fixture.ts'

/** What is in Redis was written by others, and may be anything: it must hurt nothing else. */
const server = useRegistry()

const healthy = defineTask('healthy:1.0', { description: 'Is well.', args: { type: 'object' } }, () => 'well')
const keys = () => makeKeys(server.namespace)

let worker: Worker
let hub: Hub

beforeEach(async () => {
  worker = await server.worker([healthy])
  hub = server.hub()
  server.onEnd(async () => {
    const { tasks, workers, stats, slow, queue } = keys()
    await server.redis.del(tasks, workers, stats, slow, queue('zz').calls)
    await server.redis.zrem(queue('q').leases, 'junk')
  })
})

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
      { key: queue('zz').calls, reason: 'it is of another type (WRONGTYPE)' },
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
      /^Warning: \w+:1\.0 of \S+:tasks cannot be read and counts as absent: it is not JSON\. 1 more: pshub check\n$/,
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
