import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { command } from '../../src/redis/client.ts'
import { Connection } from '../../src/redis/connection.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const startProxy = async () => {
  const proxy = await ChaosProxy.start(it_.server.port)
  it_.onEnd(() => proxy.stop())
  return proxy
}

/** A connection through a proxy that is condemned after two seconds of silence, and how often that happened. */
const connect = async () => {
  const proxy = await startProxy()
  const downs: string[] = []
  const onDown = (reason: Error) => downs.push(reason.message)
  const connection = new Connection({ target: proxy.url, name: 'test', stallMs: 2000, onDown })
  it_.onEnd(() => connection.close())
  connection.open()
  await connection.whenReady()
  return { proxy, connection, downs }
}

/** Some time on the way there and back. */
const farAway = () => 50

describe('a connection', () => {
  it('lives through many round trips of one sending, together longer than any silence may be', async () => {
    const { proxy, connection, downs } = await connect()
    proxy.delayMs = farAway
    const count = await connection.send(async client => {
      let answers = 0
      for (let n = 0; n < 50; n++) answers += Number((await command(client, 'ping')) === 'PONG')
      return answers
    })
    expect(count).toBe(50)
    expect(downs).toEqual([])
  })

  it('lives while an answer of megabytes trickles in', async () => {
    const { proxy, connection, downs } = await connect()
    const key = `${it_.namespace}:large`
    await it_.redis.set(key, 'x'.repeat(2_000_000))
    proxy.bytesPerSecond = 800_000
    const startedAt = performance.now()
    expect(await connection.send(client => command(client, 'get', key))).toHaveLength(2_000_000)
    expect(performance.now() - startedAt).toBeGreaterThan(2000)
    expect(downs).toEqual([])
    await it_.redis.del(key)
  })

  it('is condemned when nothing comes at all', async () => {
    const { proxy, connection } = await connect()
    proxy.freeze()
    expect((await failure(connection.send(client => command(client, 'ping')))).message).toMatch(/did not answer/)
    proxy.heal()
  })
})

describe('a worker on a slow link', () => {
  it.each([
    ['one connection waits behind the other', false],
    ['the beats are answered meanwhile', true],
  ])('keeps its lease and what it claims while that is on its way: %s', async (_, isFair) => {
    let runs = 0
    const task = defineTask('large:1.0', {}, async () => ++runs)
    const proxy = await startProxy()
    const worker = await it_.worker([task], { redis: proxy.url, leaseMs: 2000 })
    const hub = it_.hub()
    await hub.call('large:1.0', 'warm')
    const handedBack: unknown[] = []
    worker.events.on('request:handedback', event => handedBack.push(event))
    Object.assign(proxy, { bytesPerSecond: 250_000, isFair })
    const call = hub.call('large:1.0', 'x'.repeat(800_000), { timeoutMs: 30_000 })
    let leastLeftMs = Number.POSITIVE_INFINITY
    await eventually(async () => {
      const [, end] = await it_.redis.zrange(`${it_.namespace}:{q}:leases`, '0', '0', 'WITHSCORES')
      const [seconds, micros] = await it_.redis.time()
      leastLeftMs = Math.min(leastLeftMs, Number(end) - Number(seconds) * 1000 - Number(micros) / 1000)
      return runs === 2
    })
    expect(await call).toBe(2)
    expect(leastLeftMs).toBeGreaterThan(0)
    expect(handedBack).toEqual([])
  })
})
