import { Redis } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { defineTask, Hub, Worker } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually } from '../support/hub-fixture.ts'

const started = async (args: string[] = []) => {
  const server = await startServer({ args })
  const redis = new Redis(server.url)
  redis.on('error', () => undefined)
  onTestFinished(async () => {
    redis.disconnect()
    await server.stop()
  })
  return { server, redis, port: Number(new URL(server.url).port) }
}

/** A master and its replica, a hub and a worker that reach the master through a proxy, and the keys of queue q. */
const replicated = async (handler: (args: unknown) => Promise<unknown>) => {
  const master = await started(['--repl-diskless-sync-delay', '0'])
  const replica = await started(['--replicaof', '127.0.0.1', String(master.port)])
  const proxy = await ChaosProxy.start(master.port)
  onTestFinished(() => proxy.stop())
  const options = { redis: proxy.url, logLevel: 'silent' } as const
  const task = defineTask('task:1.0', { timeoutMs: 30_000 }, handler)
  const worker = new Worker({ ...options, queue: 'q', tasks: [task] })
  const hub = new Hub(options)
  onTestFinished(async () => {
    await hub.close()
    await worker.stop({ graceMs: 0 })
  })
  const isInSync = async () => String(await replica.redis.info('replication')).includes('master_link_status:up')
  await eventually(isInSync, 60_000)
  await worker.start()
  const keys = makeKeys('pshub').queue('q')
  /** The replica takes over as it is, and hears of nothing that the master is still told. */
  const promote = () => replica.redis.replicaof('NO', 'ONE')
  const switchOver = () => proxy.switchTo(replica.port)
  return { master: master.redis, replica: replica.redis, worker, hub, keys, promote, switchOver }
}

it('a call that ended, and waits again after a failover, is not run again by its worker', async () => {
  let runs = 0
  const { master, replica, worker, hub, keys, promote, switchOver } = await replicated(async () => ++runs)
  await hub.call('task:1.0')
  // As if its push had reached the replica, and nothing behind it.
  const claimed = new Promise<string>(resolve => {
    worker.events.on('task:settled', ({ id }) => resolve(id))
  })
  await hub.call('task:1.0')
  const id = await claimed
  await eventually(async () => (await master.exists(keys.held(worker.id))) === 0)
  await promote()
  const reply = makeKeys('pshub').reply('somebody')
  await replica.rpush(
    keys.calls,
    `{"at":${Date.now() * 1000},"ttl":60000,"id":"${id}","task":"task:1.0","args":{},"result_queue":"${reply}"}`,
  )
  switchOver()
  const [, text] = (await replica.blpop(reply, 60))!
  expect(JSON.parse(text)).toMatchObject({ id, ok: false, error: { code: 'WorkerLost' } })
  expect(runs).toBe(2)
}, 150_000)
