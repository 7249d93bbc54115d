import { describe, expect, it } from 'vitest'
import { Catalogue } from '../../src/catalogue/catalogue.ts'
import { FieldWrites, Registrar } from '../../src/catalogue/registrar.ts'
import { Events } from '../../src/figures/events.ts'
import { Queue } from '../../src/queue/queue.ts'
import type { Redis } from '../../src/redis/connection.ts'
import { readSettings } from '../../src/settings/read.ts'
import { newId } from '../../src/wire/ids.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const keys = () => makeKeys(it_.namespace)

/** The same client, and how many fields of hashes were read through it. */
const counting = () => {
  const read = { fields: 0 }
  const client = {
    sendCommand: (command: { name: string; args: unknown[] }) => {
      if (command.name === 'hmget') read.fields += command.args.length - 1
      return it_.redis.sendCommand(command as Parameters<typeof it_.redis.sendCommand>[0])
    },
  } as unknown as Redis
  return { client, read }
}

/** So many live workers of two slots; the lease of the first one ends first. */
const putWorkers = async (count: number, tasksOf: (n: number) => string[], isDraining = (_: number) => false) => {
  const pipeline = it_.redis.pipeline()
  const { workers, stats, queue } = keys()
  for (let n = 0; n < count; n++) {
    const id = `w${n}`
    const tasks = Object.fromEntries(tasksOf(n).map(task => [task, 'd']))
    pipeline.hset(workers, id, JSON.stringify({ id, queue: 'q', host: 'h', pid: n, slots: 2, tasks }))
    pipeline.hset(stats, id, JSON.stringify({ seen: Date.now(), busy: 0, draining: isDraining(n) }))
    pipeline.zadd(queue('q').leases, Date.now() + 600_000 + n, id)
  }
  await pipeline.exec()
}

describe('a look at a queue of many workers', () => {
  it('reads some of them, and counts the others', async () => {
    await putWorkers(1000, n => (n % 2 === 0 ? ['all:1.0', 'half:1.0'] : ['all:1.0']))
    const { client, read } = counting()
    const catalogue = new Catalogue(keys())
    expect(await catalogue.slots(client, 'q', 'all:1.0')).toBe(2000)
    expect(await catalogue.slots(client, 'q', 'half:1.0')).toBe(1000)
    expect(read.fields).toBeLessThan(100)
    await it_.redis.del(keys().queue('q').leases)
  })

  it('finds the one worker of a task, wherever it is, and the one that takes calls while others leave', async () => {
    await putWorkers(
      200,
      n => (n === 150 ? ['own:1.0', 'all:1.0'] : ['all:1.0']),
      n => n !== 150,
    )
    const catalogue = new Catalogue(keys())
    expect(await catalogue.slots(it_.redis, 'q', 'own:1.0')).toBe(2)
    expect(await catalogue.slots(it_.redis, 'q', 'all:1.0')).toBe(400)
    expect(await catalogue.slots(it_.redis, 'q', 'none:1.0')).toBe(0)
    await it_.redis.hset(keys().stats, 'w150', JSON.stringify({ seen: Date.now(), draining: true }))
    expect(await catalogue.slots(it_.redis, 'q', 'all:1.0')).toBe(0)
    await it_.redis.del(keys().queue('q').leases)
  })
})

const makeRegistrar = () =>
  new Registrar({
    keys: keys(),
    queue: new Queue('q', keys()),
    tasks: () => [],
    serves: () => false,
    settings: readSettings('worker', { options: {}, env: {} }),
    events: new Events(),
    writes: new FieldWrites(),
  })

const nothing = { tasks: undefined, slow: undefined, failures: undefined }
const said = (seen: number, draining = false) => ({
  stats: {
    seen,
    busy: 0,
    draining,
    counters: { ok: 0, rejected: 0, failed: 0, expired: 0, malformed: 0, unserved: 0 },
  },
  measured: () => nothing,
})

const putStats = async (count: number, seen: number, prefix = 'w') => {
  const pipeline = it_.redis.pipeline()
  for (let n = 0; n < count; n++) pipeline.hset(keys().stats, `${prefix}${n}`, JSON.stringify({ seen }))
  await pipeline.exec()
}

describe('a worker among many', () => {
  it.each([
    [1000, 12],
    [5000, 4],
    [50_000, 1],
  ])('tells how it is the less often the more there are: of %i', async (count, times) => {
    const now = Date.now()
    await putStats(count, now)
    const registrar = makeRegistrar()
    const id = newId()
    await registrar.publish(it_.redis, id, now, said(now))
    let told = 0
    for (let beat = 1; beat <= 12; beat++) {
      await registrar.publish(it_.redis, id, now + beat, said(now + beat))
      if (JSON.parse((await it_.redis.hget(keys().stats, id))!).seen === now + beat) told++
    }
    expect(told).toBeGreaterThanOrEqual(times)
    expect(told).toBeLessThanOrEqual(count > 20_000 ? 2 : times)
    await registrar.publish(it_.redis, id, now + 20, said(now + 20, true))
    await registrar.publish(it_.redis, id, now + 21, said(now + 21, true))
    expect(JSON.parse((await it_.redis.hget(keys().stats, id))!)).toMatchObject({ seen: now + 21, draining: true })
  })
})
