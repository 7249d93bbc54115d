import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap, Hub, Worker } from '../../src/index.ts'
import { moveClocks } from '../../src/wire/clock.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

const it_ = useRedis()

const startProxy = async () => {
  const proxy = await ChaosProxy.start(it_.server.port)
  it_.onEnd(() => proxy.stop())
  return proxy
}

/** A task that counts its runs by argument. */
const counting = () => {
  const runs = new Map<unknown, number>()
  const task = defineTask('count:1.0', {}, async n => {
    runs.set(n, (runs.get(n) ?? 0) + 1)
    return n
  })
  return { task, runs }
}

/** A call that its worker has claimed without hearing of it; the connection is whole again. */
const loseClaim = async (timeoutMs: number) => {
  const { task, runs } = counting()
  const proxy = await startProxy()
  await it_.worker([task], { redis: proxy.url })
  const hub = it_.hub()
  await hub.call('count:1.0', 'warm')
  await eventually(async () => String(await it_.redis.call('CLIENT', 'LIST')).includes('cmd=blpop'))
  proxy.dropToClient = true
  const call = hub.call('count:1.0', 'lost claim', { timeoutMs })
  await eventually(async () => (await it_.keys()).some(key => key.startsWith('{q}:held:')))
  proxy.heal()
  proxy.cut()
  return { proxy, call, runs }
}

describe('Redis away', () => {
  it('at the start: calls fail fast as NotEnqueued, and a worker comes up by itself later', async () => {
    // At a socket of its own: nobody else can come to be there before it.
    const dir = mkdtempSync(join(tmpdir(), 'pshub-outages-'))
    it_.onEnd(() => rmSync(dir, { recursive: true }))
    const redis = { path: join(dir, 'redis') }
    const { task } = counting()
    const worker = new Worker({ redis, queue: 'q', logLevel: 'silent', tasks: [task] })
    const hub = new Hub({ redis, logLevel: 'silent' })
    it_.onEnd(() => Promise.all([hub.close(), worker.stop()]))
    const error = await failure(hub.call('count:1.0', 1, { timeoutMs: 30_000 }))
    expect(error).toMatchObject({ code: 'NotEnqueued', ran: 'no', message: expect.stringContaining('ENOENT') })
    await worker.start()
    const server = await startServer({ args: ['--unixsocket', redis.path] })
    it_.onEnd(() => server.stop())
    await eventually(async () => (await hub.call('count:1.0', 2).catch(() => 0)) === 2)
  })
})

describe('a connection that breaks', () => {
  it('after the push, before its answer: the repeated push is a no-op, and the call runs once', async () => {
    let runs = 0
    let finish = () => {}
    const finished = new Promise<void>(resolve => {
      finish = resolve
    })
    const task = defineTask('count:1.0', {}, async n => {
      if (n !== 'once') return n
      runs++
      await finished
      return n
    })
    await it_.worker([task])
    const proxy = await startProxy()
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('count:1.0', 'warm')
    const repeated: EventMap['queue:pushed'][] = []
    // That of the call before may be told of only now: its answer comes on another connection than the reply.
    hub.events.on('queue:pushed', event => event.repeated && repeated.push(event))
    proxy.dropAnswersAfter = chunk => chunk.includes('"args":"once"')
    const call = hub.call('count:1.0', 'once', { timeoutMs: 30_000 })
    await eventually(() => runs === 1)
    proxy.heal()
    proxy.cut()
    // Only then, because a call that has its reply is not pushed again.
    await eventually(() => repeated.length === 1)
    finish()
    expect(await call).toBe('once')
    expect(repeated).toMatchObject([{ count: 1 }])
    expect(runs).toBe(1)
  })

  it('while a reply is on its way: the reply is read again', async () => {
    // What its hub pushed last is remembered for a while, when a cut keeps it from being forgotten.
    it_.allowLeftovers()
    const { task, runs } = counting()
    await it_.worker([task])
    const proxy = await startProxy()
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('count:1.0', 'warm')
    let acknowledged = false
    hub.events.on('queue:pushed', () => {
      acknowledged = true
    })
    const slow = hub.call('count:1.0', 'slow', { timeoutMs: 30_000 })
    await eventually(() => acknowledged || runs.get('slow') === 1)
    proxy.dropToClient = true
    await eventually(() => runs.get('slow') === 1)
    // It was answered, and Redis has handed the reply to the hub, which does not get it.
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
    proxy.heal()
    proxy.cut()
    expect(await slow).toBe('slow')
    expect(runs.get('slow')).toBe(1)
  })

  it('after the claim, before its answer: the worker finds what it holds, and it runs once', async () => {
    const { call, runs } = await loseClaim(30_000)
    expect(await call).toBe('lost claim')
    expect(runs.get('lost claim')).toBe(1)
  })
})

describe('a firewall that forgot the connections of a hub that rested', () => {
  it('costs the next call nothing but time: what is sent there first is a question that may be lost', async () => {
    const restedMs = 60_000
    it_.onEnd(() => moveClocks(-restedMs))
    // In a process of its own, whose clock nobody moves.
    const worker = await startWorkerProcess(it_.url, it_.namespace)
    it_.onEnd(() => {
      worker.signal('SIGTERM')
      return worker.exited
    })
    const proxy = await startProxy()
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('once:1.0', { n: 1, ms: 0 })
    // The reply is read and thrown away by then: both connections rest.
    await eventually(async () => !(await it_.keys()).some(key => /^(reply|read):/.test(key)))
    proxy.forget()
    moveClocks(restedMs)
    // On a machine that takes its time for the next connection it may be NotEnqueued at first: nothing of it was sent.
    const call = () =>
      hub.call('once:1.0', { n: 2, ms: 0 }, { timeoutMs: 30_000 }).catch(error => {
        expect(error).toMatchObject({ code: 'NotEnqueued', ran: 'no' })
      })
    expect(await eventually(call)).toMatchObject({ n: 2 })
    expect(proxy.forgotten).toMatch(/^(\*1\r\n\$4\r\ntime\r\n)+$/)
  })
})
