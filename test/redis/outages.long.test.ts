import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { defineTask, Hub, Worker } from '../../src/index.ts'
import { Connection } from '../../src/redis/connection.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

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
  it('later: calls settle truthfully, and everything recovers without a restart', async () => {
    const first = await startServer()
    const { task } = counting()
    const worker = new Worker({ redis: first.url, queue: 'q', logLevel: 'silent', tasks: [task] })
    const hub = new Hub({ redis: first.url, logLevel: 'silent' })
    it_.onEnd(() => Promise.all([hub.close(), worker.stop()]))
    const down = new Promise<void>(resolve => {
      hub.events.on('redis:down', ({ role }) => role === 'hub commands' && resolve())
    })
    await worker.start()
    expect(await hub.call('count:1.0', 1)).toBe(1)
    await first.stop()
    await down
    expect(await failure(hub.call('count:1.0', 2, { timeoutMs: 30_000 }))).toMatchObject({
      code: 'NotEnqueued',
      ran: 'no',
    })
    const second = await startServer({ port: first.port })
    it_.onEnd(() => second.stop())
    await eventually(async () => (await hub.call('count:1.0', 3).catch(() => 0)) === 3, 30_000)
  })
})

describe('a connection that breaks', () => {
  it('again and again: waiting for it leaves nothing on a signal that lives on', async () => {
    const proxy = await startProxy()
    const connection = new Connection({ target: proxy.url, name: 'test', stallMs: 2000 })
    it_.onEnd(() => connection.close())
    const { signal } = new AbortController()
    connection.open()
    for (let outage = 0; outage < 3; outage++) {
      await connection.whenReady(signal)
      expect(connection.isReady).toBe(true)
      proxy.cut()
      await eventually(() => !connection.isReady)
    }
    await connection.whenReady(signal)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('after the claim, with beats that take long to reach Redis: the worker takes again what it put back', async () => {
    const { proxy, call, runs } = await loseClaim(30_000)
    let slowBeats = 0
    proxy.dropAnswersAfter = chunk => {
      if (chunk.includes(':leases') && chunk.includes(':cancelled')) {
        slowBeats++
        proxy.delayMs = () => {
          proxy.delayMs = undefined
          return 400
        }
      }
      return false
    }
    expect(await call).toBe('lost claim')
    expect(runs.get('lost claim')).toBe(1)
    expect(slowBeats).toBeGreaterThan(1)
  })

  it('after the claim, with work that came since: the worker never runs more than it has slots', async () => {
    let running = 0
    let most = 0
    const task = defineTask('busy:1.0', { timeoutMs: 20_000 }, async ms => {
      most = Math.max(most, ++running)
      await delay(Number(ms), 'a run that is longer than it takes to find what was lost')
      running--
      return ms
    })
    const proxy = await startProxy()
    await it_.worker([task], { redis: proxy.url, slots: 1 })
    const hub = it_.hub()
    await hub.call(task, 0)
    await eventually(async () => String(await it_.redis.call('CLIENT', 'LIST')).includes('cmd=blpop'))
    proxy.dropToClient = true
    const lost = hub.call(task, 1)
    await eventually(async () => (await it_.keys()).some(key => key.startsWith('{q}:held:')))
    proxy.heal()
    proxy.cut()
    expect(await Promise.all([hub.call(task, 4000), lost])).toEqual([4000, 1])
    expect(most).toBe(1)
  })

  it('half-open in both directions: calls settle by their deadline, and the hub recovers', async () => {
    const { task } = counting()
    await it_.worker([task])
    const proxy = await startProxy()
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('count:1.0', 'warm')
    proxy.dropToClient = true
    proxy.dropToServer = true
    const error = await failure(hub.call('count:1.0', 'void', { timeoutMs: 700 }))
    expect(error).toMatchObject({ code: 'OutcomeUnknown', ran: 'maybe' })
    proxy.heal()
    await eventually(
      async () => (await hub.call('count:1.0', 'back', { timeoutMs: 5000 }).catch(() => 0)) === 'back',
      40_000,
    )
  })

  it('again and again under load: every call settles, and none runs twice', async () => {
    const { task, runs } = counting()
    const proxy = await startProxy()
    await it_.worker([task], { redis: proxy.url, slots: 8 })
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('count:1.0', 'warm')
    let answered = 0
    let seen = 0
    const killer = setInterval(() => {
      // On a busy machine it may take longer than that to connect: then nothing would ever be answered.
      if (answered > seen) proxy.cut()
      seen = answered
    }, 150)
    const outcomes = await Promise.all(
      Array.from({ length: 400 }, async (_, n) => {
        await delay(n * 5, 'load that goes on while connections are cut')
        const outcome = await hub.call('count:1.0', n, { timeoutMs: 60_000 }).catch(error => error.code)
        answered++
        return outcome
      }),
    )
    clearInterval(killer)
    expect(outcomes.filter((outcome, n) => outcome !== n)).toEqual([])
    expect([...runs.values()].filter(count => count !== 1)).toEqual([])
  })
})
