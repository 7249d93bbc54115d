import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { defineTask, type Worker, type WorkerOptions } from '../../src/index.ts'
import { freePort, startServer } from '../../tools/redis-server.mjs'
import { blockLoop } from '../support/block-loop.mjs'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

/** What a probe is told: status and JSON. */
const probe = async (port: number, path: string): Promise<[number, unknown]> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`)
  return [response.status, await response.json()]
}

const ready = [200, { ready: true }]
const live = [200, { live: true }]

/** A worker on a port of its own; `start` of it may be awaited later. */
const probed = async (options: Partial<WorkerOptions> = {}) => {
  const wait = defineTask('wait:1.0', {}, (_, { signal }) => untilAborted(signal))
  let healthPort = 0
  /** Another program may bind the port first. */
  const start = async (tries = 5): Promise<Worker> => {
    healthPort = await freePort()
    try {
      return await it_.worker([wait], { healthPort, leaseMs: 2000, ...options })
    } catch (error) {
      if (tries > 0 && /another program listens/.test(String(error))) return start(tries - 1)
      throw error
    }
  }
  const worker = start()
  await eventually(() => healthPort !== 0)
  return { worker, at: (path: string) => probe(healthPort, path) }
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))

describe('probes of a worker', () => {
  it('are answered once it is ready, and other paths are named', async () => {
    const { worker, at } = await probed()
    await worker
    expect([await at('/readyz'), await at('/livez?verbose'), await at('/')]).toEqual([
      ready,
      live,
      [404, { error: 'Only /livez and /readyz exist here.' }],
    ])
  })

  it('say that it is starting while onStart is under way, and that it stops', async () => {
    let goOn = () => {}
    const going = new Promise<void>(resolve => {
      goOn = resolve
    })
    const { worker, at } = await probed({ onStart: () => going })
    await eventually(() => at('/livez').catch(() => undefined))
    expect([await at('/readyz'), await at('/livez')]).toEqual([[503, { ready: false, reason: 'starting' }], live])
    goOn()
    const started = await worker
    await eventually(async () => (await at('/readyz'))[0] === 200)
    const running = it_.hub().call('wait:1.0', {}, { timeoutMs: 60_000 })
    running.catch(() => undefined)
    await eventually(() => started.busy === 1)
    const stopped = started.stop({ graceMs: 1000 })
    expect(await at('/readyz')).toEqual([503, { ready: false, reason: 'stopping' }])
    expect(await at('/livez')).toEqual(live)
    await stopped
    // The port is free again.
    await expect(at('/livez')).rejects.toThrow()
  })

  it('say that Redis is away when its lease may be over, and that it is back', async () => {
    const server = await startServer({})
    it_.onEnd(() => server.stop())
    const { worker, at } = await probed({ redis: server.url })
    await worker
    process.kill(server.pid!, 'SIGSTOP')
    await eventually(async () => (await at('/readyz'))[0] === 503)
    expect(await at('/livez')).toEqual(live)
    await eventually(async () => JSON.stringify(await at('/readyz')).includes('Redis is unreachable'))
    process.kill(server.pid!, 'SIGCONT')
    await eventually(async () => (await at('/readyz'))[0] === 200)
  })

  it('say that the event loop was blocked for longer than it may be', async () => {
    const { worker, at } = await probed({ maxBlockedMs: 500 })
    await worker
    expect(await at('/livez')).toEqual(live)
    blockLoop(1500)
    const found = await eventually(async () => {
      const [status, said] = await at('/livez')
      return status === 503 && said
    })
    expect(found).toMatchObject({ live: false, reason: 'the event loop was blocked', blockedMs: expect.any(Number) })
    expect((found as unknown as { blockedMs: number }).blockedMs).toBeGreaterThan(1000)
  })

  it('need a port that nobody else has', async () => {
    const other = createServer()
    await new Promise<void>(resolve => other.listen(0, resolve))
    it_.onEnd(() => other.close())
    const { port } = other.address() as AddressInfo
    const error = await failure(it_.worker([defineTask('a:1.0', {}, () => 1)], { healthPort: port }))
    expect(error.name).toBe('ConfigError')
    expect(error.message).toBe(
      `The worker cannot answer probes on port ${port} (healthPort, --health-port or PSHUB_HEALTH_PORT): another program listens there; ` +
        'give each worker on a machine its own port.',
    )
    const wrong = await failure(it_.worker([], { healthPort: 70_000 }))
    expect(wrong.message).toMatch(/'healthPort' must be .*65535/)
  })
})
