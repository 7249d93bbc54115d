import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

/** Chains and batches, over one queue and over two. */
const it_ = useRedis()
const keysOf = (queue: string) => makeKeys(it_.namespace).queue(queue)
const queueOf = (queue: string) => new JobQueue(queue, makeKeys(it_.namespace))

/** Notes its runs; `fails` makes it die at once. */
const noting = (name: string) => {
  const runs: unknown[] = []
  const task = defineTask(`${name}:1.0`, { retries: 0 }, args => {
    runs.push(args)
    if ((args as { fails?: boolean }).fails) throw new Error('broken')
    return { by: name, args }
  })
  return { task, runs }
}

const twoQueues = async () => {
  const [a, b] = [noting('a'), noting('b')]
  await it_.worker([a.task], { queue: 'q' })
  await it_.worker([b.task], { queue: 'r' })
  return { a, b, hub: it_.hub({ name: 'shop' }) }
}

describe('a chain', () => {
  it('runs its steps one after the other, and hands results on as they were', async () => {
    const { a, b, hub } = await twoQueues()
    const big = '{"empty":[],"text":"}\\"]","n":1.50}'
    const chain = await hub.chain([
      [a.task, { n: 1 }],
      [b.task, JSON.parse(big), { pass: 'before' }],
      [a.task, {}, { pass: 'all' }],
    ])
    const first = { by: 'a', args: { n: 1 } }
    const second = { by: 'b', args: { before: first, ...JSON.parse(big) } }
    expect(await chain.result()).toEqual({ by: 'a', args: { all: second } })
    expect([a.runs.length, b.runs.length]).toEqual([2, 1])
    const found = await (await hub.job(chain.id)).chain()
    expect(found!.steps.map(({ queue, task }) => [queue, task])).toEqual([
      ['q', 'a:1.0'],
      ['r', 'b:1.0'],
      ['q', 'a:1.0'],
    ])
    expect((await found!.status()).map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    // Nothing is left of what went from queue to queue.
    await eventually(async () => (await it_.keys()).every(key => !/:(held|came):/.test(key)))
    it_.allowLeftovers()
  })

  it('into a queue that cannot be written keeps nothing else from being served', async () => {
    const a = noting('a')
    const worker = await it_.worker([a.task], { slots: 2 })
    const hub = it_.hub()
    const elsewhere = keysOf('elsewhere')
    await it_.redis.set(elsewhere.jobs, 'of somebody else')
    for (let n = 0; n < 8; n++)
      await hub.chain([
        [a.task, {}],
        ['b:1.0', {}, { queue: 'elsewhere' }],
      ])
    // More than three times as many as there are slots.
    await eventually(async () => (await it_.redis.hlen(keysOf('q').held(worker.id))) === 8)
    await hub.call(a.task, {})
    await (await hub.enqueue(a.task, {}, { tracked: true })).result()
    await it_.redis.del(elsewhere.jobs)
    await eventually(async () => (await it_.redis.llen(elsewhere.jobs)) === 8)
    await eventually(async () => (await it_.redis.exists(keysOf('q').held(worker.id))) === 0)
    it_.allowLeftovers()
  })

  it('ends where a step fails, and no further one starts when it is cancelled', async () => {
    const { a, b, hub } = await twoQueues()
    const broken = await hub.chain([
      [a.task, { fails: true }],
      [b.task, {}],
    ])
    expect(await failure(broken.result())).toMatchObject({ code: 'TaskFailed' })
    const waiting = await hub.chain([
      [a.task, {}, { delayMs: 3000 }],
      [b.task, {}],
      [a.task, {}],
    ])
    await waiting.cancel()
    expect((await waiting.status()).map(({ state }) => state)).toEqual(['cancelled', 'cancelled', 'cancelled'])
    const last = await hub.enqueue(a.task, {}, { delayMs: 3200, tracked: true })
    await last.result()
    expect([a.runs.length, b.runs.length]).toEqual([2, 0])
    it_.allowLeftovers()
  })

  it('that is cancelled while its step runs goes no further', async () => {
    let end = () => {}
    const ended = new Promise<void>(resolve => (end = resolve))
    const slow = defineTask('slow:1.0', {}, () => ended)
    const next = noting('next')
    const worker = await it_.worker([slow, next.task])
    const chain = await it_.hub().chain([
      [slow, {}],
      [next.task, {}],
    ])
    await eventually(() => worker.busy === 1)
    await chain.cancel()
    end()
    await eventually(async () => (await chain.steps[0]!.status()).state === 'done')
    expect(await failure(chain.steps[1]!.result())).toMatchObject({ code: 'Aborted' })
    expect(next.runs).toEqual([])
    it_.allowLeftovers()
  })

  it('is known by the steps that have records, and not where none has one', async () => {
    const { a, b, hub } = await twoQueues()
    const steps = [
      [a.task, {}],
      [b.task, {}],
      [a.task, {}, { delayMs: 60_000 }],
      [b.task, {}],
    ] as const
    const chain = await hub.chain(
      steps.map(step => [...step]),
      { tracked: undefined },
    )
    const states = async () => (await chain.status()).map(({ state }) => state)
    await eventually(async () => (await states())[2] === 'scheduled')
    await it_.redis.del(`${it_.namespace}:{q}:job:${chain.id}`, `${it_.namespace}:{r}:job:${chain.id}-2`)
    expect(await states()).toEqual(['done', 'done', 'scheduled', 'pending'])
    expect(await chain.steps[2]!.run()).toBe(true)
    expect(await chain.result()).toMatchObject({ by: 'b' })
    const records = async () => (await it_.keys()).filter(key => key.includes(':job:'))
    await it_.redis.del(...(await records()).map(key => `${it_.namespace}:${key}`))
    for (const ask of [chain.status(), chain.cancel(), chain.result()])
      expect(await failure(ask)).toMatchObject({ code: 'NoSuchJob' })
    expect(await records()).toEqual([])
    it_.allowLeftovers()
  })

  it('may be longer than a message of a call, and have a step that is there already', async () => {
    const { a, b, hub } = await twoQueues()
    const long = 'x'.repeat(600_000)
    const chain = await hub.chain([
      [a.task, { long }],
      [b.task, { long }],
    ])
    expect(await chain.result()).toMatchObject({ by: 'b' })
    expect([a.runs.length, b.runs.length]).toEqual([1, 1])
    const first = await hub.enqueue(b.task, { n: 1 }, { unique: 'x', delayMs: 60_000 })
    const twin = await hub.chain([
      [a.task, {}],
      [b.task, { n: 2 }, { unique: 'x' }],
    ])
    await eventually(async () => (await twin.status())[1]!.state === 'cancelled')
    await first.cancel()
    await it_.redis.del(keysOf('r').scheduled)
    it_.allowLeftovers()
  })

  it('is refused with what is wrong', async () => {
    const { a, hub } = await twoQueues()
    expect(await failure(hub.chain([]))).toMatchObject({ code: 'InvalidArgs' })
    expect(await failure(hub.chain([[a.task, {}, { pass: 'x' }]]))).toMatchObject({ data: { index: 0 } })
    const toList = hub.chain([
      [a.task, {}],
      [a.task, [], { pass: 'x' }],
    ])
    expect(await failure(toList)).toMatchObject({ code: 'InvalidArgs', message: expect.stringContaining('an object') })
    expect(
      await failure(
        hub.chain([
          [a.task, {}],
          ['nobody:1.0', {}],
        ]),
      ),
    ).toMatchObject({ code: 'NoSuchTask' })
  })
})

describe('what is to be done in another queue', () => {
  const message = (id: string) => `"ttl":0,"id":"${id}","job":{"keep":60000},"task":"b:1.0","args":{"id":"${id}"}}`

  it('is done by another worker when the one that owed it died, once', async () => {
    const { b } = await twoQueues()
    const { held, leases } = keysOf('q')
    // It died behind the push, and before it knew: what comes again is known.
    expect(await queueOf('r').forward(it_.redis, message('came'))).toBe(true)
    await it_.redis.hset(held('lost'), { 'out:r:came': message('came'), 'out:r:new': message('new') })
    await it_.redis.zadd(leases, 1, 'lost')
    await eventually(async () => (await it_.redis.exists(held('lost'))) === 0, 30_000)
    await eventually(() => b.runs.length === 2)
    await eventually(async () => (await it_.keys()).every(key => !/:(held|came):/.test(key)))
    expect(b.runs.map(args => (args as { id: string }).id).sort()).toEqual(['came', 'new'])
    it_.allowLeftovers()
  })
})

describe('a batch', () => {
  it('has one job follow when all have ended, over two queues', async () => {
    const { a, b, hub } = await twoQueues()
    const after = noting('after')
    await it_.worker([after.task], { queue: 's' })
    const entries = Array.from({ length: 60 }, (_, n) => [n % 2 ? a.task : b.task, { n }] as const)
    const batch = await hub.batch(entries, { then: [after.task, { all: true }, { tracked: true }] })
    expect(batch.ids).toHaveLength(60)
    expect(await batch.after!.result()).toEqual({ by: 'after', args: { all: true } })
    expect([a.runs.length, b.runs.length, after.runs.length]).toEqual([30, 30, 1])
    expect(await batch.status()).toMatchObject({ total: 60, done: 60, dead: 0, endedMs: expect.any(Number) })
    await eventually(async () => (await it_.keys()).every(key => !/:(held|came|ended):/.test(key)))
    it_.allowLeftovers()
  })

  it('has another one follow where one of them died, expired or was cancelled', async () => {
    const { a, b, hub } = await twoQueues()
    const ways: [object, object][] = [
      [{ fails: true }, {}],
      [{}, { expiresMs: 1, queue: 'nobody' }],
      // Its batch is told when its time comes.
      [{}, { delayMs: 300, tracked: true }],
    ]
    for (const [args, options] of ways) {
      b.runs.length = 0
      const batch = await hub.batch(
        [
          ['a:1.0', {}],
          ['a:1.0', args, options],
        ],
        {
          then: [b.task, { well: true }],
          failed: [b.task, { well: false }, { tracked: true }],
        },
      )
      if ('delayMs' in options) expect(await (await hub.job(batch.ids[1]!)).cancel()).toBe(true)
      if ('queue' in options) await it_.worker([a.task], { queue: 'nobody' })
      await batch.failed!.result()
      expect(await batch.status()).toMatchObject({ total: 2, done: 1, dead: 1 })
      expect(b.runs).toEqual([{ well: false }])
    }
    it_.allowLeftovers()
  })
})

describe('a batch of jobs that are there already', () => {
  it('waits for their ends, once each, also from another queue, and tells who waits that what follows never comes', async () => {
    const { a, b, hub } = await twoQueues()
    const first = await hub.enqueue(a.task, { n: 1 }, { unique: true, delayMs: 60_000 })
    const entry = [a.task, { n: 1 }, { unique: true }] as const
    const batches = await Promise.all([
      hub.batch([[...entry], [...entry]], { then: [b.task, { after: 1 }] }),
      hub.batch([[...entry]], { then: [b.task, { after: 2 }] }),
      hub.batch([[...entry], [a.task, { n: 2 }]], { then: [a.task, { n: 1 }, { unique: 'there' }] }),
    ])
    expect((await Promise.all(batches.map(batch => batch.status()))).map(status => status?.total)).toEqual([1, 1, 2])
    expect(b.runs).toEqual([])
    const there = await hub.enqueue(a.task, {}, { unique: 'there', delayMs: 60_000 })
    await first.run()
    await Promise.all(batches.slice(0, 2).map(({ after }) => after!.result()))
    expect(await failure(batches[2]!.after!.result())).toMatchObject({ code: 'Aborted' })
    await there.cancel()
    it_.allowLeftovers()
  })
})

describe('after Redis forgot how a job ended', () => {
  it('it is run again, so that what follows comes', async () => {
    const { a, b, hub } = await twoQueues()
    const worker = (await hub.workers()).find(({ queue }) => queue === 'q')!
    const chain = await hub.chain([
      [a.task, {}],
      [b.task, {}],
    ])
    await chain.result()
    // As it was a moment before: held, and nothing of the next step.
    await it_.redis.del(keysOf('r').job(chain.steps[1]!.id))
    const held = `{"at":1,"ttl":0,"id":"${chain.id}","job":{"keep":1000,"chain":"${chain.id}"},"task":"a:1.0","args":{},"then":[{"id":"${chain.id}-2","task":"b:1.0","queue":"r","args":"{}","job":{"keep":1000}}]}`
    await it_.redis.hset(keysOf('q').held(worker.id), `job:${chain.id}`, held)
    await eventually(() => b.runs.length === 2, 30_000)
    expect(a.runs).toHaveLength(2)
    it_.allowLeftovers()
  })
})

describe('a job that is tried again', () => {
  it('is neither lost by a new connection nor by a worker that leaves meanwhile', async () => {
    const attempts: number[] = []
    const task = defineTask('twice:1.0', { backoff: 1 }, async (_, ctx) => {
      attempts.push(ctx.attempt)
      if (ctx.attempt === 1) throw new Error('first')
      if (attempts.length === 2) await new Promise(() => {})
    })
    const worker = await it_.worker([task])
    const hub = it_.hub()
    // What was released before a reconnection is looked at with doubt after it.
    await (await hub.enqueue('twice:1.0', {}, { retries: 0, tracked: true })).result().catch(() => undefined)
    attempts.length = 0
    await it_.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    const job = await hub.enqueue(task, {}, { tracked: true })
    await eventually(() => attempts.length === 2, 30_000)
    await worker.stop({ graceMs: 0 })
    expect((await job.status()).state).toBe('waiting')
    await it_.worker([task])
    await job.result()
    expect(attempts).toEqual([1, 2, 2])
    it_.allowLeftovers()
  })
})
