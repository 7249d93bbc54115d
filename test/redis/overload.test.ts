import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap, TaskError } from '../../src/index.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const slow = (ms: number, started: unknown[] = []) =>
  defineTask('slow:1.0', { timeoutMs: 10_000 }, async args => {
    started.push(args)
    await delay(ms, 'a handler that takes its time')
    return args
  })

describe('more than can be served', () => {
  it('is refused by the list itself when another hub has filled it', async () => {
    let isFilling = false
    let open = () => {}
    const opened = new Promise<void>(resolve => (open = resolve))
    const task = defineTask('slow:1.0', { timeoutMs: 30_000 }, async () => {
      await delay(50, 'a rate at which the queue is served')
      if (isFilling) await opened
    })
    await it_.worker([task], { slots: 1 })
    const [one, other] = [it_.hub(), it_.hub()]
    const warmUp = (hub: typeof one) => Promise.all([1, 2, 3, 4].map(() => hub.call('slow:1.0')))
    await warmUp(one)
    await warmUp(other)
    isFilling = true
    const filling = Array.from({ length: 40 }, () => one.call('slow:1.0').catch(error => error))
    await eventually(async () => (await it_.redis.llen(`${it_.namespace}:{q}:calls`)) > 30)
    const refused = await failure(other.call('slow:1.0', {}, { timeoutMs: 300 }))
    expect(refused).toMatchObject({ code: 'Overloaded', ran: 'no' })
    expect(refused.message).toMatch(/About \d+ ms of work waits in queue q, and this call can wait only \d+ ms/)
    isFilling = false
    open()
    await Promise.all(filling)
  })
})

describe('limits that a worker declares for its queue', () => {
  it('bind hubs that allow more', async () => {
    await it_.worker([slow(200)], { slots: 1, maxBacklog: 2, maxPayloadBytes: 2000 })
    const hub = it_.hub()
    expect(await failure(hub.call('slow:1.0', 'x'.repeat(3000)))).toMatchObject({
      code: 'PayloadTooLarge',
      message: expect.stringMatching(/larger than 2000 bytes/),
    })
    const calls = Array.from({ length: 8 }, () => hub.call('slow:1.0').catch(error => error.code))
    const codes = await Promise.all(calls)
    expect(codes.filter(code => code === 'Overloaded').length).toBeGreaterThanOrEqual(5)
  })

  it('are kept by the worker itself, against callers that do not look', async () => {
    const started: unknown[] = []
    await it_.worker([slow(1, started)], { maxPayloadBytes: 2000 })
    const list = `${it_.namespace}:reply:{hand}`
    const request = { id: 'abc', task: 'slow:1.0', args: 'x'.repeat(4000), result_queue: list }
    await it_.redis.rpush(`${it_.namespace}:{q}:calls`, JSON.stringify(request))
    const [, reply] = (await it_.redis.blpop(list, 5))!
    expect(JSON.parse(reply)).toMatchObject({ id: 'abc', ok: false, error: { code: 'PayloadTooLarge' } })
    expect(started).toEqual([])
  })
})

describe('safe retries', () => {
  it('repeat an idempotent task whose handler says that it may', async () => {
    let runs = 0
    const flaky = (idempotent: boolean) =>
      defineTask(idempotent ? 'again:1.0' : 'once:1.0', { idempotent }, () => {
        if (++runs < 3) throw new TaskError('not yet', { retryable: true })
        return runs
      })
    await it_.worker([flaky(true), flaky(false)])
    const hub = it_.hub()
    const retried: EventMap['call:retried'][] = []
    const settled: EventMap['call:settled'][] = []
    hub.events.on('call:retried', event => retried.push(event))
    hub.events.on('call:settled', event => settled.push(event))
    expect(await hub.call('again:1.0')).toBe(3)
    expect(retried.map(({ code }) => code)).toEqual(['TaskFailed', 'TaskFailed'])
    expect(settled).toMatchObject([{ ok: true, id: retried[1]!.nextId }])
    runs = 0
    expect((await failure(hub.call('once:1.0'))).code).toBe('TaskFailed')
    expect(runs).toBe(1)
    runs = -10
    expect((await failure(hub.call('again:1.0'))).code).toBe('TaskFailed')
    expect(runs).toBe(-7)
  })

  it('end with the deadline and with the caller', async () => {
    const failing = defineTask('again:1.0', { idempotent: true }, () => {
      throw new TaskError('never', { retryable: true })
    })
    await it_.worker([failing])
    const hub = it_.hub()
    await failure(hub.call('again:1.0'))
    const controller = new AbortController()
    hub.events.on('call:retried', () => controller.abort())
    expect((await failure(hub.call('again:1.0', {}, { signal: controller.signal }))).code).toBe('Aborted')
  })

  it('send again what a full Redis refused, for as long as a second', async () => {
    await it_.worker([slow(1)])
    const hub = it_.hub()
    await hub.call('slow:1.0')
    await it_.redis.config('SET', 'maxmemory', '1')
    hub.events.on('call:retried', () => void it_.redis.config('SET', 'maxmemory', '0'))
    expect(await hub.call('slow:1.0', { n: 2 })).toEqual({ n: 2 })
  })

  it('never turn "may have run" into "certainly not"', async () => {
    const proxy = await ChaosProxy.start(Number(new URL(it_.url).port))
    it_.onEnd(() => proxy.stop())
    const runs: unknown[] = []
    await it_.worker([defineTask('again:1.0', { idempotent: true }, args => runs.push(args))])
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('again:1.0', 1)
    // The first try runs and fails as retryable; from then on Redis cannot be reached any more.
    const error = new TaskError('later', { retryable: true })
    await it_.worker([
      defineTask('fail:1.0', { idempotent: true }, () => {
        setTimeout(() => {
          proxy.refuse = true
          proxy.cut()
        }, 5)
        throw error
      }),
    ])
    expect(await failure(hub.call('fail:1.0', {}, { timeoutMs: 3000 }))).toMatchObject({
      ran: expect.stringMatching(/yes|maybe/),
    })
    proxy.heal()
  })
})
