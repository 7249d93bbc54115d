import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap, TaskError, type Worker } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const server = useRedis()

const tasks = [
  defineTask('echo:1.0', { args: { type: ['integer', 'null'] } }, args => args),
  defineTask('fail:1.0', { retries: 0 }, length => {
    throw new TaskError('x'.repeat(Number(length)), { data: { secret: 'of the handler' } })
  }),
  defineTask('odd:1.0', { result: { type: 'string' } }, (): string => 7 as never),
]
const key = (name: string) => `${server.namespace}:${name}`
const push = async (list: 'calls' | 'jobs', ...requests: object[]) => {
  const keys = queueKeys(server)
  await server.redis.rpush(keys[list], ...requests.map(request => JSON.stringify(request)))
  await server.redis.rpush(list === 'calls' ? keys.bell : keys.jobBell, 1)
}
const settledBy = (worker: Worker): EventMap['task:settled'][] => {
  const settled: EventMap['task:settled'][] = []
  worker.events.on('task:settled', event => settled.push(event))
  return settled
}

describe('recent failures', () => {
  it('are all that did not end well on a worker, with what their callers were told', async () => {
    const worker = await server.worker(tasks)
    const settled = settledBy(worker)
    const shop = server.hub({ name: 'shop' })
    await shop.call('echo:1.0', 1)
    const failed = await failure(shop.call('fail:1.0', 400))
    await failure(shop.call('odd:1.0'))
    await push('calls', { id: 'invalid', task: 'echo:1.0', args: 'text' })
    await push('jobs', { id: 'job', task: 'fail:1.0', args: 3, from: 'cron' })
    const [seconds] = await server.redis.time()
    // The claim function sees no deadline in a message that does not begin as it should.
    await push('calls', { task: 'echo:1.0', id: 'late', ttl: 5, at: (Number(seconds) - 60) * 1_000_000 })
    const failures = await eventually(async () => {
      const all = await shop.failures()
      return all.length === 5 ? all : undefined
    })
    const told = new Map(failures!.map(each => [each.id, each]))
    const place = { queue: 'q', worker: worker.id, pid: process.pid }
    const { us } = settled.find(({ id }) => id === failed.id)!
    expect(told.get(failed.id!)).toEqual({
      ...{ id: failed.id, task: 'fail:1.0', code: 'TaskFailed', message: 'x'.repeat(300), from: 'shop' },
      ...{ execUs: us.exec, at: expect.any(Number), host: expect.any(String), ...place },
    })
    expect(told.get('invalid')).toMatchObject({ task: 'echo:1.0', code: 'InvalidArgs', ...place })
    expect(told.get('invalid')!.message).toContain('must be')
    expect(told.get('invalid')).not.toHaveProperty('from')
    expect(told.get('job')).toMatchObject({ task: 'fail:1.0', code: 'TaskFailed', message: 'xxx', from: 'cron' })
    expect(told.get('late')).toMatchObject({ task: 'echo:1.0', code: 'Expired', execUs: 0 })
    expect(told.get('late')!.message).toMatch(/^The deadline passed/)
    expect([...told.values()].map(({ code }) => code).sort()).toEqual([
      'Expired',
      'InvalidArgs',
      'InvalidResult',
      'TaskFailed',
      'TaskFailed',
    ])
    const times = failures!.map(({ at }) => at)
    expect(times).toEqual([...times].sort((a, b) => b - a))
    expect((await server.redis.hget(key('failures'), worker.id))!).not.toContain('of the handler')
    expect(await server.redis.del(queueKeys(server).dead)).toBe(1)
  })
})

describe('callers', () => {
  it('are told of each task, busiest first, on all workers together', async () => {
    const workers = [await server.worker(tasks, { slots: 2 }), await server.worker(tasks, { slots: 2 })]
    const [shop, cron] = [server.hub({ name: 'shop' }), server.hub({ name: 'cron' })]
    await Promise.allSettled([
      ...Array.from({ length: 60 }, (_, n) => shop.call('echo:1.0', n)),
      ...Array.from({ length: 30 }, (_, n) => cron.call('echo:1.0', n)),
      ...Array.from({ length: 10 }, () => cron.call('fail:1.0', 1)),
    ])
    await push('calls', { id: 'hand', task: 'echo:1.0', args: 1 })
    const taskNamed = async (name: string) => (await shop.tasks()).find(({ task }) => task === name)!
    await eventually(async () => (await taskNamed('echo:1.0')).totals.ok === 91)
    const echo = await taskNamed('echo:1.0')
    expect(echo.callers.map(({ name, calls }) => [name, calls])).toEqual([
      ['shop', 60],
      ['cron', 30],
      ['', 1],
    ])
    const rates = echo.callers.map(({ callsPerSecond }) => callsPerSecond)
    expect(rates.reduce((sum, rate) => sum + rate, 0)).toBeCloseTo(echo.load.callsPerSecond)
    expect((await taskNamed('fail:1.0')).callers).toMatchObject([{ name: 'cron', calls: 10 }])
    expect((await taskNamed('odd:1.0')).callers).toEqual([])
    await workers[0]!.stop()
    const { callers, totals } = await taskNamed('echo:1.0')
    expect(callers.reduce((sum, { calls }) => sum + calls, 0)).toBe(totals.ok)
  })
})
