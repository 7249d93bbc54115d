import { describe, expect, it } from 'vitest'
import { Resharding } from '../../src/queue/resharding.ts'
import { homeOf, shardsText } from '../../src/queue/shards.ts'
import { Connection } from '../../src/redis/connection.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { gated } from '../support/noting-tasks.ts'
import { expectOrder, names, noting, placesOf, recordShards, reshardingOf } from '../support/resharding.ts'

const it_ = useRedis()

const resharding = () => reshardingOf(it_)

describe('a queue that is spread over shards', () => {
  it('is served by its workers, with one pool of slots, and takes calls and jobs in all of them', async () => {
    const { task, runs } = gated('slow:1.0')
    const worker = await it_.worker([task], { slots: 3, jobSlots: 3 })
    const hub = it_.hub()
    const pushed = new Set<string>()
    hub.events.on('queue:pushed', ({ queue }) => pushed.add(queue))
    const changed = await (await resharding()).change(3)
    expect(changed).toMatchObject({ epoch: 2, names, isComing: false, earlier: ['q'] })
    await eventually(async () => (await hub.queues())[0]?.shards?.filter(({ workers }) => workers === 1).length === 3)
    // What hubs know of a route is older for a moment.
    await eventually(async () => {
      const calls = Array.from({ length: 12 }, (_, n) => hub.call('slow:1.0', n, { timeoutMs: 20_000 }))
      const ended = Promise.all(calls)
      for (let end = 0; end < 12; end++) {
        await eventually(() => runs.length > 0)
        expect(runs.length).toBeLessThanOrEqual(3)
        expect(worker.busy).toBeLessThanOrEqual(3)
        runs.shift()!.end()
      }
      await ended
      return pushed.size === 3
    })
    const { ids } = await hub.enqueueMany(
      Array.from({ length: 9 }, (_, n) => ['slow:1.0', n] as const),
      { tracked: true },
    )
    const jobs = await Promise.all(ids.map(id => hub.job(id, { queue: 'q' })))
    expect(jobs.map(({ queue }) => queue).sort()).toEqual(names.flatMap(name => [name, name, name]))
    for (let end = 0; end < 9; end++) {
      await eventually(() => runs.length > 0)
      runs.shift()!.end()
    }
    expect(await Promise.all(jobs.map(job => job.result()))).toHaveLength(9)
    it_.allowLeftovers()
  })
})

describe('jobs with a key in shards', () => {
  it('that wait when the number changes are run where they belong then, and told of to who waits for them', async () => {
    const { task, runs } = noting()
    const hub = it_.hub()
    const key = ['a', 'b', 'c', 'd'].find(each => homeOf(names as never, each) !== 'q')!
    const jobs = []
    const first = await it_.worker([task], { slots: 1, jobSlots: 0 })
    for (let n = 0; n < 5; n++)
      jobs.push(await hub.enqueue('sync:1.0', { key, n }, { key, tracked: true, delayMs: n === 4 ? 50 : undefined }))
    await (await resharding()).change(3)
    await first.stop()
    await it_.worker([task], { slots: 2, jobSlots: 2 })
    expect(await Promise.all(jobs.map(job => job.result()))).toEqual([0, 1, 2, 3, 4])
    expectOrder(runs)
    expect(new Set(jobs.map(({ queue }) => queue))).toEqual(new Set([homeOf(names as never, key)]))
    expect(await jobs[0]!.status()).toMatchObject({ state: 'done', queue: homeOf(names as never, key) })
    expect((await hub.job(jobs[0]!.id)).queue).toBe(homeOf(names as never, key))
    it_.allowLeftovers()
  })
})

describe('a change', () => {
  it('that two begin at once is one of them, and the other one is told', async () => {
    const [one, other] = [await resharding(), await resharding()]
    const outcomes = await Promise.allSettled([one.change(2), other.change(3)])
    const failed = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    expect(failed).toHaveLength(1)
    expect(failed[0]!.reason.message).toMatch(/Somebody else changes the shards of q/)
    const { names: chosen } = await one.read()
    expect(chosen).toHaveLength(outcomes[0]!.status === 'fulfilled' ? 2 : 3)
  })

  it('that ended in the middle goes on', async () => {
    const of = await resharding()
    const begun = { epoch: 1, names: ['q', 'shard.2.q'] as const, isComing: true, earlier: ['q'] as const }
    await it_.redis.set(`${it_.namespace}:{q}:shards`, shardsText(begun as never))
    expect(await of.change(2)).toMatchObject({ epoch: 2, isComing: false })
    expect(await it_.redis.get(`${it_.namespace}:{shard.2.q}:shards`)).toContain('"epoch":2')
  })

  it('is refused for what cannot be', async () => {
    const of = await resharding()
    for (const count of [0, 1.5, 257]) expect((await failure(of.change(count))).message).toMatch(/1 to 256 shards/)
    const connection = new Connection({ target: it_.url, name: 'test', stallMs: 2000 })
    const make = (queue: string) => () => new Resharding(connection, makeKeys('t'), queue)
    expect(make('shard.2.q')).toThrow('shard.2.q is a shard; name its queue, q.')
    expect(make('q'.repeat(51))).toThrow('has 50 characters at most')
    expect(make('no queue')).toThrow('is not the name of a queue')
  })
})

it('a worker that is told to serve a shard serves all of its queue', async () => {
  const { task } = noting()
  const worker = await it_.worker([task], { queue: 'shard.2.q' })
  await (await resharding()).change(2)
  const hub = it_.hub()
  await eventually(async () => (await hub.workers()).length === 2)
  expect((await hub.workers()).map(({ queue }) => queue).sort()).toEqual(['q', 'shard.2.q'])
  expect(worker.busy).toBe(0)
  it_.allowLeftovers()
})

describe('a shard that is none any more', () => {
  it('is served until nothing is held there, left with all that tells of it, and served again when it is one again', async () => {
    const { task, runs } = gated('slow:1.0')
    await recordShards(it_, { epoch: 1, names }, names)
    const worker = await it_.worker([task], { slots: 3 })
    const hub = it_.hub()
    const left: string[] = []
    worker.events.on('worker:stopped', ({ queue }) => left.push(queue))
    await eventually(async () => (await placesOf(it_)).length === 3)
    const running = hub.call('slow:1.0', 1, { queue: 'shard.2.q', timeoutMs: 20_000 })
    await eventually(() => runs.length === 1)
    await recordShards(it_, { epoch: 2, names: ['q'] }, names)
    await eventually(() => left.length > 0)
    expect(left).toEqual(['shard.3.q'])
    expect(await placesOf(it_)).toEqual(['q', 'shard.2.q'])
    runs.shift()!.end()
    await running
    await eventually(async () => (await placesOf(it_)).length === 1)
    expect(await it_.redis.keys(`${it_.namespace}:{shard.*:leases`)).toEqual([])
    expect(worker.look().map(({ queue }) => queue)).toEqual(['q'])
    const here = hub.call('slow:1.0', 2, { queue: 'q' })
    await eventually(() => runs.length === 1)
    runs.shift()!.end()
    await here
    await recordShards(it_, { epoch: 3, names: names.slice(0, 2), coming: true, earlier: ['q'] }, names.slice(0, 2))
    await eventually(async () => (await placesOf(it_)).length === 2)
    const again = hub.call('slow:1.0', 3, { queue: 'shard.2.q' })
    await eventually(() => runs.length === 1)
    runs.shift()!.end()
    await again
    it_.allowLeftovers()
  })
})
