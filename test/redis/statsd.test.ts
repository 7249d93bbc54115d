import { createSocket } from 'node:dgram'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineTask, type Hub, PutOff, TaskError } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
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

const nap = defineTask(
  'nap:1.0',
  { args: { type: 'object', properties: { ms: { type: 'integer' } } } },
  async ({ ms = 0 }) => {
    await delay(ms, 'runs of known lengths')
    return ms
  },
)
const fail = defineTask('fail:2.1', {}, () => {
  throw new TaskError('no')
})

const ofJobs = [
  ...['', '_oldest', '_scheduled', '_retrying', '_dead'].map(end => `queue.jobs${end}`),
  ...['', '_running', '_lag', '_longest'].map(end => `queue.keys${end}`),
]

/** Everything that was sent under a prefix, the prefix left out. */
const sent = <T>(values: Record<string, T>, prefix: string): Record<string, T> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
    ),
  )

/** A known load: 20 naps of 30 ms, 3 failures, and calls that are refused in each place where that happens. */
const load = async (hub: Hub) => {
  for (let n = 0; n < 20; n += 4) await Promise.all([1, 2, 3, 4].map(() => hub.call('nap:1.0', { ms: 30 })))
  for (let n = 0; n < 3; n++) expect((await failure(hub.call('fail:2.1'))).code).toBe('TaskFailed')
  expect((await failure(hub.call('nap:1.0', { ms: 'long' }))).code).toBe('InvalidArgs')
  expect((await failure(hub.call('never:1.0'))).code).toBe('NoSuchTask')
  expect((await failure(hub.call('nap:1.0', { ms: 400 }, { timeoutMs: 100 }))).code).toBe('Timeout')
}

describe('a StatsD daemon', () => {
  it('gets names, types and values of what happened, and exactly as many', async () => {
    const hub = server.hub(graphite('hub.'))
    const worker = await server.worker([nap, fail], { ...graphite('worker.'), slots: 4 })
    const ended = new Promise<void>(resolve => {
      let count = 0
      worker.events.on('task:settled', () => ++count === 25 && resolve())
    })
    await load(hub)
    // One that a caller in another language pushed without looking at the schema, one that is no request, one too late.
    const { redis, namespace } = server
    const calls = `${namespace}:{q}:calls`
    await redis.rpush(
      calls,
      '{"id":"raw","task":"nap:1.0","args":{"ms":"long"}}',
      'garbage',
      '{"at":1,"ttl":1,"id":"x"}',
    )
    await ended
    const { flushed } = daemon
    await eventually(() => flushed.counters['worker.worker.rejected.q.Expired'] === 1)
    // A beat may have come while they waited; the next one tells that they do not any more.
    await eventually(() => flushed.gauges['worker.queue.backlog.q'] === 0)
    await worker.stop()
    await hub.close()
    // The second one of this process, and each after that, has a number behind its name.
    const first = `q.web_1-${process.pid}`
    const slotsOf = Object.keys(flushed.gauges).filter(name => name.startsWith(`worker.worker.slots.${first}`))
    expect(slotsOf).toHaveLength(1)
    await eventually(() => flushed.gauges[slotsOf[0]!] === 0)

    expect(sent(flushed.counters, 'hub.')).toEqual({
      'call.ok.nap_1_0': 20,
      'call.failed.fail_2_1.TaskFailed': 3,
      'call.failed.nap_1_0.Timeout': 1,
      'call.rejected.nap_1_0.InvalidArgs': 1,
      'call.rejected.NoSuchTask': 1,
    })
    expect(sent(flushed.counters, 'worker.')).toEqual({
      'worker.failed.q.fail_2_1.TaskFailed': 3,
      'worker.rejected.q.nap_1_0.InvalidArgs': 1,
      'worker.malformed.q': 1,
      'worker.rejected.q.Expired': 1,
    })
    expect(sent(flushed.counts, 'hub.')).toEqual({ 'call.time.nap_1_0': 21, 'call.time.fail_2_1': 3 })
    expect(sent(flushed.counts, 'worker.')).toEqual({
      'queue.backlog_wait.q.nap_1_0': 22,
      'queue.backlog_wait.q.fail_2_1': 3,
      'worker.queue_wait.q.nap_1_0': 22,
      'worker.queue_wait.q.fail_2_1': 3,
      'worker.exec.q.nap_1_0': 21,
      'worker.exec.q.fail_2_1': 3,
    })
    const gauges = sent(flushed.gauges, 'worker.')
    const own = slotsOf[0]!.replace('worker.worker.slots.', '')
    const ofProcess = ['worker.busy', 'worker.slots', 'worker.loop_delay.mean', 'worker.loop_delay.max']
    expect(Object.keys(gauges).sort()).toEqual(
      [
        'queue.backlog.q',
        'queue.oldest.q',
        ...ofJobs.map(name => `${name}.q`),
        ...ofProcess.map(name => `${name}.${own}`),
      ].sort(),
    )
    expect([gauges['queue.backlog.q'], gauges['queue.oldest.q']]).toEqual([0, 0])
    expect(sent(flushed.gauges, 'hub.')).toEqual({})
  })

  it('hears of what was adopted and given to another worker', async () => {
    const { redis, namespace } = server
    const { flushed } = daemon
    const tasks = [defineTask('again:1.0', { idempotent: true }, () => 1), defineTask('once:1.0', {}, () => 1)]
    const text = (start: string) => `{"at":1,"ttl":0,${start}:1.0"}`
    const held = { a: text('"id":"a","idempotent":true,"task":"again'), b: text('"id":"b","task":"once') }
    await redis.hset(`${namespace}:{q}:held:gone`, held)
    await redis.zadd(`${namespace}:{q}:leases`, 1, 'gone')
    await server.worker(tasks, graphite('adopt.'))
    await eventually(() => flushed.counters['adopt.worker.adopted.q'] === 2)
    await eventually(() => flushed.counters['adopt.worker.redelivered.q.again_1_0'] === 1)
    await eventually(() => flushed.counts['adopt.worker.exec.q.again_1_0'] === 1)
  })

  it('hears how late jobs started, what became of them, and what is kept', async () => {
    const { flushed } = daemon
    let isTime = false
    const wait = defineTask('wait:1.0', {}, () => {
      if (!isTime) throw new PutOff(100)
    })
    const worker = await server.worker([wait, fail], graphite('jobs.'))
    const hub = server.hub()
    await hub.enqueue('wait:1.0')
    await hub.enqueue('fail:2.1', {}, { retries: 1, backoff: 1 })
    await hub.enqueue('wait:1.0', {}, { delayMs: 3_600_000 })
    await eventually(() => flushed.counters['jobs.job.put_off.q.wait_1_0']! >= 2)
    isTime = true
    await eventually(() => flushed.counters['jobs.job.dead.q.fail_2_1'] === 1)
    await eventually(() => flushed.counts['jobs.job.lateness.q.wait_1_0'] === 1)
    await eventually(() => flushed.gauges['jobs.queue.jobs_scheduled.q'] === 1)
    await eventually(() => flushed.gauges['jobs.queue.jobs_dead.q'] === 1)
    expect(flushed.counters['jobs.job.retried.q.fail_2_1.TaskFailed']).toBe(1)
    expect(flushed.counts['jobs.job.lateness.q.fail_2_1']).toBe(2)
    expect(flushed.timers['jobs.job.lateness.q.wait_1_0']![0]).toBeGreaterThanOrEqual(0)
    const { workers, queues } = await hub.overview()
    const figures = await eventually(async () => {
      const { jobs } = (await hub.overview()).workers[0]!.stats!
      return jobs?.ran === 3 ? jobs : undefined
    })
    expect(figures).toMatchObject({ ran: 3, retried: 1, dead: 1, lateMs: { max: expect.any(Number) } })
    expect(figures!.putOff).toBeGreaterThanOrEqual(2)
    expect([workers.length, queues[0]!.scheduled, queues[0]!.dead, queues[0]!.oldestJobMs]).toEqual([
      1,
      1,
      1,
      undefined,
    ])
    await worker.stop()
    server.allowLeftovers()
  })
})

describe('the DogStatsD format', () => {
  it('carries the same with tags', async () => {
    const socket = createSocket('udp4')
    const lines: string[] = []
    socket.on('message', data => lines.push(...String(data).split('\n').filter(Boolean)))
    await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
    const statsd = `udp://127.0.0.1:${socket.address().port}`
    const worker = await server.worker([nap, fail], { statsd, statsdFlushMs: 50 })
    const hub = server.hub({ statsd, statsdFlushMs: 50, name: 'shop, #1|east', statsdPrefix: 'x.' })
    await hub.call('nap:1.0', { ms: 1 })
    await failure(hub.call('fail:2.1'))
    await eventually(() => lines.some(line => line.startsWith('pshub.queue.backlog')))
    await Promise.all([hub.close(), worker.stop()])
    socket.close()
    const shapes = [
      ...new Set(lines.map(line => line.replace(/:[\d.]+\|/, ':N|').replace(/\d+(-\d+)?$/, 'PID'))),
    ].sort()
    const name = `name:${(await import('node:os')).hostname().slice(0, 64)}`
    const queue = '#queue:q'
    const gauge = (metric: string) => `pshub.worker.${metric}:N|g|${queue},worker:${name.slice(5)}-PID,${name}`
    const timings = ['queue.backlog_wait', 'worker.exec', 'worker.queue_wait'].flatMap(metric =>
      ['fail:2.1', 'nap:1.0'].map(task => `pshub.${metric}:N|ms|${queue},task:${task},${name}`),
    )
    expect(shapes.map(shape => shape.replace(/-\d+(-\d+)?,name/, '-PID,name'))).toEqual(
      [
        ...['fail:2.1', 'nap:1.0'].map(task => `x.call.time:N|ms|#task:${task},name:shop___1_east`),
        'x.call.ok:N|c|#task:nap:1.0,name:shop___1_east',
        'x.call.failed:N|c|#task:fail:2.1,code:TaskFailed,name:shop___1_east',
        ...timings,
        `pshub.worker.failed:N|c|${queue},task:fail:2.1,code:TaskFailed,${name}`,
        ...['busy', 'slots', 'loop_delay.mean', 'loop_delay.max'].map(gauge),
        `pshub.queue.backlog:N|g|${queue},${name}`,
        `pshub.queue.oldest:N|g|${queue},${name}`,
        ...ofJobs.map(metric => `pshub.${metric}:N|g|${queue},${name}`),
      ].sort(),
    )
  })
})
