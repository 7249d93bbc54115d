import type { Hub } from 'pshub'
import { describe, expect, it } from 'vitest'
import { type Reading, Readings, type Watcher } from '../../registry/server/readings.ts'
import { sharedRead } from '../../registry/server/shared-read.ts'
import { eventually } from '../support/hub-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()

/** Something that looks, and what it was told. */
const watcher = (onReading: (reading: Reading) => void = () => undefined): Watcher & { seen: (Reading | string)[] } => {
  const seen: (Reading | string)[] = []
  return {
    seen,
    onReading: reading => {
      seen.push(reading)
      onReading(reading)
    },
    onProblem: message => void seen.push(message),
  }
}

/** An overview of an empty registry, as far as readings look into it. */
const nothing = { tasks: [], workers: [], unanswered: [] }

describe('readings', () => {
  it('are one for all who look, at first the last one', async () => {
    let reads = 0
    const hub = { overview: async () => ({ ...nothing, atMs: ++reads }) } as unknown as Hub
    const readings = new Readings(hub, watcher())
    fixture.onEnd(() => readings.close())
    const [one, other, late] = [watcher(), watcher(), watcher()]
    for (const each of [one, other]) fixture.onEnd(readings.watch(each))
    await eventually(() => one.seen.length > 0)
    expect([one.seen, reads]).toEqual([other.seen, 1])
    readings.watch(late)
    expect(late.seen).toEqual(one.seen)
    expect(await readings.latest()).toBe(one.seen[0])
  })

  it('go on for the others when one cannot be told', async () => {
    const hub = { overview: async () => ({ ...nothing, atMs: 1 }) } as unknown as Hub
    const readings = new Readings(hub, watcher())
    fixture.onEnd(() => readings.close())
    const broken = watcher(() => {
      throw new Error('broken')
    })
    const whole = watcher()
    for (const each of [broken, whole]) fixture.onEnd(readings.watch(each))
    await eventually(() => whole.seen.length > 1)
    expect(broken.seen[1]).toBe('The registry could not be read.')
  })
})

describe('what is read for many', () => {
  it('is read once in a while, and again after a failure', async () => {
    let reads = 0
    const read = sharedRead(async () => {
      if (++reads === 1) throw new Error('away')
      return reads
    }, 60_000)
    await expect(Promise.all([read(), read()])).rejects.toThrow('away')
    expect([await read(), await read(), reads]).toEqual([2, 2, 2])
  })
})

describe('a registry that cannot be had', () => {
  it('leaves no connection behind', async () => {
    const first = await fixture.registry()
    const clients = async () =>
      ((await fixture.redis.client('LIST')) as string).split('\n').filter(line => line.includes('pshub')).length
    await eventually(async () => (await clients()) > 0)
    const before = await clients()
    await expect(fixture.registry({ port: Number(new URL(first.url).port) })).rejects.toThrow(/EADDRINUSE/)
    await eventually(async () => (await clients()) === before)
  })
})
