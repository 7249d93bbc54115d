import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { gated, noted } from '../support/noting-tasks.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()

describe('a worker of several queues', () => {
  it('serves all of them, under an identity for each', async () => {
    const started: unknown[] = []
    const echo = defineTask('echo:1.0', {}, args => args)
    const worker = await it_.worker([echo], { queue: ['a', 'b'] })
    worker.events.on('worker:stopped', ({ queue }) => started.push(queue))
    const hub = it_.hub()
    expect(await hub.call('echo:1.0', 1)).toBe(1)
    expect(await hub.call('echo:1.0', 2, { queue: 'b' })).toBe(2)
    const queues = await hub.queues()
    expect(queues.map(({ queue, workers }) => [queue, workers])).toEqual([
      ['a', 1],
      ['b', 1],
    ])
    await worker.stop()
    expect(started).toEqual(['a', 'b'])
    expect(await it_.redis.hlen(`${it_.namespace}:workers`)).toBe(0)
  })

  it('never holds more than its slots, whatever waits where', async () => {
    const { task, runs } = gated('slow:1.0')
    const worker = await it_.worker([task], { queue: ['a', 'b', 'c'], slots: 3, jobSlots: 2 })
    const hub = it_.hub()
    const calls = ['a', 'b', 'c', 'a', 'b', 'c'].map((queue, n) =>
      hub.call('slow:1.0', n, { queue, timeoutMs: 20_000 }),
    )
    for (const queue of ['a', 'b', 'c'])
      await hub.enqueueMany(
        [
          ['slow:1.0', 'job'],
          ['slow:1.0', 'job'],
        ],
        { queue },
      )
    let most = 0
    for (let ended = 0; ended < 12; ended++) {
      await eventually(() => runs.length > 0)
      most = Math.max(most, worker.busy)
      expect(runs.length).toBeLessThanOrEqual(3)
      runs.shift()!.end()
    }
    await Promise.all(calls)
    await eventually(() => worker.busy === 0)
    expect(most).toBe(3)
  })

  it('without weights takes from the first one that has work', async () => {
    const { task: gate, runs } = gated('gate:1.0')
    const { task, seen } = noted()
    await it_.worker([gate, task], { queue: ['high', 'low'], slots: 1, jobSlots: 1 })
    const hub = it_.hub()
    await hub.enqueue('gate:1.0', null)
    await eventually(() => runs.length === 1)
    for (let n = 0; n < 5; n++) {
      await hub.enqueue('note:1.0', `low ${n}`, { queue: 'low' })
      await hub.enqueue('note:1.0', `high ${n}`)
    }
    runs[0]!.end()
    await eventually(() => seen.length === 10)
    expect(seen.slice(0, 5)).toEqual([0, 1, 2, 3, 4].map(n => `high ${n}`))
  })

  it('with weights takes from each as often as they say', async () => {
    const { task: gate, runs } = gated('gate:1.0')
    const { task, seen } = noted()
    await it_.worker([gate, task], { queue: 'high:3,low:1', slots: 1, jobSlots: 1 })
    const hub = it_.hub()
    await hub.enqueue('gate:1.0', null)
    await eventually(() => runs.length === 1)
    await hub.enqueueMany(
      Array.from({ length: 400 }, () => ['note:1.0', 'low'] as const),
      { queue: 'low' },
    )
    await hub.enqueueMany(Array.from({ length: 400 }, () => ['note:1.0', 'high'] as const))
    runs[0]!.end()
    await eventually(() => seen.length === 800)
    const high = seen.slice(0, 400).filter(each => each === 'high').length
    // 300 of 400 are expected, and seven standard deviations are 61.
    expect(high).toBeGreaterThan(239)
    expect(high).toBeLessThan(361)
  })

  it('takes calls of all queues before jobs of any', async () => {
    const { task: gate, runs } = gated('gate:1.0')
    const { task, seen } = noted()
    await it_.worker([gate, task], { queue: ['a', 'b'], slots: 1, jobSlots: 1 })
    const hub = it_.hub()
    await hub.enqueue('gate:1.0', null)
    await eventually(() => runs.length === 1)
    await hub.enqueueMany([
      ['note:1.0', 'job a'],
      ['note:1.0', 'job a'],
    ])
    const called = hub.call('note:1.0', 'call b', { queue: 'b' })
    await eventually(async () => (await it_.redis.llen(queueKeys(it_, 'b').calls)) === 1)
    runs[0]!.end()
    await called
    await eventually(() => seen.length === 3)
    expect(seen).toEqual(['call b', 'job a', 'job a'])
  })

  it('goes on with the others while one is paused, and with that one behind the pause', async () => {
    const { task, seen } = noted()
    const worker = await it_.worker([task], { queue: ['a', 'b'] })
    const told: string[] = []
    worker.events.on('queue:paused', ({ queue }) => told.push(`${queue} paused`))
    worker.events.on('queue:resumed', ({ queue }) => told.push(`${queue} resumed`))
    const { paused } = queueKeys(it_, 'a')
    await it_.redis.set(paused, '1')
    await eventually(() => told.length === 1)
    const hub = it_.hub()
    await hub.enqueue('note:1.0', 'in a')
    await hub.enqueue('note:1.0', 'in b', { queue: 'b' })
    await eventually(() => seen.length === 1)
    await it_.redis.del(paused)
    await eventually(() => seen.length === 2)
    expect(seen).toEqual(['in b', 'in a'])
    expect(told).toEqual(['a paused', 'a resumed'])
  })

  it('whose lease of one queue is lost goes on in the others as it was', async () => {
    const { task, runs } = gated('slow:1.0')
    const worker = await it_.worker([task], { queue: ['a', 'b'], slots: 2, jobSlots: 1 })
    const lost: unknown[] = []
    worker.events.on('lease:lost', ({ queue, aborted }) => lost.push([queue, aborted]))
    const hub = it_.hub()
    const [inA, inB] = [hub.call('slow:1.0', 'a', { timeoutMs: 8000 }), hub.call('slow:1.0', 'b', { queue: 'b' })]
    inA.catch(() => undefined)
    await eventually(() => runs.length === 2)
    const [id] = await it_.redis.zrange(queueKeys(it_, 'a').leases, '0', '-1')
    // As if somebody had adopted from it.
    await it_.redis.multi().zrem(queueKeys(it_, 'a').leases, id!).del(queueKeys(it_, 'a').held(id!)).exec()
    await eventually(() => lost.length === 1)
    expect(lost).toEqual([['a', 1]])
    for (const { end } of runs.splice(0)) end()
    expect(await inB).toBeNull()
    // Its slot is free again, and counted once.
    expect(worker.busy).toBe(0)
    const [again, more] = [hub.call('slow:1.0', 'c'), hub.call('slow:1.0', 'd', { queue: 'b' })]
    await eventually(() => runs.length === 2)
    for (const { end } of runs.splice(0)) end()
    await Promise.all([again, more])
  }, 15_000)

  it('puts back what it holds of all of them when it stops', async () => {
    const { task, runs } = gated('slow:1.0')
    const worker = await it_.worker([task], { queue: ['a', 'b'], slots: 2, jobSlots: 2 })
    const hub = it_.hub()
    await hub.enqueue('slow:1.0', 'a')
    await hub.enqueue('slow:1.0', 'b', { queue: 'b' })
    await eventually(() => runs.length === 2)
    const stopped: unknown[] = []
    worker.events.on('worker:stopped', ({ queue, handedBack, abandoned }) =>
      stopped.push([queue, handedBack, abandoned]),
    )
    await worker.stop({ graceMs: 0 })
    expect(stopped).toEqual([
      ['a', 1, 1],
      ['b', 1, 1],
    ])
    const { task: sameTask, seen } = noted('slow:1.0')
    await it_.worker([sameTask], { queue: 'b,a' })
    await eventually(() => seen.length === 2)
    expect(seen.sort()).toEqual(['a', 'b'])
  })
})

it.each([
  ['', 'must be names of queues'],
  ['a,a', 'must be names of queues'],
  ['a:0', 'must be names of queues'],
  [['a', 1], 'must be names of queues'],
  [[], 'must be names of queues'],
])('refuses %j as queues', async (queue, message) => {
  await expect(it_.worker([defineTask('a:1.0', {}, () => 1)], { queue: queue as string[] })).rejects.toThrow(message)
})
