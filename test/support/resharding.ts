import { expect } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { Resharding } from '../../src/queue/resharding.ts'
import { Connection } from '../../src/redis/connection.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { delay } from './delay.ts'
import type { Fixture } from './hub-fixture.ts'

export const names = ['q', 'shard.2.q', 'shard.3.q'] as const

/** Changes the number of shards of queue q. */
export const reshardingOf = async (it_: Fixture): Promise<Resharding> => {
  const connection = new Connection({ target: it_.url, name: 'test', stallMs: 2000 })
  it_.onEnd(() => connection.close())
  const places = ['q', ...[2, 3, 4, 5].map(n => `shard.${n}.q`)]
  it_.onEnd(() => it_.redis.del(...places.map(place => `${it_.namespace}:{${place}}:shards`)))
  connection.open()
  await connection.whenReady()
  return new Resharding(connection, makeKeys(it_.namespace), 'q', 4000)
}

/** A task whose jobs note when they ran, by key. */
export const noting = (ms: () => number = () => 0) => {
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
export const expectOrder = (runs: readonly { key: string; n: number; from: number; to: number }[]) => {
  for (const key of new Set(runs.map(run => run.key))) {
    const own = runs.filter(run => run.key === key)
    expect(own.map(({ n }) => n)).toEqual(own.map((_, n) => n))
    for (const [at, run] of own.entries()) if (at > 0) expect(run.from).toBeGreaterThan(own[at - 1]!.to)
  }
}

/** Writes the record of shards to these places. */
export const recordShards = async (it_: Fixture, record: object, places: readonly string[]): Promise<void> => {
  const keys = places.map(place => `${it_.namespace}:{${place}}:shards`)
  for (const key of keys) await it_.redis.set(key, JSON.stringify(record))
  it_.onEnd(() => it_.redis.del(...keys))
}

/** The places of all workers, as their cards say. */
export const placesOf = async (it_: Fixture): Promise<string[]> => {
  const cards = await it_.redis.hvals(`${it_.namespace}:workers`)
  return cards.map(card => JSON.parse(card).queue).sort()
}
