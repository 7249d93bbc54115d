import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { type StatsdDaemon, startStatsd } from '../support/statsd-daemon.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

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

/** Everything that was sent under a prefix, the prefix left out. */
const sent = <T>(values: Record<string, T>, prefix: string): Record<string, T> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
    ),
  )

describe('a StatsD daemon', () => {
  it('gets the real length and age of a queue while nobody calls, from one worker, and from another when that is killed', async () => {
    const { redis, namespace } = server
    const { flushed } = daemon
    const prefixes = ['killed.', 'heir.']
    const args = (prefix: string) => [
      ...['--statsd', `127.0.0.1:${daemon.port}`, '--statsd-format', 'graphite', '--statsd-flush', '50ms'],
      ...['--statsd-prefix', prefix, '--lease', '2s', '--slots', '1'],
    ]
    const processes = []
    for (const prefix of prefixes) {
      const worker = await startWorkerProcess(server.url, namespace, { args: args(prefix) })
      server.onEnd(() => worker.signal('SIGKILL'))
      processes.push(worker)
      await eventually(() => flushed.gauges['killed.queue.backlog.q'] === 0)
    }
    const [reporting] = processes
    // Each worker has one slot: two requests run and three wait.
    const calls = [1, 2, 3, 4, 5].map(n =>
      failure(server.hub().call('once:1.0', { n, ms: 60_000 }, { timeoutMs: 60_000 })).catch(() => undefined),
    )
    await eventually(() => flushed.gauges['killed.queue.backlog.q'] === 3)
    await eventually(() => flushed.gauges['killed.queue.oldest.q']! > 1500, 30_000)
    expect(sent(flushed.gauges, 'heir.')['queue.backlog.q']).toBeUndefined()
    reporting!.signal('SIGKILL')
    await eventually(() => flushed.gauges['heir.queue.backlog.q'] !== undefined, 30_000)
    await eventually(() => flushed.gauges['heir.queue.oldest.q']! > 4000, 30_000)
    server.allowLeftovers()
    await redis.del(`${namespace}:{q}:calls`)
    await eventually(() => flushed.gauges['heir.queue.oldest.q'] === 0)
    expect(flushed.gauges['heir.queue.backlog.q']).toBe(0)
    void calls
  }, 120_000)

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
