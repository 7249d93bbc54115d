import { describe, expect, it } from 'vitest'
import type { Resharding } from '../../src/queue/resharding.ts'
import { delay } from '../support/delay.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { gated } from '../support/noting-tasks.ts'
import { expectOrder, names, noting, placesOf, recordShards, reshardingOf } from '../support/resharding.ts'

const it_ = useRedis()

const resharding = () => reshardingOf(it_)
const settle = (of: Resharding) => of.settle(() => undefined)

describe('jobs with a key in shards', () => {
  it('keep their order, one at a time, while the number changes again and again', async () => {
    const { task, runs } = noting(() => Math.random() * 3)
    await it_.worker([task], { slots: 6, jobSlots: 6 })
    await it_.worker([task], { slots: 6, jobSlots: 6 })
    const hubs = [it_.hub(), it_.hub()]
    const of = await resharding()
    const keys = Array.from({ length: 12 }, (_, n) => `key ${n}`)
    const counts = new Map(keys.map(key => [key, 0]))
    let isOver = false
    const loading = keys.map(async (key, at) => {
      // Of each key one hub enqueues, so that there is an order.
      while (!isOver) {
        const n = counts.get(key)!
        await hubs[at % 2]!.enqueue('sync:1.0', { key, n }, { key })
        counts.set(key, n + 1)
        await delay(Math.random() * 20, 'load that goes on while the number changes')
      }
    })
    for (const count of [3, 5, 2]) {
      await of.change(count)
      // To take shards away takes as long as hubs repeat what they do not know to have arrived.
      if (count > 2) await settle(of)
      else await delay(3000, 'load on a change that has not ended')
    }
    isOver = true
    await Promise.all(loading)
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    await eventually(() => runs.length === total && runs.every(({ to }) => to < Number.POSITIVE_INFINITY), 90_000)
    expectOrder(runs)
    expect(total).toBeGreaterThan(50)
    it_.allowLeftovers()
  }, 180_000)
})

describe('a change', () => {
  it('ends when nothing is left of how it was, and the shards that are none any more are left alone', async () => {
    const { task, runs } = noting()
    await it_.worker([task])
    const hub = it_.hub()
    const of = await resharding()
    expect(await settle(of)).toMatchObject({ epoch: 0, names: ['q'] })
    await of.change(3)
    for (let n = 0; n < 20; n++) await hub.enqueue('sync:1.0', { key: `${n}`, n: 0 }, { key: `${n}` })
    await eventually(() => runs.length === 20)
    expect(await settle(of)).toMatchObject({ epoch: 3, names, earlier: undefined })
    expect(await of.change(3)).toMatchObject({ epoch: 3 })
    it_.allowLeftovers()
  }, 90_000)
})

describe('the record of shards', () => {
  it('is brought back by workers where it was lost', async () => {
    await it_.worker([noting().task])
    await (await resharding()).change(2)
    const lost = `${it_.namespace}:{shard.2.q}:shards`
    const hub = it_.hub()
    await eventually(async () => (await hub.queues())[0]?.shards?.length === 2)
    await it_.redis.del(lost)
    await eventually(async () => (await it_.redis.get(lost))?.includes('"epoch":2'))
    await it_.redis.del(`${it_.namespace}:{q}:shards`)
    await eventually(async () => (await it_.redis.get(`${it_.namespace}:{q}:shards`))?.includes('"epoch":2'))
    it_.allowLeftovers()
  })
})

describe('a shard that is none any more', () => {
  it('is served while anything waits there, or another worker holds something', async () => {
    const { task, runs } = gated('slow:1.0')
    const hub = it_.hub()
    await recordShards(it_, { epoch: 1, names }, names)
    const busy = await it_.worker([task], { slots: 2, jobSlots: 2 })
    await eventually(async () => (await placesOf(it_)).length === 3)
    const held = await hub.enqueue('slow:1.0', 1, { queue: 'shard.2.q', tracked: true })
    await eventually(() => runs.length === 1)
    const other = await it_.worker([task], { slots: 2, jobSlots: 2 })
    await eventually(async () => (await placesOf(it_)).length === 6)
    const later = await hub.enqueue('slow:1.0', 2, { queue: 'shard.3.q', tracked: true, delayMs: 3000 })
    const left: string[] = []
    let beats = 0
    for (const worker of [busy, other]) worker.events.on('worker:stopped', ({ queue }) => left.push(queue))
    await recordShards(it_, { epoch: 2, names: ['q'] }, names)
    other.events.on('worker:beat', ({ queue }) => {
      if (queue === 'shard.2.q') beats++
    })
    await eventually(() => beats === 3)
    expect(left).toEqual([])
    runs.shift()!.end()
    await eventually(() => left.length === 2)
    expect(left).toEqual(['shard.2.q', 'shard.2.q'])
    await eventually(() => runs.length === 1)
    runs.shift()!.end()
    expect(await Promise.all([held.result(), later.result()])).toEqual([null, null])
    await eventually(() => left.length === 4)
    it_.allowLeftovers()
  })
})
