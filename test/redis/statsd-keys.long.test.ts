import { afterAll, beforeAll, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { type StatsdDaemon, startStatsd } from '../support/statsd-daemon.ts'

const server = useRedis()

let daemon: StatsdDaemon
beforeAll(async () => {
  daemon = await startStatsd()
})
afterAll(() => daemon.stop())

it('a StatsD daemon hears how many keys wait and run, how late they are, and for how long', async () => {
  const { flushed } = daemon
  const graphite = {
    statsd: `127.0.0.1:${daemon.port}`,
    statsdFormat: 'graphite' as const,
    statsdPrefix: 'keys.',
    statsdFlushMs: 50,
  }
  const gauge = (name: string) => flushed.gauges[`keys.queue.${name}.q`]!
  let end: () => void = () => undefined
  const sync = defineTask('sync:1.0', { keyed: 'merged' }, () => new Promise<void>(resolve => (end = resolve)))
  await server.worker([sync], { ...graphite, slots: 1 })
  const hub = server.hub()
  await hub.enqueue('sync:1.0', 1, { key: 'a' })
  await eventually(() => gauge('keys_running') === 1)
  await hub.enqueue('sync:1.0', 1, { key: 'b' })
  const later = { key: 'c', delayMs: 3_600_000 }
  await hub.enqueue('sync:1.0', 1, later)
  await eventually(() => gauge('keys') === 2 && gauge('keys_lag') > 100)
  await eventually(() => gauge('keys_longest') > gauge('keys_lag'))
  end()
  await eventually(() => gauge('keys') === 1 && gauge('keys_lag') === 0)
  end()
  await eventually(() => gauge('keys_running') === 0 && gauge('keys_longest') === 0)
  expect(await (await hub.key('sync:1.0', 'c')).delete()).toBe(1)
})
