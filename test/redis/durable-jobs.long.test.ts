import { expect, it, onTestFinished } from 'vitest'
import { Hub } from '../../src/index.ts'
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

it('one of a user who may not wait for replicas is told of as what it is: there, and not confirmed', async () => {
  const { master, ofMaster } = await replicated()
  await ofMaster.call('ACL', 'SETUSER', 'hasty', 'on', 'nopass', '~*', '&*', '+@all', '-wait')
  const hub = new Hub({ redis: master.url.replace('//', '//hasty:any@'), logLevel: 'silent' })
  onTestFinished(() => hub.close())
  expect(await failure(hub.enqueue('job:1.0', 1, options))).toMatchObject({ code: 'OutcomeUnknown' })
  expect(await ofMaster.llen('pshub:{q}:jobs')).toBe(1)
})
