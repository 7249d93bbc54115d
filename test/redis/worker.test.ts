import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask, type EventMap, Hub, Worker } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const echo = defineTask('echo:1.0', {}, args => args)

/** A task whose runs wait until the test lets them go. */
const gate = () => {
  const started: unknown[] = []
  const aborted: unknown[] = []
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  const task = defineTask('gate:1.0', { timeoutMs: 10_000 }, async (args, ctx) => {
    started.push(args)
    ctx.signal.addEventListener('abort', () => aborted.push((ctx.signal.reason as { code?: string }).code))
    await opened
    return args
  })
  return { task, started, aborted, open }
}

const queueKey = (name: string) => `${it_.namespace}:{q}:${name}`

describe('slots', () => {
  it('a worker with two slots never holds more than two; the rest waits in the list and is counted there', async () => {
    const { task, started, open } = gate()
    const worker = await it_.worker([task], { slots: 2 })
    const hub = it_.hub()
    const answers = Promise.all([1, 2, 3, 4, 5].map(n => hub.call('gate:1.0', n)))
    await eventually(async () => started.length === 2 && (await it_.redis.llen(queueKey('calls'))) === 3)
    expect(await it_.redis.hlen(queueKey(`held:${worker.id}`))).toBe(2)
    expect((await hub.queues())[0]).toMatchObject({
      queue: 'q',
      backlog: 3,
      held: 2,
      slots: 2,
      oldestMs: expect.any(Number),
    })
    open()
    expect(await answers).toEqual([1, 2, 3, 4, 5])
  })

  it('the held hash never outgrows the slots under load', async () => {
    const worker = await it_.worker([echo], { slots: 2 })
    const hub = it_.hub()
    const key = queueKey(`held:${worker.id}`)
    let most = 0
    let done = false
    const watch = (async () => {
      while (!done) most = Math.max(most, await it_.redis.hlen(key))
    })()
    await Promise.all(Array.from({ length: 2000 }, (_, n) => hub.call('echo:1.0', n, { timeoutMs: 20_000 })))
    done = true
    await watch
    expect(most).toBeGreaterThan(0)
    expect(most).toBeLessThanOrEqual(2)
  })

  it('two workers share a queue, and the bell wakes both', async () => {
    const { task, started, open } = gate()
    const workers = [await it_.worker([task], { slots: 1 }), await it_.worker([task], { slots: 1 })]
    const hub = it_.hub()
    const answers = Promise.all([hub.call('gate:1.0', 1), hub.call('gate:1.0', 2)])
    await eventually(() => started.length === 2, 1000)
    expect(workers.map(worker => worker.busy)).toEqual([1, 1])
    open()
    await answers
  })
})

describe('connections', () => {
  it('a hub and a worker hold two each, whatever is in flight and declared', async () => {
    const tasks = Array.from({ length: 50 }, (_, n) => defineTask(`task_${n}:1.0`, {}, () => n))
    await it_.worker(tasks, { slots: 8 })
    const hub = it_.hub()
    await Promise.all(Array.from({ length: 5000 }, (_, n) => hub.call(`task_${n % 50}:1.0`, n, { timeoutMs: 15_000 })))
    const clients = String(await it_.redis.call('CLIENT', 'LIST'))
    expect(clients.match(/name=pshub-hub-/g)).toHaveLength(2)
    expect(clients.match(/name=pshub-worker-/g)).toHaveLength(2)
  })
})

describe('deadlines', () => {
  it('a call that nobody answers fails at its deadline', async () => {
    const { task } = gate()
    await it_.worker([task])
    const started = performance.now()
    const error = await failure(it_.hub().call('gate:1.0', {}, { timeoutMs: 300 }))
    expect(error).toMatchObject({ code: 'Timeout', ran: 'maybe' })
    expect(performance.now() - started).toBeGreaterThanOrEqual(299)
    expect(performance.now() - started).toBeLessThan(550)
  })

  it("the handler's signal fires when its call's time is up", async () => {
    const { task, aborted } = gate()
    await it_.worker([task])
    await failure(it_.hub().call('gate:1.0', {}, { timeoutMs: 200 }))
    await eventually(() => aborted.length === 1, 1000)
    expect(aborted).toEqual(['Timeout'])
  })

  it('a call that expired in the list is dropped and never started', async () => {
    const { task, started, open } = gate()
    const worker = await it_.worker([task], { slots: 1 })
    const expired: number[] = []
    worker.events.on('claim:taken', event => expired.push(event.expired))
    const hub = it_.hub()
    const first = hub.call('gate:1.0', 'first', { timeoutMs: 5000 })
    await eventually(() => started.length === 1)
    expect((await failure(hub.call('gate:1.0', 'late', { timeoutMs: 150 }))).code).toBe('Timeout')
    open()
    await first
    expect(await hub.call('gate:1.0', 'next')).toBe('next')
    expect(started).toEqual(['first', 'next'])
    expect(expired.reduce((sum, count) => sum + count)).toBe(1)
  })

  it('what remains shrinks, and nested calls inherit it', async () => {
    const remaining: number[] = []
    const inner = defineTask('inner:1.0', {}, (_, ctx) => remaining.push(ctx.remainingMs()))
    const outer = defineTask('outer:1.0', {}, async (_, ctx) => {
      remaining.push(ctx.remainingMs())
      await new Promise(resolve => setTimeout(resolve, 100))
      return ctx.call('inner:1.0', {}, { timeoutMs: 60_000 })
    })
    await it_.worker([inner, outer])
    await it_.hub().call('outer:1.0', {}, { timeoutMs: 2000 })
    expect(remaining[0]).toBeLessThanOrEqual(2000)
    expect(remaining[1]).toBeLessThanOrEqual(remaining[0]! - 90)
  })

  it('a nested call passes the trace on', async () => {
    const seen: unknown[] = []
    const inner = defineTask('inner:1.0', {}, (_, ctx) => seen.push(ctx.from))
    const outer = defineTask('outer:1.0', {}, (_, ctx) => ctx.call('inner:1.0'))
    await it_.worker([outer])
    await it_.worker([inner], { queue: 'idle', slots: 1 })
    const monitor = await new Redis(it_.url).monitor()
    monitor.on('monitor', (_time: string, args: string[]) => seen.push(args.join(' ')))
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await it_.hub().call('outer:1.0', {}, { traceparent })
    monitor.disconnect()
    expect(seen).toContain('q')
    const pushes = seen.filter(text => /"task":"inner:1.0"/.test(String(text)) && /RPUSH/i.test(String(text)))
    expect(pushes.some(text => String(text).includes(traceparent))).toBe(true)
  })
})

describe('the caller', () => {
  it('may give up while it waits', async () => {
    const { task, open } = gate()
    await it_.worker([task])
    const hub = it_.hub()
    const late = new Promise(resolve => hub.events.on('reply:late', resolve))
    const controller = new AbortController()
    const call = failure(hub.call('gate:1.0', {}, { signal: controller.signal }))
    const other = hub.call('gate:1.0', 'other')
    setTimeout(() => controller.abort(new Error('the user left')), 50)
    expect(await call).toMatchObject({ code: 'Aborted', cause: expect.objectContaining({ message: 'the user left' }) })
    open()
    expect(await other).toBe('other')
    expect(await late).toEqual({ id: expect.any(String) })
    expect((await failure(hub.call('gate:1.0', {}, { signal: controller.signal }))).code).toBe('Aborted')
  })

  it('that closes its hub leaves nothing, and its calls settle', async () => {
    const { task, started, open } = gate()
    await it_.worker([task])
    const hub = it_.hub()
    const call = failure(hub.call('gate:1.0'))
    await eventually(() => started.length === 1)
    await hub.close()
    expect((await call).code).toBe('Aborted')
    expect((await it_.keys()).filter(key => key.includes(hub.id))).toEqual([])
    open()
    // The reply of the handler that went on makes a list that nobody reads; it expires.
    const key = `${it_.namespace}:reply:{${hub.id}}`
    await eventually(async () => (await it_.redis.llen(key)) === 1)
    expect(await it_.redis.pttl(key)).toBeGreaterThan(0)
    await it_.redis.del(key)
  })
})

describe('stopping', () => {
  it('finishes what runs, takes nothing new, and says goodbye to the registry', async () => {
    const { task, started, open } = gate()
    const worker = await it_.worker([task], { slots: 1 })
    const hub = it_.hub()
    const running = hub.call('gate:1.0', 'running')
    await eventually(() => started.length === 1)
    const stopped = worker.stop({ graceMs: 5000 })
    const waiting = failure(hub.call('gate:1.0', 'waiting', { timeoutMs: 400 }))
    setTimeout(open, 50)
    expect(await running).toBe('running')
    await stopped
    expect((await waiting).code).toBe('Timeout')
    expect(started).toEqual(['running'])
    expect((await hub.workers()).length).toBe(0)
    await it_.redis.del(queueKey('calls'), queueKey('bell'))
  })

  it('gives up what outlasts the grace: WorkerLost for a task that must not run twice', async () => {
    const { task, started, aborted } = gate()
    const worker = await it_.worker([task], { slots: 1 })
    const call = failure(it_.hub().call('gate:1.0'))
    await eventually(() => started.length === 1)
    await worker.stop({ graceMs: 50 })
    expect(await call).toMatchObject({ code: 'WorkerLost', ran: 'maybe' })
    expect(aborted).toEqual(['WorkerLost'])
  })

  it('hands an idempotent call that outlasts the grace to another worker at once', async () => {
    let runs = 0
    const task = defineTask('again:1.0', { idempotent: true }, (_, ctx) =>
      ++runs === 1 ? new Promise(resolve => ctx.signal.addEventListener('abort', resolve)) : 'second run',
    )
    const first = await it_.worker([task])
    const call = it_.hub().call('again:1.0', {}, { timeoutMs: 5000 })
    await eventually(() => runs === 1)
    await it_.worker([task])
    await first.stop({ graceMs: 20 })
    expect(await call).toBe('second run')
  })

  it('twice is once', async () => {
    const worker = await it_.worker([echo])
    await Promise.all([worker.stop(), worker.stop({ graceMs: 0 })])
    await expect(worker.start()).rejects.toThrow(ConfigError)
  })
})

describe('what a worker finds in the list', () => {
  it('garbage is dropped, reported and counted, and the worker lives on', async () => {
    const worker = await it_.worker([echo], { slots: 2 })
    const malformed: EventMap['request:malformed'][] = []
    worker.events.on('request:malformed', event => malformed.push(event))
    const deep = `{"task":"echo:1.0","args":${'['.repeat(5000)}${']'.repeat(5000)}}`
    const garbage = [
      '',
      'not json',
      '[]',
      '7',
      'null',
      '{}',
      '{"task":7}',
      deep,
      '{"at":1,"ttl":0,"id":"abc","task":',
      '{"task":"echo:1.0","args":{"__proto__":{"polluted":1}}}',
      '{"task":"echo:1.0","args":{"\\u005f_proto__":1}}',
    ]
    await it_.redis.rpush(queueKey('calls'), ...garbage)
    await it_.redis.rpush(queueKey('bell'), 1)
    await eventually(() => malformed.length === garbage.length)
    expect(JSON.stringify(malformed)).not.toContain('polluted')
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
    expect(await it_.hub().call('echo:1.0', 'alive')).toBe('alive')
    await eventually(async () => (await it_.redis.exists(queueKey(`held:${worker.id}`))) === 0)
  })

  it("a reply list that is not a hub's is never written to", async () => {
    const worker = await it_.worker([echo])
    const malformed: string[] = []
    worker.events.on('request:malformed', event => malformed.push(event.reason))
    const n = it_.namespace
    const hostile = [
      `${n}:tasks`,
      `${n}:{q}:calls`,
      `${n}:reply:{a}b}`,
      `${n}:reply:{}`,
      `${n}:reply:{a b}`,
      'other:reply:{abc}',
      `${n}:reply:{${'x'.repeat(65)}}`,
      `${n}:reply:{abc}\n`,
      7,
      null,
      { a: 1 },
    ]
    await it_.redis.rpush(
      queueKey('calls'),
      ...hostile.map((result_queue, i) =>
        JSON.stringify({ at: 1, ttl: 0, id: `r${i}`, task: 'echo:1.0', args: i, result_queue }),
      ),
    )
    await it_.redis.rpush(queueKey('bell'), 1)
    await eventually(() => malformed.length === hostile.length)
    expect(new Set(malformed)).toEqual(new Set(["result_queue is not a hub's reply list"]))
    expect(await it_.redis.keys('other:*')).toEqual([])
    await it_.hub().call('echo:1.0')
  })

  it('a request pushed by hand, without time and in any order of fields, runs and is answered', async () => {
    await it_.worker([echo])
    const key = `${it_.namespace}:reply:{by-hand}`
    await it_.redis.rpush(
      queueKey('calls'),
      JSON.stringify({ result_queue: key, args: [1], task: 'echo:1.0', id: 'mine' }),
    )
    await it_.redis.rpush(queueKey('bell'), 1)
    const [, text] = (await it_.redis.blpop(key, 5))!
    expect(JSON.parse(text)).toMatchObject({ id: 'mine', ok: true, result: [1] })
    expect(await it_.redis.exists(key)).toBe(0)
  })

  it('a request for a task that only another worker of the queue has reaches that one', async () => {
    const other = defineTask('other:1.0', {}, () => 'from the other')
    const first = await it_.worker([echo])
    const handed: EventMap['request:handedback'][] = []
    first.events.on('request:handedback', event => handed.push(event))
    const hub = it_.hub()
    await it_.worker([other])
    for (let n = 0; n < 20; n++) expect(await hub.call('other:1.0', n)).toBe('from the other')
  })

  it('also while that one is busy and the others find it again and again', async () => {
    const other = defineTask('other:1.0', {}, () => new Promise(resolve => setTimeout(resolve, 200, 'done')))
    await it_.worker([echo], { slots: 2 })
    await it_.worker([other], { slots: 1 })
    const hub = it_.hub()
    const calls = Array.from({ length: 6 }, (_, n) => hub.call('other:1.0', n, { timeoutMs: 5000 }))
    expect(await Promise.all(calls)).toEqual(calls.map(() => 'done'))
    expect(await hub.call('echo:1.0', 'slots are free again')).toBe('slots are free again')
  })

  it('one message with two ids is held under the first and runs once', async () => {
    let runs = 0
    const worker = await it_.worker([defineTask('count:1.0', {}, () => ++runs)])
    const at = (await it_.redis.time()).map(Number)
    const now = at[0]! * 1_000_000 + at[1]!
    await it_.redis.rpush(queueKey('calls'), `{"at":${now},"ttl":5000,"id":"first","task":"count:1.0","id":"second"}`)
    await it_.redis.rpush(queueKey('bell'), 1)
    await eventually(() => runs === 1)
    await eventually(async () => (await it_.redis.exists(queueKey(`held:${worker.id}`))) === 0)
  })
})

describe('a Redis that refuses every write', () => {
  it('does not make the worker a busy loop', async () => {
    it_.onEnd(() => it_.redis.config('SET', 'min-replicas-to-write', '0'))
    await it_.redis.config('SET', 'min-replicas-to-write', '1')
    const worker = new Worker({
      redis: it_.url,
      namespace: it_.namespace,
      queue: 'q',
      logLevel: 'silent',
      tasks: [echo],
    })
    it_.onEnd(async () => {
      await it_.redis.config('SET', 'min-replicas-to-write', '0')
      await worker.stop()
    })
    await worker.start()
    const count = async () => Number(/total_commands_processed:(\d+)/.exec(await it_.redis.info('stats'))?.[1])
    const before = await count()
    await new Promise(resolve => setTimeout(resolve, 2000))
    expect((await count()) - before).toBeLessThan(100)
    await it_.redis.config('SET', 'min-replicas-to-write', '0')
    expect(
      await it_
        .hub()
        .call('echo:1.0', 'recovered', { timeoutMs: 5000 })
        .catch(e => e.code),
    ).toMatch(/recovered|NoWorkers|NoSuchTask/)
    await eventually(
      async () =>
        (await it_
          .hub()
          .call('echo:1.0', 1)
          .catch(() => 0)) === 1,
    )
  })
})

describe('the registry', () => {
  it('lists tasks, workers and queues', async () => {
    const worker = await it_.worker(
      [defineTask('doc:1.0', { description: 'Says.', args: { type: 'object' }, timeoutMs: 700 }, () => 1)],
      { slots: 3 },
    )
    const hub = it_.hub()
    const { tasks, workers, queues } = await hub.overview()
    expect(tasks).toMatchObject([
      {
        task: 'doc:1.0',
        queue: 'q',
        description: 'Says.',
        args: { type: 'object' },
        timeoutMs: 700,
        workers: [worker.id],
        conflict: false,
      },
    ])
    expect(workers).toMatchObject([
      { id: worker.id, queue: 'q', pid: process.pid, slots: 3, live: true, stats: { busy: 0, draining: false } },
    ])
    expect(queues).toMatchObject([{ queue: 'q', backlog: 0, held: 0, workers: 1, slots: 3 }])
  })

  it('warns when live workers declare one task with different schemas', async () => {
    const declare = (type: string) => defineTask('same:1.0', { args: { type } }, () => 1)
    await it_.worker([declare('object')])
    const second = new Worker({
      redis: it_.url,
      namespace: it_.namespace,
      queue: 'q',
      logLevel: 'silent',
      tasks: [declare('string')],
    })
    it_.onEnd(() => second.stop())
    const conflict = new Promise(resolve => second.events.on('task:conflict', resolve))
    await second.start()
    expect(await conflict).toMatchObject({ task: 'same:1.0', queue: 'q' })
    expect((await it_.hub().tasks())[0]).toMatchObject({ task: 'same:1.0', conflict: true })
  })

  it('refills after a FLUSHALL', async () => {
    await it_.worker([echo])
    const hub = it_.hub()
    await hub.call('echo:1.0')
    await it_.redis.flushall()
    await eventually(async () =>
      (await hub.tasks()).some(task => task.task === 'echo:1.0' && task.workers.length === 1),
    )
    expect(await hub.call('echo:1.0', 1)).toBe(1)
  })
})

describe('settings', () => {
  it('that cannot work are refused with what would', () => {
    expect(() => new Hub({ redis: 'localhost' })).toThrow(/must be a URL like redis:/)
    expect(() => new Hub({ redis: 'redis://localhost/3' })).toThrow(/use database 0/)
    expect(() => new Hub({ timeout: 3 } as never)).toThrow(/no option 'timeout'. Known are redis, namespace/)
    expect(() => new Worker({ tasks: [echo], slots: 0 })).toThrow(
      /'slots' must be a whole number from 1 to 256; it is 0/,
    )
    expect(() => new Worker({ tasks: [] })).toThrow(/needs 'tasks'/)
    expect(() => new Worker({ tasks: [{} as never] })).toThrow(/did not return/)
    expect(() => new Worker({ tasks: [echo, echo] })).toThrow(/given twice/)
    expect(() => new Worker({ tasks: [echo], queue: 'a{b}' })).toThrow(/'queue' must be/)
    expect(() => defineTask('nope', {}, () => 1)).toThrow(/name:major.minor/)
    expect(() => defineTask('a:1.0', { args: { type: 'nope' } } as never, () => 1)).toThrow(/not a valid JSON Schema/)
    expect(() => defineTask('a:1.0', { timeout: 1 } as never, () => 1)).toThrow(/no option 'timeout'/)
    expect(() => defineTask('a:1.0', { timeoutMs: -1 }, () => 1)).toThrow(/above 0/)
  })
})
