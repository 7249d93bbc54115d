import { createRedisServer } from 'js-redis-server'
import { describe, expect, it } from 'vitest'
import { defineTask, Hub, Worker } from '../../src/index.ts'

describe('the server that the demo and pshub dev embed', () => {
  it('takes the library, whose functions it finds by counting words, and runs a call and a job', async () => {
    const server = await createRedisServer({ port: 0 })
    const redis = `redis://127.0.0.1:${server.port}`
    const double = defineTask('double:1.0', {}, n => Number(n) * 2)
    const worker = new Worker({ redis, queue: 'q', tasks: [double], logLevel: 'silent' })
    await worker.start()
    const hub = new Hub({ redis, logLevel: 'silent' })
    expect(await hub.call('double:1.0', 21)).toBe(42)
    const job = await hub.enqueue('double:1.0', 4, { tracked: true })
    expect(await job.result()).toBe(8)
    await hub.close()
    await worker.stop({ graceMs: 1000 })
    await server.close()
  })
})
