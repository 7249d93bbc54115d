import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap, type Hub, prometheusText, Worker } from '../../src/index.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

/** A task may live in several queues at once: a move, a rollback, a laptop beside a server. */
const server = useRegistry()

const where = (queue: string) => defineTask('where:1.0', {}, () => queue)
const key = (name: string) => `${server.namespace}:${name}`

/** A worker of a queue whose tasks say where they ran, and what it told of other queues. */
const startOn = async (queue: string) => {
  const worker = new Worker({
    redis: server.url,
    namespace: server.namespace,
    queue,
    logLevel: 'silent',
    tasks: [where(queue)],
  })
  server.onEnd(() => worker.stop({ graceMs: 100 }))
  const told: EventMap['task:elsewhere'][] = []
  worker.events.on('task:elsewhere', event => told.push(event))
  await worker.start()
  return { worker, told, end: () => worker.stop({ graceMs: 100 }) }
}

const queuesOf = async (hub: Hub) => (await hub.tasks()).find(({ task }) => task === 'where:1.0')!.queues
const fields = async () => (await server.redis.hkeys(key('tasks'))).sort()

describe('a task in two queues', () => {
  it('is called where it was first, and the second worker says so, once', async () => {
    const first = await startOn('prod')
    const hub = server.hub()
    expect(await hub.call('where:1.0')).toBe('prod')
    const second = await startOn('default')
    expect(second.told).toEqual([{ task: 'where:1.0', queue: 'default', first: 'prod' }])
    expect(first.told).toEqual([])
    for (const called of ['where:1.0', 'where:1', 'where']) expect(await server.hub().call(called)).toBe('prod')
    expect(await queuesOf(hub)).toEqual([
      { queue: 'prod', workers: 1, first: true },
      { queue: 'default', workers: 1, first: false },
    ])
  })

  for (const [name, orders] of [
    ['the first one stops', ['prod', 'default']],
    ['the second one stops', ['default', 'prod']],
  ] as const)
    it(`never is without workers while one lives: ${name}`, async () => {
      const workers = { prod: await startOn('prod'), default: await startOn('default') }
      const hub = server.hub()
      await hub.call('where:1.0')
      const [goes, stays] = orders
      await workers[goes].end()
      for (const called of ['where:1.0', 'where:1', 'where']) expect(await server.hub().call(called)).toBe(stays)
      // A hub that knew the other one is wrong for as long as it may use a route without asking.
      await eventually(async () => (await hub.call('where:1.0', {}, { timeoutMs: 300 }).catch(() => '')) === stays)
      const shown = await hub.tasks()
      expect(shown[0]).toMatchObject({ queue: stays, workers: [workers[stays].worker.id] })
      await workers[stays].end()
      await server.redis.del(key(`{${goes}}:calls`), key(`{${goes}}:bell`))
      expect((await failure(server.hub().call('where:1.0'))).message).toMatch(/where:1\.0.*--queue prod, default/)
    })

  it('is taken over without a word by a worker that starts when the first one is gone', async () => {
    const first = await startOn('prod')
    await first.end()
    const second = await startOn('default')
    expect(second.told).toEqual([])
    expect(await fields()).toEqual(['where:1.0'])
    expect(await queuesOf(server.hub())).toEqual([{ queue: 'default', workers: 1, first: true }])
    // And back: a rollback is a move like any other.
    await second.end()
    expect((await startOn('prod')).told).toEqual([])
    expect(await queuesOf(server.hub())).toEqual([{ queue: 'prod', workers: 1, first: true }])
  })

  it('stays findable in both when they come at the same moment', async () => {
    const queues = ['a', 'b', 'c']
    const workers = await Promise.all(queues.map(startOn))
    const hub = server.hub()
    for (const queue of queues) expect(await hub.call('where:1.0', {}, { queue })).toBe(queue)
    expect(workers.flatMap(({ told }) => told)).toHaveLength(2)
    const shown = await queuesOf(hub)
    expect(shown.map(({ queue }) => queue).sort()).toEqual(queues)
    expect(shown.filter(({ first }) => first)).toHaveLength(1)
  })
})

describe('queue: in the options of a call', () => {
  it('picks one, also for a gather, and beside a route that is known', async () => {
    await startOn('prod')
    await startOn('default')
    const hub = server.hub()
    for (const called of ['where:1.0', 'where:1', 'where']) {
      expect(await hub.call(called)).toBe('prod')
      expect(await hub.call(called, {}, { queue: 'default' })).toBe('default')
      expect(await hub.call(called, {}, { queue: 'prod' })).toBe('prod')
    }
    const gathered = await hub.gather(
      { one: ['where:1.0', {}, { queue: 'prod' }], other: ['where:1.0'] },
      { queue: 'default' },
    )
    expect(gathered).toMatchObject({ one: { value: 'prod' }, other: { value: 'default' } })
  })

  it('fails where the task is not, and says where it is', async () => {
    const worker = await startOn('prod')
    const hub = server.hub()
    const options = { queue: 'other' }
    expect(await failure(hub.call('where:1.0', {}, options))).toMatchObject({
      code: 'NoWorkers',
      message: 'No live worker of queue other provides where:1.0. It is served in queue prod.',
    })
    await worker.end()
    expect((await failure(hub.call('where', {}, options))).message).toMatch(
      /No other queue has a live worker for it either; it is known in: prod\./,
    )
    expect((await failure(hub.call('nowhere', {}, options))).code).toBe('NoSuchTask')
    for (const queue of ['', 'a b', 7, null, 'q\nwhere:1.0'])
      expect(await failure(hub.call('where', {}, { queue } as never))).toMatchObject({
        code: 'InvalidArgs',
        message: expect.stringMatching(/^queue must be the name of a queue, not /),
      })
  })
})

describe('what is shown of a task in two queues', () => {
  it('is in figures and in the registry, where one of them may be named', async () => {
    await startOn('prod')
    await startOn('default')
    const text = prometheusText(await server.hub().overview())
    expect(text).toContain('pshub_task_queues{task="where:1.0"} 2\n')
    for (const queue of ['prod', 'default'])
      expect(text).toContain(`pshub_task_workers{queue="${queue}",task="where:1.0"} 1\n`)
    const registry = await server.registry()
    const headers = { 'pshub-queue': 'default' }
    expect(await (await registry.post('api/call/where', {}, { headers })).text()).toBe('"default"')
    expect((await registry.post('api/call/where', {}, { headers: { 'pshub-queue': 'a b' } })).status).toBe(400)
    expect(await (await registry.get('api/tasks')).json()).toMatchObject([
      { task: 'where:1.0', queue: 'prod', workers: 2 },
    ])
  })
})

describe('cards of further queues', () => {
  it('are no tasks of their own, nor hints', async () => {
    await startOn('prod')
    await startOn('default')
    const hub = server.hub()
    expect((await hub.tasks()).map(({ task }) => task)).toEqual(['where:1.0'])
    expect((await failure(hub.call('where:2.0'))).message).toBe('There is no where:2.0. Known versions: where:1.0.')
    expect((await failure(hub.call('wher'))).message).toMatch(/Did you mean where:1\.0\?$/)
    expect((await failure(hub.call('where:1.0@default'))).message).toMatch(/is not a task name/)
  })
})
