import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { Resharding } from '../../src/queue/resharding.ts'
import { Connection } from '../../src/redis/connection.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { delay } from '../support/delay.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const resharding = async (queue = 'q'): Promise<Resharding> => {
  const connection = new Connection({ target: it_.url, name: 'test', stallMs: 2000 })
  it_.onEnd(() => connection.close())
  it_.onEnd(() =>
    it_.redis.del(
      ...['', 'shard.2.', 'shard.3.', 'shard.4.', 'shard.5.', 'shard.6.'].map(
        of => `${it_.namespace}:{${of}${queue}}:shards`,
      ),
    ),
  )
  connection.open()
  await connection.whenReady()
  return new Resharding(connection, makeKeys(it_.namespace), queue, 4000)
}

const settled = { signal: undefined, onLeft: () => undefined }
const settle = (of: Resharding) => of.settle(settled.onLeft)

/** A task whose jobs note when they ran, by key. */
const noting = (ms: () => number = () => 0) => {
  const runs: { key: string; n: number; from: number; to: number }[] = []
  let clock = 0
  const task = defineTask('sync:1.0', { keyed: 'ordered' }, async (args: unknown) => {
    const run = { ...(args as { key: string; n: number }), from: clock++, to: Number.POSITIVE_INFINITY }
    runs.push(run)
    await delay(ms(), 'a run that others might overlap')
    run.to = clock++
    return run.n
  })
  return { task, runs }
}

/** Each key's jobs ran in their order, one at a time, each once. */
const expectOrder = (runs: readonly { key: string; n: number; from: number; to: number }[]) => {
  for (const key of new Set(runs.map(run => run.key))) {
    const own = runs.filter(run => run.key === key)
    expect(own.map(({ n }) => n)).toEqual(own.map((_, n) => n))
    for (const [at, run] of own.entries()) if (at > 0) expect(run.from).toBeGreaterThan(own[at - 1]!.to)
  }
}

const names = ['q', 'shard.2.q', 'shard.3.q']

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
