import { describe, expect, it } from 'vitest'
import { defineTask, type ForwardedJob } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { notingTarget, startForwarder } from '../support/forwarding.ts'
import { startHookServer } from '../support/hook-server.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const fixture = useRedis()
const queue = 'forward.billing'

describe('a job that is to be forwarded', () => {
  it('needs no task and no forwarder, and leaves the hub once there is one', async () => {
    const hub = fixture.hub({ name: 'shop' })
    const job = await hub.enqueue('order.paid', { order: 17, lines: [] }, { forward: 'billing' })
    expect(job.queue).toBe(queue)
    expect((await hub.jobs({ queue })).counts).toMatchObject([{ queue, waiting: 1 }])
    const { target, jobs } = notingTarget()
    await startForwarder(fixture, { target })
    await eventually(() => jobs().length === 1)
    expect(jobs()).toMatchObject([
      { id: job.id, task: 'order.paid', args: { order: 17, lines: [] }, attempt: 1, from: 'shop', key: undefined },
    ])
    await eventually(async () => !(await fixture.keys()).some(key => key.includes(':held:') || key.endsWith(':jobs')))
  })

  it('is refused where it could not go', async () => {
    const hub = fixture.hub()
    const refused = (options: object) => failure(hub.enqueue('paid', {}, options))
    expect(await refused({ forward: 'billing', queue: 'q' })).toMatchObject({ code: 'InvalidArgs' })
    expect((await refused({ forward: 'billing', queue: 'q' })).message).toContain('give queue or forward, not both')
    expect((await refused({ queue: 'forward.billing' })).message).toContain(
      'queue "forward.billing" belongs to a forwarder: use forward instead, "billing"',
    )
    expect((await refused({ forward: 'a b' })).message).toContain('forward must be the name of a forwarder')
    expect((await refused({ forward: 'x'.repeat(57) })).code).toBe('InvalidArgs')
    expect((await refused({ forward: 'billing', score: 1 })).message).toContain('score is for merged jobs')
    expect((await failure(hub.enqueue('not a name', {}, { forward: 'billing' }))).code).toBe('NoSuchTask')
    expect((await hub.jobs({ queue })).counts).toMatchObject([{ waiting: 0 }])
  })

  it('may be late, tracked, unique, a step of a chain, one of a batch, and come at its times', async () => {
    const { target, jobs } = notingTarget()
    await startForwarder(fixture, { target })
    const seen: unknown[] = []
    const local = defineTask('local:1.0', { retries: 0 }, args => void seen.push(args))
    await fixture.worker([local])
    const hub = fixture.hub()
    const forward = 'billing'
    fixture.allowLeftovers()
    const late = await hub.enqueue('late', { n: 1 }, { forward, delayMs: 300, unique: true })
    expect((await hub.enqueue('late', { n: 1 }, { forward, delayMs: 300, unique: true })).isTwin).toBe(true)
    expect((await late.status()).state).toBe('scheduled')
    expect(await late.result({ timeoutMs: 30_000 })).toBeNull()
    const chain = await hub.chain([
      ['first', { n: 2 }, { forward }],
      ['local:1.0', {}, { pass: 'before' }],
    ])
    await chain.result({ timeoutMs: 30_000 })
    expect(seen).toEqual([{ before: null }])
    const batch = await hub.batch([['one'], ['two']], { forward, then: ['local:1.0', { all: true }, { queue: 'q' }] })
    await batch.after!.result({ timeoutMs: 30_000 })
    expect(seen.at(-1)).toEqual({ all: true })
    const schedule = await hub.schedule('each-second', { cron: '* * * * * *' }, 'tick', {}, { forward })
    expect(schedule.queue).toBe(queue)
    await eventually(() => jobs().some(({ task }) => task === 'tick'))
    await hub.schedules(queue).remove('each-second')
    expect(new Set(jobs().map(({ task }) => task))).toEqual(new Set(['late', 'first', 'one', 'two', 'tick']))
  })

  it('is tried again when it was not taken, no sooner than the other side says, and dead when that is of no use', async () => {
    const seen: { task: string; at: number; attempt: number }[] = []
    const { target } = notingTarget(batch => {
      const taken: string[] = []
      const failed: object[] = []
      for (const { id, task, attempt } of batch) {
        seen.push({ task, at: Date.now(), attempt })
        if (task === 'bad') failed.push({ id, reason: 'it does not fit', isFinal: true, status: 422 })
        else if (attempt === 2) taken.push(id)
        else if (task === 'wait') failed.push({ id, reason: 'not now', retryAfterMs: 600 })
      }
      return { taken, failed }
    })
    await startForwarder(fixture, { target, backoff: 10 })
    const hub = fixture.hub()
    await hub.enqueueMany([['bad'], ['again'], ['wait']], { forward: 'billing' })
    await eventually(() => seen.length === 5)
    const [first, second] = seen.filter(({ task }) => task === 'wait')
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(590)
    const dead = hub.dead(queue)
    const [bad] = await dead.list({ code: 'Refused' })
    expect(bad).toMatchObject({ task: 'bad', errors: [{ code: 'Refused', message: 'it does not fit', status: 422 }] })
    await dead.delete()
  })

  it('of a target that throws, returns nonsense or hangs is tried again', async () => {
    fixture.allowLeftovers()
    const seen: number[] = []
    const silent = await startHookServer(() => undefined)
    fixture.onEnd(() => silent.close())
    const { target } = notingTarget((batch, signal) => {
      const [{ id, attempt }] = batch as [ForwardedJob]
      seen.push(attempt)
      if (attempt === 1) throw new Error('it is away')
      if (attempt === 2) return undefined
      if (attempt === 3) return ['nobody']
      return attempt === 4 ? fetch(silent.url, { signal }) : [id]
    })
    const forwarder = await startForwarder(fixture, { target, backoff: 1, timeoutMs: 200 })
    const stacks: unknown[] = []
    forwarder.events.on('task:settled', ({ thrown }) => void (thrown && stacks.push((thrown as Error).stack)))
    const job = await fixture.hub().enqueue('a', {}, { forward: 'billing', tracked: true })
    await job.result({ timeoutMs: 30_000 })
    expect(seen).toEqual([1, 2, 3, 4, 5])
    expect(stacks).toEqual(['', '', '', ''])
    const { errors } = await fixture.hub().jobDetails(job.id)
    expect(errors.at(-1)!.message).toBe('the target did not confirm it within 200 ms')
  })
})

describe('a forwarder', () => {
  it('keeps the order of each key, failures included', async () => {
    const done: [string, number][] = []
    let failures = 0
    const { target } = notingTarget(async batch => {
      expect(new Set(batch.map(({ key }) => key)).size).toBe(batch.length)
      await delay(Math.random() * 5, 'so that batches overlap')
      const taken = batch.filter(() => Math.random() > 0.3 || failures++ > 30)
      for (const { key, args } of taken) done.push([key!, (args as { n: number }).n])
      return taken.map(({ id }) => id)
    })
    await startForwarder(fixture, { target, backoff: 1, slots: 8 })
    const numbers = Array.from({ length: 40 }, (_, n) => n)
    const entries = numbers.map(n => ['sync', { n }, { key: `k${n % 4}` }] as const)
    await fixture.hub().enqueueMany(entries, { forward: 'billing' })
    await eventually(() => done.length === 40)
    for (const key of ['k0', 'k1', 'k2', 'k3']) {
      const own = done.filter(each => each[0] === key).map(each => each[1])
      expect(own).toEqual([...own].sort((a, b) => a - b))
    }
    expect(failures).toBeGreaterThan(0)
    await eventually(async () => !(await fixture.keys()).some(key => key.includes(':running:')))
  })

  it('finishes what is under way when it is told to stop, closes its target, and leaves the rest', async () => {
    let confirm = (): void => undefined
    const confirmed = new Promise<void>(resolve => {
      confirm = resolve
    })
    const { target, jobs } = notingTarget(async batch => {
      await confirmed
      return batch.map(({ id }) => id)
    })
    const forwarder = await startForwarder(fixture, { target, slots: 2, batch: 1 })
    const hub = fixture.hub()
    await hub.enqueueMany([['a'], ['b'], ['c']], { forward: 'billing' })
    await eventually(() => jobs().length === 2)
    const stopped = forwarder.stop({ graceMs: 10_000 })
    expect(target.isClosed).toBe(false)
    confirm()
    await stopped
    expect(target.isClosed).toBe(true)
    expect(jobs().length).toBe(2)
    expect((await hub.jobs({ queue })).counts).toMatchObject([{ waiting: 1 }])
    fixture.allowLeftovers()
  })

  it.each([
    ['fails', () => Promise.reject(new Error('no end')), ['no end']],
    ['never ends', () => new Promise(() => undefined), []],
  ])('stops where the close() of its target %s', async (_, close, problems) => {
    const { target } = notingTarget()
    const forwarder = await startForwarder(fixture, { target: { ...target, close } })
    const seen: string[] = []
    forwarder.events.on('problem', ({ where, reason }) => seen.push(`${where}: ${reason}`))
    await forwarder.stop()
    expect(seen).toEqual(problems.map(reason => `target: ${reason}`))
  })

  it('answers calls that were pushed by hand, and is left alone by workers of all queues', async () => {
    const { target, jobs } = notingTarget()
    const tasks = [defineTask('other:1.0', {}, () => 1)]
    await expect(fixture.worker(tasks, { queue: ['*', queue] })).rejects.toThrow(
      'Queue forward.billing belongs to a forwarder: pshub forward billing.',
    )
    const other = await fixture.worker(tasks, { queue: '*' })
    const hub = fixture.hub()
    await hub.enqueue('a', {}, { forward: 'billing' })
    const found = other.look().map(each => each.queue)
    // It looks for queues every five seconds.
    const late = await fixture.worker([defineTask('other:1.0', {}, () => 1)], { queue: '*' })
    expect([...found, ...late.look().map(each => each.queue)]).not.toContain(queue)
    await startForwarder(fixture, { target })
    await eventually(() => jobs().length === 1)
    const id = 'h'.repeat(22)
    const reply = `${fixture.namespace}:reply:{${id}}`
    await fixture.redis.rpush(
      `${fixture.namespace}:{${queue}}:calls`,
      JSON.stringify({ id: 'x1', task: 'called', args: {}, result_queue: reply }),
    )
    await fixture.redis.rpush(`${fixture.namespace}:{${queue}}:bell`, '1')
    const text = (await eventually(() => fixture.redis.lpop(reply)))!
    expect(JSON.parse(text).error.message).toBe('A forwarder takes jobs: enqueue called instead of calling it.')
    expect(jobs().length).toBe(1)
    fixture.allowLeftovers()
  })

  it('refuses what it cannot work with', () => {
    const make = (options: object) => () => startForwarder(fixture, { target: notingTarget().target, ...options })
    return Promise.all([
      expect(make({ name: 'a b' })).rejects.toThrow("'name' must be 1 to 56 letters"),
      expect(make({ target: {} })).rejects.toThrow("'target' must have a method forward(batch, signal)"),
      expect(make({ batch: 0 })).rejects.toThrow("'batch' must be a whole number from 1 to 1000; it is 0"),
      expect(make({ waitMs: 0.5 })).rejects.toThrow("'waitMs' must be a whole number from 0"),
      expect(make({ queue: 'q' })).rejects.toThrow("A forwarder has no option 'queue'"),
      expect(make({ retris: 1 })).rejects.toThrow("'retries'"),
    ])
  })
})
