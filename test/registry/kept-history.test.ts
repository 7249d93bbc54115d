import type { Overview } from 'pshub'
import { Hub } from 'pshub'
import { describe, expect, it } from 'vitest'
import { HistoryStore } from '../../registry/server/history.ts'
import { KeptHistory } from '../../registry/server/kept-history.ts'
import { rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const minute = 60_000

const reading = (atMs: number, calls: number) => {
  const load = { callsPerSecond: calls, errorRate: 0, us: {} }
  const overview = {
    atMs,
    tasks: [{ task: 't:1.0', queue: 'q', digest: 'd', workers: [], load }],
    workers: [],
    queues: [],
    load,
  } as unknown as Overview
  return { tookMs: 1, overview }
}

const hubOf = (redis = fixture.url) => {
  const hub = new Hub({ name: 'charts', redis, namespace: fixture.namespace, logLevel: 'silent' })
  fixture.onEnd(() => hub.close())
  return hub
}

const registryOf = (hub: Hub) => {
  const lines: string[] = []
  const history = new HistoryStore()
  const log = { warn: (line: string) => void lines.push(line) } as never
  return { history, lines, kept: new KeptHistory(history, hub, log) }
}

const calls = (history: HistoryStore, range: '1h' | '1d' | '30d') =>
  history.read('task', 't:1.0', range).series.callsPerSecond.filter(value => value !== null)

describe('charts', () => {
  it('survive a restart, and of two registries the first one keeps a minute', async () => {
    const hub = hubOf()
    const { atMs } = await hub.overview()
    const from = Math.floor(atMs / minute) * minute - 5 * minute
    const key = makeKeys(fixture.namespace).chart('minute', from / minute)
    const first = registryOf(hub)
    for (const [at, value] of [
      [0, 2],
      [1000, 4],
      [minute, 8],
      [2 * minute, 9],
    ] as const)
      first.kept.onReading(reading(from + at, value))
    await expect
      .poll(() => fixture.redis.exists(makeKeys(fixture.namespace).chart('minute', from / minute + 1)))
      .toBe(1)
    expect(await fixture.redis.pttl(key)).toBeGreaterThan(86_000_000)
    const text = await fixture.redis.get(key)
    await hub.charts.write('minute', from / minute, '[]')
    expect(await fixture.redis.get(key)).toBe(text)
    const other = (before: number) => makeKeys(fixture.namespace).chart('minute', from / minute - before)
    await fixture.redis.rpush(other(1), 'a list')
    await fixture.redis.set(other(2), '{"no":["record"')
    await fixture.redis.set(makeKeys(fixture.namespace).chart('hour', Math.floor(atMs / 3600_000) - 3), '\xff\0')
    fixture.allowStrangers()
    const again = registryOf(hubOf())
    await again.kept.restore()
    again.history.onReading(reading(atMs, 1))
    expect(calls(again.history, '1h')).toEqual([3, 8, 1])
    expect(calls(again.history, '30d').length).toBeGreaterThan(0)
    expect([first.lines, again.lines]).toEqual([[], []])
  }, 30_000)

  it('have deploys with them, which are there after a restart, and what came meanwhile', async () => {
    const hub = hubOf()
    const { atMs } = await hub.overview()
    const from = Math.floor(atMs / minute) * minute - 5 * minute
    const serving = (at: number, ...tasks: string[]) => {
      const { tookMs, overview } = reading(at, 1)
      const load = overview.load
      const served = tasks.map(task => ({ task, queue: 'q', digest: 'd', workers: ['w'], load }))
      return { tookMs, overview: { ...overview, tasks: served } as unknown as Overview }
    }
    const first = registryOf(hub)
    first.kept.onReading(serving(from, 't:1.0'))
    first.kept.onReading(serving(from + 1000, 't:1.0', 't:2.0'))
    first.kept.onReading(serving(from + minute, 't:2.0'))
    const key = makeKeys(fixture.namespace).chart('minute', from / minute)
    await expect.poll(() => fixture.redis.exists(key)).toBe(1)
    fixture.allowLeftovers()
    const again = registryOf(hubOf())
    await again.kept.restore()
    again.kept.onReading(serving(atMs, 't:2.0', 't:3.0'))
    for (const range of ['1h', '30d'] as const)
      expect(again.history.read('task', 't:1.0', range).deploys).toEqual([
        { atMs: from + 1000, kind: 'task', what: 't:2.0', queue: 'q' },
        { atMs, kind: 'task', what: 't:3.0', queue: 'q' },
      ])
    expect([first.lines, again.lines]).toEqual([[], []])
  }, 30_000)

  it('are in memory alone where the Redis user may not, which is said once', async () => {
    const rules = `on >secret resetkeys resetchannels -@all ${rulesOf('view', makeKeys(fixture.namespace))}`
    await fixture.redis.call('ACL', 'SETUSER', 'chartless', ...rules.split(' '))
    fixture.onEnd(() => fixture.redis.call('ACL', 'DELUSER', 'chartless'))
    const url = new URL(fixture.url)
    Object.assign(url, { username: 'chartless', password: 'secret' })
    const { kept, lines, history } = registryOf(hubOf(url.href))
    await kept.restore()
    expect(lines).toEqual([expect.stringContaining('charts cannot be saved in Redis')])
    for (const at of [0, 1, 2]) kept.onReading(reading(1e12 + at * minute, 5))
    expect(calls(history, '1h')).toEqual([5, 5, 5])
    expect(lines).toHaveLength(1)
  }, 30_000)
})
