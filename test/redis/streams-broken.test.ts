import { describe, expect, it } from 'vitest'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { counting, readAll, upTo } from '../support/counted-streams.ts'
import { delay } from '../support/delay.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

describe('a stream that breaks', () => {
  it('goes on over connections that are cut again and again, each chunk once', async () => {
    const [ofWorker, ofHub] = [await ChaosProxy.start(it_.server.port), await ChaosProxy.start(it_.server.port)]
    it_.onEnd(() => Promise.all([ofWorker.stop(), ofHub.stop()]))
    await it_.worker([counting], { redis: ofWorker.url })
    const hub = it_.hub({ redis: ofHub.url })
    const reading = readAll(hub.stream(counting, { count: 3000 }, { timeoutMs: 50_000 }))
    let isDone = false
    void reading.then(() => {
      isDone = true
    })
    for (let n = 0; n < 8 && !isDone; n++) {
      await delay(30, 'some chunks')
      const proxy = n % 2 === 0 ? ofWorker : ofHub
      // Answers are lost, and what was asked is done all the same.
      proxy.dropToClient = true
      await delay(15, 'answers that are lost')
      proxy.heal()
      proxy.cut()
    }
    expect(await reading).toEqual({ chunks: upTo(3000), error: undefined })
  }, 60_000)

  it('tells of chunks that Redis has forgotten', async () => {
    await it_.worker([counting])
    const hub = it_.hub()
    const stream = hub.stream(counting, { count: 100, ms: 20 })
    const chunks: number[] = []
    const read = async () => {
      for await (const chunk of stream) {
        chunks.push(chunk)
        // As a failover would that lost a push; found whatever the hub has read of it.
        if (chunk === 5) await it_.redis.rpush(`${it_.namespace}:reply:{${hub.id}}`, lost(stream.id!))
      }
    }
    const lost = (id: string) => JSON.stringify({ id, chunk: 90, value: 90 })
    expect(await failure(read())).toMatchObject({
      code: 'OutcomeUnknown',
      message: expect.stringContaining('was lost'),
    })
    expect(chunks).toEqual(upTo(chunks.length))
    expect(chunks.length).toBeLessThan(90)
    it_.allowLeftovers()
  })
})
