import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { noted } from '../support/noting-tasks.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()

describe('a worker of all queues', () => {
  it('declares what nobody has in `default`, and serves where its tasks are declared', async () => {
    const { task, seen } = noted()
    const other = await it_.worker([task], { queue: 'one' })
    await other.stop()
    const worker = await it_.worker([task, defineTask('new:1.0', {}, () => 'new')], { queue: '*' })
    const hub = it_.hub()
    expect(await hub.call('new:1.0')).toBe('new')
    await hub.call('note:1.0', 'in one')
    expect(seen).toEqual(['in one'])
    const queues = await hub.queues()
    expect(queues.map(({ queue, workers }) => [queue, workers])).toEqual([
      ['default', 1],
      ['one', 1],
    ])
    const card = JSON.parse((await it_.redis.hget(`${it_.namespace}:tasks`, 'note:1.0'))!)
    expect(card.queue).toBe('one')
    expect(worker.id).toHaveLength(22)
  })

  it('finds new ones: those into which jobs are put by name, and those that others declare', async () => {
    const { task, seen } = noted()
    const worker = await it_.worker([task], { queue: '*' })
    const started: string[] = []
    worker.events.on('worker:started', ({ queue }) => started.push(queue))
    const hub = it_.hub()
    await hub.enqueue('note:1.0', 'for a tenant', { queue: 'tenant-17' })
    await eventually(() => seen.length === 1, 30_000)
    // It claims before Redis has its card, which is when it says so.
    await eventually(() => started.includes('tenant-17'), 30_000)
    expect(await it_.redis.zrange(`${it_.namespace}:queues`, '0', '-1')).toEqual(['tenant-17'])
    const other = await it_.worker([task], { queue: 'later' })
    await eventually(() => started.includes('later'), 30_000)
    await other.stop()
    await hub.call('note:1.0', 'later', { queue: 'later' })
    expect(seen).toEqual(['for a tenant', 'later'])
  }, 60_000)

  it('forgets the names of those where nothing has waited for a day, and of no others', async () => {
    const { redis, namespace } = it_
    const { scheduled } = queueKeys(it_, 'later')
    const { jobsLow } = queueKeys(it_, 'low')
    const { ticks } = queueKeys(it_, 'cron')
    await redis.zadd(`${namespace}:queues`, 1, 'empty', 1, 'later', 1, 'low', 1, 'cron', Date.now(), 'new')
    await redis.zadd(scheduled, 4e12, 'job')
    await redis.rpush(jobsLow, 'job')
    await redis.zadd(ticks, 4e12, 'nightly')
    await it_.worker([defineTask('echo:1.0', {}, args => args)], { queue: 'q' })
    await eventually(async () => (await redis.zcard(`${namespace}:queues`)) === 4)
    expect((await redis.zrange(`${namespace}:queues`, '0', '-1')).sort()).toEqual(['cron', 'later', 'low', 'new'])
    await redis.del(scheduled, jobsLow, ticks)
  })

  it('goes on where the registry and the names of queues are somebody else’s', async () => {
    await it_.redis.set(`${it_.namespace}:queues`, 'no set')
    const worker = await it_.worker([defineTask('echo:1.0', {}, args => args)], { queue: ['mine', '*'] })
    expect(await it_.hub().call('echo:1.0', 1)).toBe(1)
    expect(worker.busy).toBe(0)
  })
})
