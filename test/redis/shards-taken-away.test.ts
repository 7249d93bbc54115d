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

  it('is served until nothing is held there, left with all that tells of it, and served again when it is one again', async () => {
    const { task, runs } = gated('slow:1.0')
    await everywhere({ epoch: 1, names }, names)
    const worker = await it_.worker([task], { slots: 3 })
    const hub = it_.hub()
    const left: string[] = []
    worker.events.on('worker:stopped', ({ queue }) => left.push(queue))
    await eventually(async () => (await places()).length === 3)
    const running = hub.call('slow:1.0', 1, { queue: 'shard.2.q', timeoutMs: 20_000 })
    await eventually(() => runs.length === 1)
    await everywhere(taken, names)
    await eventually(() => left.length > 0)
    expect(left).toEqual(['shard.3.q'])
    expect(await places()).toEqual(['q', 'shard.2.q'])
    runs.shift()!.end()
    await running
    await eventually(async () => (await places()).length === 1)
    expect(await it_.redis.keys(`${it_.namespace}:{shard.*:leases`)).toEqual([])
    expect(worker.look().map(({ queue }) => queue)).toEqual(['q'])
    const here = hub.call('slow:1.0', 2, { queue: 'q' })
    await eventually(() => runs.length === 1)
    runs.shift()!.end()
    await here
    await everywhere({ epoch: 3, names: names.slice(0, 2), coming: true, earlier: ['q'] }, names.slice(0, 2))
    await eventually(async () => (await places()).length === 2)
    const again = hub.call('slow:1.0', 3, { queue: 'shard.2.q' })
    await eventually(() => runs.length === 1)
    runs.shift()!.end()
    await again
    it_.allowLeftovers()
  })
})
