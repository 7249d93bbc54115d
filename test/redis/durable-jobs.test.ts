import { expect, it, onTestFinished } from 'vitest'
import { defineTask, Hub, Worker } from '../../src/index.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually, failure, Redis } from '../support/cluster-fixture.ts'

/** A master with a replica, which follows through a proxy, and a hub. */
const replicated = async () => {
  const master = await startServer({ args: ['--repl-diskless-sync-delay', '0'] })
  const proxy = await ChaosProxy.start(master.port)
  const replica = await startServer({ args: ['--replicaof', '127.0.0.1', String(new URL(proxy.url).port)] })
  const [ofMaster, ofReplica] = [new Redis(master.url), new Redis(replica.url)]
  ofReplica.on('error', () => undefined)
  const hub = new Hub({ redis: master.url, logLevel: 'silent' })
  onTestFinished(async () => {
    await hub.close()
    ofMaster.disconnect()
    ofReplica.disconnect()
    await replica.stop()
    await proxy.stop()
    await master.stop()
  })
  await eventually(async () => String(await ofReplica.info('replication')).includes('master_link_status:up'))
  return { master, replica, proxy, hub, ofMaster, ofReplica }
}
const options = { queue: 'q', durable: 'replica' } as const

it('a durable job is on a replica when it is acknowledged, runs as any other, and its hub leaves nothing behind', async () => {
  const { master, hub, ofMaster, ofReplica } = await replicated()
  /** On a machine with much to do a replica may take longer to confirm than anybody waits. */
  const isConfirmed = (sent: Promise<unknown>) =>
    sent.then(
      () => true,
      ({ code }) => expect(code).toBe('OutcomeUnknown'),
    )
  let confirmed = 0
  for (let n = 1; n <= 20; n++) {
    if (!(await isConfirmed(hub.enqueue('job:1.0', { n }, options)))) continue
    confirmed++
    expect(await ofReplica.llen('pshub:{q}:jobs')).toBe(n)
  }
  expect(confirmed).toBeGreaterThan(0)
  const entries = Array.from({ length: 300 }, (_, n) => ['job:1.0', { n }] as const)
  if (await isConfirmed(hub.enqueueMany(entries, options))) expect(await ofReplica.llen('pshub:{q}:jobs')).toBe(320)
  const ran: unknown[] = []
  const task = defineTask('job:1.0', {}, args => void ran.push(args))
  const worker = new Worker({ redis: master.url, queue: 'q', tasks: [task], logLevel: 'silent' })
  onTestFinished(() => worker.stop())
  await worker.start()
  await eventually(() => ran.length === 320)
  await hub.close()
  expect((await ofMaster.keys('*')).filter(key => key.includes('enqueued'))).toEqual([])
})

it('one that no replica confirms is told of, is in Redis, and holds up no other one', async () => {
  const { hub, proxy, ofMaster } = await replicated()
  await hub.enqueue('job:1.0', 1, { queue: 'q' })
  proxy.freeze()
  const order: string[] = []
  const durable = failure(hub.enqueue('job:1.0', 2, options)).finally(() => order.push('durable'))
  await hub.enqueue('job:1.0', 3, { queue: 'q' })
  order.push('other')
  const { code, message } = await durable
  expect([code, message]).toEqual(['OutcomeUnknown', expect.stringMatching(/^The job is in Redis, but no replica/)])
  expect(order).toEqual(['other', 'durable'])
  expect(await ofMaster.llen('pshub:{q}:jobs')).toBe(3)
})

it('one whose answer was lost is confirmed by a replica when it is sent again', async () => {
  const { master, ofReplica } = await replicated()
  const front = await ChaosProxy.start(master.port)
  const hub = new Hub({ redis: front.url, logLevel: 'silent' })
  onTestFinished(async () => {
    await hub.close()
    await front.stop()
  })
  // So that all connections are there.
  await hub.enqueue('job:1.0', 1, options).catch(() => undefined)
  front.dropToClient = true
  const again = hub.enqueue('job:1.0', 2, options)
  await eventually(async () => (await ofReplica.llen('pshub:{q}:jobs')) === 2)
  front.heal()
  // On a machine with much to do the replica may confirm it too late; it is there once in any case.
  expect(
    await again.then(
      () => 'confirmed',
      ({ code }) => code,
    ),
  ).toMatch(/^confirmed$|^OutcomeUnknown$/)
  expect(await ofReplica.llen('pshub:{q}:jobs')).toBe(2)
})

it('one that Redis refuses for want of replicas is certainly not there', async () => {
  const { hub, replica, ofMaster } = await replicated()
  await hub.enqueue('job:1.0', 1, { queue: 'q' })
  await ofMaster.config('SET', 'min-replicas-to-write', '1')
  await replica.stop()
  await eventually(async () => String(await ofMaster.info('replication')).includes('connected_slaves:0'))
  const refused = await failure(hub.enqueue('job:1.0', 2, { ...options, timeoutMs: 1500 }))
  expect([refused.code, refused.ran]).toEqual(['NotEnqueued', 'no'])
  expect(refused.message).toContain('NOREPLICAS')
  expect(await ofMaster.llen('pshub:{q}:jobs')).toBe(1)
})

it('durable is for what is enqueued now, and for replicas', async () => {
  const { hub } = await replicated()
  const refused = (work: Promise<unknown>) => work.then(String, ({ code, message }) => `${code}: ${message}`)
  expect(await refused(hub.enqueue('job:1.0', 1, { queue: 'q', durable: 'disk' as never }))).toMatch(
    /^InvalidArgs: .*durable must be 'replica', not "disk"/,
  )
  expect(await refused(hub.schedule('s', { cron: '0 0 * * *' }, 'job:1.0', 1, options))).toMatch(
    /^InvalidArgs: schedule.*durable/,
  )
  expect(await refused(hub.enqueueMany([['job:1.0', 1, { durable: 'replica' }]], { queue: 'q' }))).toMatch(
    /^InvalidArgs: .*durable/,
  )
})
