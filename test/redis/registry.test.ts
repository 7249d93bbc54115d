import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap, Hub, Worker } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const echo = defineTask('echo:1.0', {}, args => args)

describe('the registry', () => {
  it('lists tasks, workers and queues', async () => {
    const worker = await it_.worker(
      [defineTask('doc:1.0', { description: 'Says.', args: { type: 'object' }, timeoutMs: 700 }, () => 1)],
      { slots: 3 },
    )
    const hub = it_.hub()
    const { tasks, workers, queues } = await hub.overview()
    expect(tasks).toMatchObject([
      {
        task: 'doc:1.0',
        queue: 'q',
        description: 'Says.',
        args: { type: 'object' },
        timeoutMs: 700,
        workers: [worker.id],
        conflict: false,
      },
    ])
    expect(workers).toMatchObject([
      { id: worker.id, queue: 'q', pid: process.pid, slots: 3, live: true, stats: { busy: 0, draining: false } },
    ])
    expect(queues).toMatchObject([{ queue: 'q', backlog: 0, held: 0, workers: 1, slots: 3 }])
  })

  it.each(['args', 'result', 'yields'])('warns when live workers declare one task with different %s', async of => {
    const declare = (type: string) => defineTask('same:1.0', { [of]: { type } }, () => 1)
    await it_.worker([declare('object')])
    const second = new Worker({
      redis: it_.url,
      namespace: it_.namespace,
      queue: 'q',
      logLevel: 'silent',
      tasks: [declare('string')],
    })
    it_.onEnd(() => second.stop())
    const conflict = new Promise(resolve => second.events.on('task:conflict', resolve))
    await second.start()
    expect(await conflict).toMatchObject({ task: 'same:1.0', queue: 'q' })
    expect((await it_.hub().tasks())[0]).toMatchObject({ task: 'same:1.0', conflict: true })
  })

  it('refills after a FLUSHALL', async () => {
    await it_.worker([echo])
    const hub = it_.hub()
    await hub.call('echo:1.0')
    await it_.redis.flushall()
    await eventually(async () =>
      (await hub.tasks()).some(task => task.task === 'echo:1.0' && task.workers.length === 1),
    )
    expect(await hub.call('echo:1.0', 1)).toBe(1)
  })
})

describe('a registry that was emptied', () => {
  it('has callers of its tasks try again until workers had time to come back', async () => {
    const worker = await it_.worker([echo])
    const hub = it_.hub()
    await hub.call('echo:1.0')
    await worker.stop()
    await it_.redis.del(`${it_.namespace}:tasks`)
    const codes = () =>
      Promise.all([hub.call('echo'), hub.enqueue('echo:1.0')].map(async ended => (await failure(ended)).code))
    expect(await codes()).toEqual(['NotEnqueued', 'NotEnqueued'])
    expect(await failure(hub.call('other:1.0'))).toMatchObject({ code: 'NoSuchTask' })
    await eventually(async () => (await codes()).every(code => code === 'NoSuchTask'))
  })
})

describe('a registry that cannot be written', () => {
  it('costs a worker its lease no more than its cards: they go out as soon as they are taken', async () => {
    const key = `${it_.namespace}:tasks`
    await it_.redis.set(key, 'not a hash')
    const worker = new Worker({
      redis: it_.url,
      namespace: it_.namespace,
      queue: 'q',
      logLevel: 'silent',
      tasks: [echo],
    })
    it_.onEnd(() => worker.stop())
    const problems: EventMap['problem'][] = []
    worker.events.on('problem', problem => problems.push(problem))
    await worker.start()
    expect(problems).toMatchObject([{ where: 'beat', reason: expect.stringMatching(/^WRONGTYPE/) }])
    expect(await it_.redis.zscore(`${it_.namespace}:{q}:leases`, worker.id)).not.toBeNull()
    const { id } = worker
    await it_.redis.del(key)
    await eventually(() => it_.redis.hexists(key, 'echo:1.0'))
    expect(await it_.hub().call('echo:1.0', 'published after all')).toBe('published after all')
    expect(worker.id).toBe(id)
  })
})

describe('settings', () => {
  it('of ioredis cannot undo what the promises rest on', async () => {
    await it_.worker([echo])
    const { hostname: host, port } = new URL(it_.url)
    const hub = it_.hub({ redis: { host, port: Number(port), connectionName: 'mine', enableOfflineQueue: true } })
    expect(await hub.call('echo:1.0', 1)).toBe(1)
    const clients = String(await it_.redis.call('CLIENT', 'LIST'))
    expect(clients).toContain('name=pshub-hub-commands')
    expect(clients).not.toContain('name=mine')
  })

  it('that cannot work are refused with what would', () => {
    expect(() => new Hub({ redis: 'localhost' })).toThrow(/must be a URL like redis:/)
    for (const redis of [
      'redis://localhost/3',
      'redis://localhost?db=3',
      'redis://localhost/?family=4&db=3',
      { db: 3 },
    ])
      expect(() => new Hub({ redis })).toThrow(/use (database )?0|option after \?/)
    expect(() => new Hub({ timeout: 3 } as never)).toThrow(/no option 'timeout'. Known: redis, namespace/)
    expect(() => new Worker({ tasks: [echo], slots: 0 })).toThrow(
      /'slots' must be a whole number from 1 to 256; it is 0/,
    )
    // One that is shorter passes for a death when a beat is late.
    expect(() => new Worker({ tasks: [echo], leaseMs: 1999 })).toThrow(
      /'leaseMs' must be a whole number from 2000 to 600000; it is 1999/,
    )
    expect(() => new Worker({ tasks: [] })).toThrow(/needs 'tasks'/)
    expect(() => new Worker({ tasks: [{} as never] })).toThrow(/did not return/)
    expect(() => new Worker({ tasks: [echo, echo] })).toThrow(/listed twice/)
    expect(() => new Worker({ tasks: [echo], queue: 'a{b}' })).toThrow(/'queue' must be/)
    expect(() => defineTask('nope', {}, () => 1)).toThrow(/name:major.minor/)
    expect(() => defineTask('a:1.0', { args: { type: 'nope' } } as never, () => 1)).toThrow(/not a valid JSON Schema/)
    expect(() => defineTask('a:1.0', { timeout: 1 } as never, () => 1)).toThrow(/no option 'timeout'/)
    expect(() => defineTask('a:1.0', { timeoutMs: -1 }, () => 1)).toThrow(/above 0/)
  })
})
