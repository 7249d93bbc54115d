import { expect, it } from 'vitest'
import { defineTask, type EventMap, Worker } from '../../src/index.ts'
import { functionOf } from '../../src/redis/library.ts'
import { blockLoop } from '../support/block-loop.mjs'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

/** A handler that blocks the event loop. What takes leases of several seconds is in the long suite. */
const it_ = useRedis()

const block = defineTask('block:1.0', { timeoutMs: 60_000 }, ms => blockLoop(ms as number))

it('a thread renews the lease of a worker whose loop is blocked, with the options of its worker', async () => {
  await it_.redis.call('ACL', 'SETUSER', 'someone', 'on', '>secret', '~*', '+@all')
  it_.onEnd(() => it_.redis.call('ACL', 'DELUSER', 'someone'))
  const monitor = await it_.redis.monitor()
  it_.onEnd(() => monitor.disconnect())
  const renewals: unknown[] = []
  monitor.on('monitor', (_time: string, [command, name, keyCount, ...rest]: string[]) => {
    if (command === 'fcall' && name === functionOf('beat')) renewals.push(rest[Number(keyCount)])
  })
  const redis = {
    host: '127.0.0.1',
    port: it_.server.port,
    username: 'someone',
    password: 'secret',
    // The thread cannot have these functions, and does without.
    retryStrategy: () => 50,
    reconnectOnError: () => 2 as const,
  }
  const options = { queue: 'q', namespace: it_.namespace, leaseMs: 2000, logLevel: 'silent', tasks: [block] }
  const worker = new Worker({ ...options, redis })
  it_.onEnd(() => worker.stop())
  const events: Partial<EventMap['loop:blocked']>[] = []
  const wrong: unknown[] = []
  worker.events.on('loop:blocked', event => events.push(event))
  for (const name of ['problem', 'lease:lost', 'redis:down'] as const)
    worker.events.on(name, event => wrong.push([name, event]))
  await worker.start()
  const { id } = worker
  await it_.hub().call('block:1.0', 3000, { timeoutMs: 60_000 })
  await eventually(() => events.length === 1)
  expect(events[0]).toMatchObject({ worker: worker.id, queue: 'q', tasks: ['block:1.0'] })
  expect(events[0]!.ms).toBeGreaterThanOrEqual(2900)
  expect([worker.id, wrong]).toEqual([id, []])
  // The first one is the worker's own.
  expect(renewals.filter(each => each === worker.id).length).toBeGreaterThanOrEqual(2)
})

it('a call that was claimed together with one that blocks is not started when its time is up', async () => {
  const ran: unknown[] = []
  const note = defineTask('note:1.0', {}, n => ran.push(n))
  const worker = await it_.worker([block, note])
  const hub = it_.hub()
  await Promise.all([hub.call('block:1.0', 0), hub.call('note:1.0', 'first')])
  const calls = [
    hub.call('block:1.0', 700),
    failure(hub.call('note:1.0', 'late', { timeoutMs: 400 })),
    hub.call('note:1.0', 'in time', { timeoutMs: 20_000 }),
  ]
  await Promise.all(calls)
  expect(ran).toEqual(['first', 'in time'])
  expect(worker.busy).toBe(0)
})
