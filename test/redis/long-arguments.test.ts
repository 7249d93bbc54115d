import { afterEach, describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { functionOf } from '../../src/redis/library.ts'
import { echo } from '../support/example-tasks.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** Arguments that are too long to lie in the list: they lie beside their request. */
const it_ = useRedis()
const keys = () => queueKeys(it_)
const long = { text: 'ü"\\'.repeat(20_000), list: [1, null, { a: '' }] }
const beside = async () => (await it_.keys()).filter(key => key.includes(':args:'))

const gates: (() => void)[] = []
afterEach(() => {
  for (const open of gates.splice(0)) open()
})
/** Runs until the test lets it go on. */
const gated = defineTask('gated:1.0', { idempotent: true }, async args => {
  await new Promise<void>(resolve => gates.push(resolve))
  return args
})

/** One that runs, and one that waits behind it. */
const oneWaits = async () => {
  const worker = await it_.worker([gated], { slots: 1 })
  const hub = it_.hub()
  const running = hub.call('gated:1.0', long)
  await eventually(() => gates.length === 1)
  const caller = new AbortController()
  const waiting = hub.call('gated:1.0', long, { signal: caller.signal })
  await eventually(async () => (await it_.redis.llen(keys().calls)) === 1)
  return { worker, hub, running, waiting, caller }
}

describe('long arguments', () => {
  it('arrive, and leave nothing behind', async () => {
    await it_.worker([echo])
    const hub = it_.hub()
    expect(await hub.call('echo:1.0', long)).toEqual(long)
    const many = Array.from({ length: 40 }, (_, n) => ({ ...long, n }))
    expect(await Promise.all(many.map(args => hub.call('echo:1.0', args)))).toEqual(many)
    await eventually(async () => (await beside()).length === 0)
  })

  it('lie beside their request while it waits and while it runs, with an end of life behind its deadline', async () => {
    const { running, waiting } = await oneWaits()
    const [text] = await it_.redis.lrange(keys().calls, 0, -1)
    expect(text!.length).toBeLessThan(300)
    const id = /^\{"at":\d+,"ttl":\d+,"id":"([\w-]+)","idempotent":true,"beside":(\d+),"task"/.exec(text!)
    expect(await it_.redis.strlen(keys().args(id![1]!))).toBe(Number(id![2]))
    const names = await beside()
    expect(names).toHaveLength(2)
    for (const name of names) {
      const ttlMs = await it_.redis.pttl(`${it_.namespace}:${name}`)
      expect(ttlMs).toBeGreaterThan(5000)
      expect(ttlMs).toBeLessThanOrEqual(10_000)
    }
    gates.splice(0)[0]!()
    expect(await running).toEqual(long)
    await eventually(() => gates.length === 1)
    gates.splice(0)[0]!()
    expect(await waiting).toEqual(long)
    await eventually(async () => (await beside()).length === 0)
  })

  it('go with a call that is given up while it waits', async () => {
    const { running, waiting, caller } = await oneWaits()
    caller.abort()
    expect((await failure(waiting)).code).toBe('Aborted')
    await eventually(async () => (await it_.redis.llen(keys().calls)) === 0)
    await eventually(async () => (await beside()).length === 1)
    gates.splice(0)[0]!()
    await running
  })

  it('are there for the worker that runs the call again', async () => {
    const first = await it_.worker([gated], { slots: 1, leaseMs: 4000 })
    const running = it_.hub().call('gated:1.0', long, { timeoutMs: 20_000 })
    await eventually(() => gates.length === 1)
    await it_.worker([gated], { slots: 1 })
    // It leaves, and what may run twice goes back to the list.
    await first.stop({ graceMs: 0 })
    await eventually(() => gates.length === 2)
    gates.splice(0)[1]!()
    expect(await running).toEqual(long)
  })

  it('are in the request for a worker that does not fetch them, and one whose arguments are gone is dropped', async () => {
    const { redis } = it_
    const { calls, held, leases, bell, jobs, jobBell, args } = keys()
    const request = (id: string, more = '') =>
      `{"at":1,"ttl":0,"id":"${id}"${more},"beside":9,"task":"a:1.0","result_queue":"r"}`
    await redis.zadd(leases, 9e12, 'w')
    await redis.set(args('one'), '{"x":[1]}')
    await redis.set(args('two'), '{"y":"%1"}')
    const texts = [request('one'), request('two', ',"idempotent":true'), request('gone')]
    await redis.rpush(calls, ...texts)
    const claim = (...more: string[]) =>
      redis.call('FCALL', functionOf('claim'), 6, calls, bell, held('w'), leases, jobs, jobBell, ...more)
    const answer = await claim('w', '8', '0', '1000000', '0')
    expect(answer).toEqual([
      expect.any(String),
      [
        '{"at":1,"ttl":0,"id":"one","args":{"x":[1]},"task":"a:1.0","result_queue":"r"}',
        '{"at":1,"ttl":0,"id":"two","idempotent":true,"args":{"y":"%1"},"task":"a:1.0","result_queue":"r"}',
      ],
      0,
      1,
      [],
      2,
      0,
      [],
    ])
    // Who runs it again finds them as this one did.
    expect(await redis.hgetall(held('w'))).toEqual({ one: texts[0], two: texts[1] })
    await redis.rpush(calls, ...texts)
    expect(await claim('w', '8', '0', '1000000', '0', '1')).toEqual([
      expect.any(String),
      texts,
      0,
      0,
      [],
      3,
      0,
      [1, 2, 3],
    ])
    await redis.del(leases, held('w'), args('one'), args('two'))
  })

  it('that were removed end their call at once', async () => {
    const { running, waiting } = await oneWaits()
    const [text] = await it_.redis.lrange(keys().calls, 0, -1)
    await it_.redis.del(keys().args(/"id":"([\w-]+)"/.exec(text!)![1]!))
    gates.splice(0)[0]!()
    await running
    expect(await failure(waiting)).toMatchObject({ code: 'Expired', ran: 'no', retryable: true })
  })

  it.each([
    ['are no JSON', '{"x":'],
    ['would be more than arguments', '1,"task":"other:1.0"'],
    ['are nested too deep', '['.repeat(80) + ']'.repeat(80)],
  ])('that %s any more are not run, and not held', async (_, text) => {
    const { worker, running, waiting, caller } = await oneWaits()
    const [request] = await it_.redis.lrange(keys().calls, 0, -1)
    await it_.redis.set(keys().args(/"id":"([\w-]+)"/.exec(request!)![1]!), text, 'KEEPTTL')
    const malformed = new Promise(resolve => worker.events.on('request:malformed', resolve))
    gates.splice(0)[0]!()
    await running
    expect(await malformed).toMatchObject({ reason: expect.stringMatching(/not JSON|nested deeper/) })
    await eventually(async () => (await it_.keys()).every(key => !key.includes(':held:')))
    expect(gates).toHaveLength(0)
    caller.abort()
    expect((await failure(waiting)).code).toBe('Aborted')
  })

  it('stay in the request of a task whose workers look for them there', async () => {
    const { redis, namespace } = it_
    await it_.worker([gated], { slots: 1 })
    const name = `${namespace}:tasks`
    const { beside: said, ...card } = JSON.parse((await redis.hget(name, 'gated:1.0'))!)
    expect(said).toBe(true)
    await redis.hset(name, 'gated:1.0', JSON.stringify(card))
    const hub = it_.hub()
    const running = hub.call('gated:1.0', long)
    await eventually(() => gates.length === 1)
    expect(await beside()).toEqual([])
    gates.splice(0)[0]!()
    expect(await running).toEqual(long)
  })
})
