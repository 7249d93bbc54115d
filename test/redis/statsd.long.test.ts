import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { type StatsdDaemon, startStatsd } from '../support/statsd-daemon.ts'

const server = useRedis()

let daemon: StatsdDaemon
beforeAll(async () => {
  daemon = await startStatsd()
})
afterAll(() => daemon.stop())

const graphite = (statsdPrefix: string) => ({
  statsd: `127.0.0.1:${daemon.port}`,
  statsdFormat: 'graphite' as const,
  statsdPrefix,
  statsdFlushMs: 50,
  name: 'web.1',
})

describe('a StatsD daemon', () => {
  it('counts right what was sampled', async () => {
    const { flushed } = daemon
    const echo = defineTask('echo:1.0', {}, n => n)
    const worker = await server.worker([echo], { ...graphite('few.'), statsdSampleRate: 0.1, slots: 64 })
    const hub = server.hub(graphite('many.'))
    for (let n = 0; n < 10; n++) await Promise.all(Array.from({ length: 200 }, () => hub.call('echo:1.0', n)))
    await hub.close()
    await worker.stop()
    await eventually(() => flushed.counters['many.call.ok.echo_1_0'] === 2000)
    await eventually(() => Math.round(flushed.counts['few.worker.exec.q.echo_1_0'] ?? 0) >= 1900)
    // All are counted; those of the last flush may have had no sample among them.
    expect(flushed.counts['few.worker.exec.q.echo_1_0']).toBeLessThan(2001)
    const values = flushed.timers['few.worker.exec.q.echo_1_0']!.length
    expect(values).toBeGreaterThan(80)
    expect(values).toBeLessThan(320)
    // Under load a part is sent, whatever the rate is, and the daemon still counts all of it.
    expect(Math.round(flushed.counts['many.call.time.echo_1_0']!)).toBe(2000)
    expect(flushed.timers['many.call.time.echo_1_0']!.length).toBeLessThan(2000)
  })
})
