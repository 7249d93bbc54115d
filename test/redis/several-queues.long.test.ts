import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { noted } from '../support/noting-tasks.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()

describe('a worker of several queues', () => {
  it('notices what comes into the first one while another keeps it busy', async () => {
    const seen: unknown[] = []
    const hub = it_.hub()
    // The first one of all puts one into the other queue, which has thousands before it here.
    const task = defineTask('note:1.0', {}, async args => {
      if (seen.push(args) === 1) await hub.enqueue('note:1.0', 'high')
    })
    await it_.worker([task], { queue: ['high', 'low'], slots: 1, jobSlots: 1 })
    const jobs = Array.from({ length: 3000 }, (_, n) => ['note:1.0', n] as const)
    await hub.enqueueMany(jobs, { queue: 'low' })
    await eventually(() => seen.length === 3001, 60_000)
    expect(seen.indexOf('high')).toBeLessThan(2900)
  }, 90_000)

  it('finds what the lost tokens of one announced while another rings again and again', async () => {
    const { task, seen } = noted()
    await it_.worker([task], { queue: ['a', 'b'] })
    const hub = it_.hub()
    let isOver = false
    const busy = (async () => {
      while (!isOver) await hub.call('note:1.0', 'busy').catch(() => undefined)
    })()
    await eventually(() => seen.length > 5)
    // As whoever took the tokens and died leaves it.
    const { calls, jobs } = queueKeys(it_, 'b')
    await it_.redis.rpush(jobs, '{"task":"note:1.0","args":"job"}')
    await it_.redis.rpush(calls, '{"task":"note:1.0","args":"call"}')
    await eventually(() => seen.includes('job') && seen.includes('call'), 30_000).finally(() => {
      isOver = true
    })
    await busy
  }, 60_000)

  it('keeps all of its leases while a handler blocks the loop', async () => {
    const block = defineTask('block:1.0', {}, () => {
      const end = Date.now() + 4000
      while (Date.now() < end);
      return null
    })
    const worker = await it_.worker([block], { queue: ['a', 'b'], leaseMs: 2000 })
    const lost: unknown[] = []
    worker.events.on('lease:lost', told => lost.push(told))
    const leasesOf = async (queue: string) => it_.redis.zrange(queueKeys(it_, queue).leases, '0', '-1')
    const before = [await leasesOf('a'), await leasesOf('b')]
    expect(await it_.hub().call('block:1.0', null, { timeoutMs: 40_000 })).toBeNull()
    expect([await leasesOf('a'), await leasesOf('b')]).toEqual(before)
    expect(lost).toEqual([])
  }, 60_000)
})
