import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { command } from '../../src/redis/client.ts'
import { Connection } from '../../src/redis/connection.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { Crowd } from '../support/crowd.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

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
  it('is condemned when an answer stops on its way', async () => {
    const { proxy, connection } = await connect()
    const key = `${it_.namespace}:large`
    await it_.redis.set(key, 'x'.repeat(3_000_000))
    // The command passes, and the beginning of its answer.
    let passed = 0
    let stoppedAt = 0
    proxy.delayMs = () => {
      if (++passed < 5) return 0
      stoppedAt ||= performance.now()
      return 60_000
    }
    const answer = failure(connection.send(client => command(client, 'get', key)))
    expect((await answer).message).toMatch(/did not answer for \d+ ms/)
    expect(stoppedAt).toBeGreaterThan(0)
    await it_.redis.del(key)
  })
})

describe('a registry of thousands of cards, far away', () => {
  const come = async () => {
    const crowd = new Crowd(it_.redis, it_.namespace, { tasks: 4000, workers: 10, queues: 2, providers: 1 })
    await crowd.come()
    it_.allowLeftovers()
    const proxy = await startProxy()
    proxy.delayMs = farAway
    return proxy
  }

  it('costs a hub that reads it no connection', async () => {
    const proxy = await come()
    const hub = it_.hub({ redis: proxy.url })
    const downs: unknown[] = []
    hub.events.on('redis:down', event => downs.push(event))
    expect((await hub.overview()).tasks).toHaveLength(4000)
    expect(downs).toEqual([])
  })

  it('costs a worker that publishes there no connection', async () => {
    const proxy = await come()
    const tasks = Array.from({ length: 300 }, (_, n) => defineTask(`own_${n}:1.0`, {}, () => n))
    const worker = await it_.worker(tasks, { redis: proxy.url })
    const downs: unknown[] = []
    worker.events.on('redis:down', event => downs.push(event))
    await new Promise(resolve => worker.events.on('worker:beat', resolve))
    expect(downs).toEqual([])
    expect(await it_.redis.hexists(`${it_.namespace}:workers`, worker.id)).toBe(1)
  })
})
