import { describe, expect, it } from 'vitest'
import { readWorkerLook } from '../../src/figures/worker-look.ts'
import { defineTask, Hub, Worker } from '../../src/index.ts'
import { Unreadable } from '../../src/wire/foreign.ts'
import { useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()

describe('pshub inspect', () => {
  it('says what a worker runs, by the beginning of its id or by host and pid', async () => {
    const until = (signal: AbortSignal) => new Promise(resolve => signal.addEventListener('abort', resolve))
    const quick = defineTask('quick:1.0', { timeoutMs: 60_000 }, (_, ctx) => until(ctx.signal))
    const outer = defineTask('outer:1.0', { timeoutMs: 60_000 }, (_, ctx) => ctx.call('quick:1.0'))
    const logs = defineTask('logs:1.0', { timeoutMs: 60_000 }, (_, ctx) => {
      ctx.log.info('half way')
      return until(ctx.signal)
    })
    const options = { redis: cli.url, namespace: cli.namespace, logLevel: 'silent' as const }
    const worker = new Worker({ ...options, queue: 'q', slots: 4, tasks: [quick, outer, logs] })
    const hub = new Hub(options)
    await worker.start()
    try {
      hub.call('outer:1.0').catch(() => undefined)
      await hub.enqueue('logs:1.0')
      await eventually(() => worker.busy === 3)
      const { host } = (await hub.workers())[0]!
      const { out } = await cli.run(['inspect', `${host}/${process.pid}`, '--json'])
      const [{ running, blocked }] = JSON.parse(out)
      expect(blocked).toBeNull()
      const of = (task: string) => running.find((each: { task: string }) => each.task === task)
      const last = { what: 'waits for its call of quick:1.0' }
      expect(of('outer:1.0')).toMatchObject({ isJob: false, attempt: 1, last })
      expect(of('logs:1.0')).toMatchObject({ isJob: true, last: { what: 'logged: half way' } })
      expect(of('quick:1.0').last).toBeNull()
      const text = (await cli.run(['inspect', worker.id.slice(0, 6)])).out
      expect(text).toContain(`worker ${worker.id}, queue q, pid ${process.pid}: 3 of 4`)
      expect(text).toMatch(/logs:1\.0 \S+ \(job, attempt 1\), for [\s\S]*logged: half way, .* ago/)
    } finally {
      await worker.stop({ graceMs: 0 })
      await hub.close()
      await cli.redis.del(...(await cli.redis.keys(`${cli.namespace}:{q}:job*`)), 'none')
    }
  }, 60_000)
})

describe('pshub inspect of a worker in another language', () => {
  it('says at once that it does not answer, and what to run instead', async () => {
    const card = { id: 'snake', queue: 'q', host: 'h', pid: 7, slots: 1, tasks: {}, client: 'pshub-python/0.1.0' }
    await cli.redis.hset(`${cli.namespace}:workers`, 'snake', JSON.stringify(card))
    await cli.redis.zadd(`${cli.namespace}:{q}:leases`, Date.now() + 60_000, 'snake')
    expect(await cli.run(['inspect', 'snake'])).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'written in Python, and only workers in Node answer pshub inspect. On h run: kill -TTIN 7',
      ),
    })
    await cli.redis.del(`${cli.namespace}:{q}:leases`)
  })
})

describe('what a worker says of itself', () => {
  it.each([
    ['{}', { worker: '', slots: 0, running: undefined, blocked: undefined }],
    [
      '{"running":[1,{"task":5,"last":{"what":1,"forMs":"x"}}],"blocked":{"tasks":"x","stack":[1]}}',
      {
        running: [{ task: '', id: '', attempt: 1, forMs: 0, last: { what: '', forMs: 0 } }],
        blocked: { tasks: [], ms: 0, stack: [''] },
      },
    ],
  ])('may be anything: %s', (text, look) => expect(readWorkerLook(text)).toMatchObject(look))

  it('is refused where it is no object', () => {
    for (const text of ['', '[]', 'x', '5']) expect(() => readWorkerLook(text)).toThrow(Unreadable)
  })
})
