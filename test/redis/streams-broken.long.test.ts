import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { defineTask, Hub, Worker } from '../../src/index.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { ensureBuild } from '../support/cli-fixture.ts'
import { counting, readAll, upTo } from '../support/counted-streams.ts'
import { delay } from '../support/delay.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

const it_ = useRedis()

describe('a stream that breaks', () => {
  it('ends as WorkerLost when its worker is killed, behind what came before, also of an idempotent task', async () => {
    ensureBuild()
    const first = await startWorkerProcess(it_.url, it_.namespace)
    const second = await startWorkerProcess(it_.url, it_.namespace)
    for (const each of [first, second]) it_.onEnd(() => each.signal('SIGKILL'))
    const hub = it_.hub()
    const stream = () => hub.stream('ticks:1.0', { ms: 20 }) as AsyncIterable<unknown> as AsyncIterable<number>
    const seen = [0, 0, 0, 0]
    const readings = seen.map((_, at) => readAll(stream(), () => seen[at]!++))
    await eventually(() => seen.every(count => count > 5))
    first.signal('SIGKILL')
    second.signal('SIGKILL')
    const third = await startWorkerProcess(it_.url, it_.namespace)
    it_.onEnd(async () => {
      third.signal('SIGTERM')
      await third.exited
    })
    for (const { chunks, error } of await Promise.all(readings)) {
      expect(error).toMatchObject({ code: 'WorkerLost', ran: 'maybe' })
      expect(chunks.length).toBeGreaterThan(5)
      expect(chunks).toEqual(upTo(chunks.length))
    }
    // One of the two that were killed may have held nothing: it is looked for later.
    await eventually(async () => (await it_.redis.zcard(`${it_.namespace}:{q}:leases`)) === 1, 60_000)
  }, 120_000)

  it.each(['yes', 'no'])(
    'ends by its deadline when Redis is killed in the middle, with appendonly %s, without a gap',
    async keeps => {
      const args = ['--appendonly', keeps, '--save', '']
      const first = await startServer({ args })
      const worker = new Worker({ redis: first.url, queue: 'q', logLevel: 'silent', tasks: [counting] })
      const hub = new Hub({ redis: first.url, logLevel: 'silent' })
      it_.onEnd(() => Promise.all([hub.close(), worker.stop({ graceMs: 0 })]))
      await worker.start()
      const reading = readAll(hub.stream(counting, { count: 300, ms: 10 }, { timeoutMs: 12_000, idleMs: 6000 }))
      await delay(1000, 'some chunks')
      await first.stop({ keepDir: true })
      await delay(200, 'a Redis that is away for a moment')
      const second = await startServer({ args, port: first.port, dir: first.dir })
      it_.onEnd(() => second.stop())
      const { chunks, error } = await reading
      expect(chunks).toEqual(upTo(chunks.length))
      expect(chunks.length).toBeGreaterThan(20)
      if (error) expect(['OutcomeUnknown', 'WorkerLost', 'Timeout']).toContain(error.code)
      else expect(chunks).toHaveLength(300)
    },
    40_000,
  )

  it('has its worker stop by itself when its caller is killed', async () => {
    ensureBuild()
    let stoppedAt = 0
    const ticks = defineTask('ticks:1.0', { timeoutMs: 60_000 }, async function* (_, ctx) {
      ctx.signal.addEventListener('abort', () => {
        stoppedAt = performance.now()
      })
      for (let n = 1; !ctx.signal.aborted; n++) {
        yield n
        await delay(100, 'a handler that yields now and then')
      }
    })
    await it_.worker([ticks])
    const caller = spawn(process.execPath, [join(resolve(import.meta.dirname, '../support'), 'stream-caller.mjs')], {
      env: { ...process.env, PSHUB_REDIS: it_.url, PSHUB_NAMESPACE: it_.namespace },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let lines = ''
    caller.stdout.on('data', chunk => {
      lines += chunk
    })
    // It is not taken for gone while it is there.
    await delay(11_500, 'longer than a caller is missed that is gone')
    expect(stoppedAt).toBe(0)
    expect(lines.trim().split('\n').map(Number)).toEqual(upTo(lines.trim().split('\n').length))
    expect(lines.trim().split('\n').length).toBeGreaterThan(5)
    caller.kill('SIGKILL')
    await eventually(() => stoppedAt > 0, 60_000)
    it_.allowLeftovers()
  }, 120_000)

  it('waits for its first chunk for longer than a caller is missed', async () => {
    await it_.worker([counting])
    const hub = it_.hub()
    expect(await readAll(hub.stream(counting, { count: 2, firstMs: 14_000 }))).toEqual({
      chunks: [1, 2],
      error: undefined,
    })
  }, 30_000)
})
