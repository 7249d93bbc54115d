import { describe, expect, it } from 'vitest'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { gated } from '../support/noting-tasks.ts'

const it_ = useRedis()

describe('a shard that is none any more', () => {
  const names = ['q', 'shard.2.q', 'shard.3.q']
  const everywhere = async (record: object, places: readonly string[]) => {
    for (const place of places) await it_.redis.set(`${it_.namespace}:{${place}}:shards`, JSON.stringify(record))
    it_.onEnd(() => it_.redis.del(...places.map(place => `${it_.namespace}:{${place}}:shards`)))
  }
  const places = async () => {
    const cards = await it_.redis.hvals(`${it_.namespace}:workers`)
    return cards.map(card => JSON.parse(card).queue).sort()
  }
  const taken = { epoch: 2, names: ['q'] }

  it('is served while anything waits there, or another worker holds something', async () => {
    const { task, runs } = gated('slow:1.0')
    const hub = it_.hub()
    await everywhere({ epoch: 1, names }, names)
    const busy = await it_.worker([task], { slots: 2, jobSlots: 2 })
    await eventually(async () => (await places()).length === 3)
    const held = await hub.enqueue('slow:1.0', 1, { queue: 'shard.2.q', tracked: true })
    await eventually(() => runs.length === 1)
    const other = await it_.worker([task], { slots: 2, jobSlots: 2 })
    await eventually(async () => (await places()).length === 6)
    const later = await hub.enqueue('slow:1.0', 2, { queue: 'shard.3.q', tracked: true, delayMs: 3000 })
    const left: string[] = []
    let beats = 0
    for (const worker of [busy, other]) worker.events.on('worker:stopped', ({ queue }) => left.push(queue))
    await everywhere(taken, names)
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
