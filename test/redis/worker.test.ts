import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
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
})

describe('connections', () => {
  it('a hub and a worker hold two each, whatever is in flight and declared', async () => {
    const tasks = Array.from({ length: 50 }, (_, n) => defineTask(`task_${n}:1.0`, {}, () => n))
    await it_.worker(tasks, { slots: 8 })
    const hub = it_.hub()
    await Promise.all(Array.from({ length: 500 }, (_, n) => hub.call(`task_${n % 50}:1.0`, n, { timeoutMs: 15_000 })))
    const clients = String(await it_.redis.call('CLIENT', 'LIST'))
    expect(clients.match(/name=pshub-hub-/g)).toHaveLength(2)
    expect(clients.match(/name=pshub-worker-/g)).toHaveLength(2)
  })
})

describe('deadlines', () => {
  it("the handler's signal fires when its call's time is up", async () => {
    const { task, aborted } = gate()
    await it_.worker([task])
    await failure(it_.hub().call('gate:1.0', {}, { timeoutMs: 200 }))
    await eventually(() => aborted.length === 1)
    expect(aborted).toEqual(['Timeout'])
  })

  it('what remains shrinks, and nested calls inherit it', async () => {
    const remaining: number[] = []
    const inner = defineTask('inner:1.0', {}, (_, ctx) => remaining.push(ctx.remainingMs()))
    const outer = defineTask('outer:1.0', {}, async (_, ctx) => {
      remaining.push(ctx.remainingMs())
      await delay(100, 'time that the call has less afterwards')
      return ctx.call('inner:1.0', {}, { timeoutMs: 60_000 })
    })
    await it_.worker([inner, outer])
    await it_.hub().call('outer:1.0', {}, { timeoutMs: 2000 })
    expect(remaining[0]).toBeLessThanOrEqual(2000)
    expect(remaining[1]).toBeLessThanOrEqual(remaining[0]! - 90)
  })
})

describe('the caller', () => {
  it('may give up while it waits', async () => {
    const { task, started, open } = gate()
    await it_.worker([task])
    const hub = it_.hub()
    const late = new Promise(resolve => hub.events.on('reply:late', resolve))
    const controller = new AbortController()
    const call = failure(hub.call('gate:1.0', {}, { signal: controller.signal }))
    const other = hub.call('gate:1.0', 'other')
    await eventually(() => started.length === 2)
    controller.abort(new Error('the user left'))
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
    open()
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
    const call = it_.hub().call('again:1.0', {}, { timeoutMs: 30_000 })
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
