import { afterEach, describe, expect, it, vi } from 'vitest'
import { defineTask, Hub } from '../../src/index.ts'
import { type InMemory, type InMemoryOptions, inMemory, NotEnqueuedAsExpected } from '../../src/testing/index.ts'

const sent: unknown[] = []
const mail = defineTask('mail:1.0', { retries: 2, backoff: 60_000 }, async (args: unknown, { attempt }) => {
  sent.push(args)
  if ((args as { failures?: number }).failures === undefined) return attempt
  if ((args as { failures: number }).failures >= attempt) throw new Error(`refused ${attempt}`)
  return attempt
})
const daily = defineTask('daily:1.0', {}, async () => sent.push('daily'))

let kits: InMemory[] = []
const kitOf = async (options: InMemoryOptions = {}) => {
  const kit = await inMemory({ tasks: [mail, daily], ...options })
  kits.push(kit)
  return kit
}
afterEach(async () => {
  for (const kit of kits) await kit.close()
  kits = []
  sent.length = 0
})

describe('expectEnqueued', () => {
  it('finds what was enqueued, by task and arguments, with matchers in them', async () => {
    const { hub, expectEnqueued, enqueued, clock } = await kitOf()
    await hub.enqueue(mail, { to: 'ada', lines: ['ü', 2] }, { delayMs: 60_000, key: undefined })
    await hub.enqueueMany([
      ['mail:1.0', { to: 'bob' }],
      ['daily:1.0', {}],
    ])
    expect(expectEnqueued(mail, { to: 'ada', lines: ['ü', 2] })).toMatchObject({ task: 'mail:1.0', queue: 'default' })
    expect(
      expectEnqueued('mail', { to: expect.any(String), lines: expect.arrayContaining([2]) }).dueMs,
    ).toBeGreaterThan(clock.nowMs + 50_000)
    expect(expectEnqueued('mail:1', { to: 'bob' }).dueMs).toBeLessThanOrEqual(clock.nowMs)
    expect(enqueued('mail').map(({ args }) => args)).toEqual([{ to: 'ada', lines: ['ü', 2] }, { to: 'bob' }])
    expect(enqueued()).toHaveLength(3)
  })

  it('says what was enqueued where that was not', async () => {
    const { hub, expectEnqueued } = await kitOf()
    expect(() => expectEnqueued(mail)).toThrow('No job of mail:1.0 was enqueued. Nothing was enqueued.')
    await hub.enqueue('daily:1.0')
    expect(() => expectEnqueued(mail, { to: 'ada' })).toThrow('Enqueued jobs: daily:1.0.')
    await hub.enqueue(mail, { to: 'bob' })
    const failed = (() => {
      try {
        expectEnqueued(mail, { to: 'ada' })
      } catch (error) {
        return error as NotEnqueuedAsExpected
      }
      return undefined
    })()
    expect(failed).toBeInstanceOf(NotEnqueuedAsExpected)
    expect([failed!.expected, failed!.actual]).toEqual([{ to: 'ada' }, [{ to: 'bob' }]])
    for (const wrong of [{ to: 'ada', cc: 'bob' }, { to: ['bob'] }, {}, []])
      expect(() => expectEnqueued(mail, wrong)).toThrow()
  })

  it('does not count what was there already, and what was refused', async () => {
    const { hub, enqueued } = await kitOf()
    for (const delayMs of [1000, 1000]) await hub.enqueue(mail, { to: 'ada' }, { unique: true, delayMs })
    await hub.enqueue('nothing:1.0', {}).catch(() => undefined)
    expect(enqueued()).toHaveLength(1)
  })

  it('knows of jobs that nobody serves, and of those that a hub of the code under test enqueues', async () => {
    const kit = await inMemory()
    kits.push(kit)
    const own = new Hub({ redis: kit.redis.target, logLevel: 'silent' })
    await own.enqueue('elsewhere:1.0', { a: 1 }, { queue: 'others' })
    expect(kit.expectEnqueued('elsewhere:1.0', { a: 1 }).queue).toBe('others')
    expect(await own.call('elsewhere:1.0').catch(({ code }) => code)).toBe('NoSuchTask')
    await own.close()
  })
})

describe('jobs', () => {
  it('wait until drain(), with what they enqueue themselves', async () => {
    const kit = await kitOf({
      jobs: 'wait',
      tasks: [
        mail,
        defineTask('twice:1.0', {}, async () => {
          await kit.hub.enqueue(mail, { to: 'by twice' })
        }),
      ],
    })
    await kit.hub.enqueue('twice:1.0')
    await kit.hub.enqueue(mail, { to: 'later' }, { delayMs: 60_000 })
    await kit.clock.advance(3000)
    expect(sent).toEqual([])
    expect(await kit.drain()).toBe(2)
    expect(sent).toEqual([{ to: 'by twice' }])
    expect(await kit.drain()).toBe(0)
    await kit.clock.advance(60_000)
    expect(await kit.drain()).toBe(1)
    expect(await kit.hub.call(mail, { to: 'called' })).toBe(1)
    expect(sent).toHaveLength(3)
  })

  it('run before enqueue() resolves when they are inline, and fail where they are enqueued', async () => {
    const kit = await kitOf({ jobs: 'inline' })
    const job = await kit.hub.enqueue(mail, { to: 'ada' }, { tracked: true })
    expect([sent, (await job.status()).state]).toEqual([[{ to: 'ada' }], 'done'])
    await expect(kit.hub.enqueue(mail, { failures: 1 })).rejects.toThrow('refused 1')
    await kit.hub.enqueue(mail, { to: 'later' }, { delayMs: 1000 })
    expect(sent).toHaveLength(2)
  })

  it('inline ones run inside of each other', async () => {
    const kit: InMemory = await kitOf({
      jobs: 'inline',
      tasks: [
        mail,
        defineTask('outer:1.0', {}, async () => {
          await kit.hub.enqueue(mail, { to: 'inner' })
          sent.push('outer')
        }),
      ],
    })
    await kit.hub.enqueue('outer:1.0')
    expect(sent).toEqual([{ to: 'inner' }, 'outer'])
  })

  it('that do not end are told by drain()', async () => {
    const kit = await kitOf({ tasks: [defineTask('stuck:1.0', {}, () => new Promise(() => undefined))] })
    await kit.hub.enqueue('stuck:1.0')
    await expect(kit.drain({ timeoutMs: 200 })).rejects.toThrow(/timed out after 200 ms: 1 handlers run; left are 1 in/)
  })
})

describe('the clock', () => {
  it('goes on by days of schedules and retries', async () => {
    const { hub, clock } = await kitOf()
    await hub.schedule('nightly', { cron: '0 3 * * *', timezone: 'UTC' }, 'daily:1.0')
    await hub.enqueue(mail, { failures: 2 })
    await clock.advance(59_000)
    expect(sent).toHaveLength(1)
    await clock.advance(2000)
    expect(sent).toHaveLength(2)
    await clock.advance(2 * 24 * 3_600_000)
    expect(sent.filter(each => each === 'daily')).toHaveLength(2)
    expect(sent).toHaveLength(5)
  })

  it('stops where something is due, and not before', async () => {
    const at: number[] = []
    const kit: InMemory = await kitOf({ tasks: [defineTask('when:1.0', {}, () => void at.push(kit.clock.nowMs))] })
    const start = kit.clock.nowMs
    for (const delayMs of [5 * 3_600_000, 30_000, 3_600_000]) await kit.hub.enqueue('when:1.0', {}, { delayMs })
    await kit.clock.advance(6 * 3_600_000)
    expect(at).toHaveLength(3)
    const due = [30_000, 3_600_000, 5 * 3_600_000, 6 * 3_600_000].map(ms => start + ms)
    for (const [i, ran] of at.entries()) {
      expect(ran).toBeGreaterThanOrEqual(due[i]!)
      expect(ran).toBeLessThan(due[i + 1]!)
    }
  })

  it('goes to a time, and not back', async () => {
    const { clock } = await kitOf()
    const newYear = new Date('2099-01-01T00:00:00Z')
    await clock.advanceTo(newYear)
    expect(new Date(clock.nowMs).toISOString()).toMatch(/^2099-01-01T00:/)
    await expect(clock.advanceTo(new Date('2020-01-01'))).rejects.toThrow('milliseconds from 0')
    await expect(clock.advance(-1)).rejects.toThrow('milliseconds from 0')
  })

  it('goes on while a framework holds the date', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2031-05-05T12:00:00Z') })
    try {
      const { hub, clock } = await kitOf()
      expect(new Date(clock.nowMs).getUTCFullYear()).toBe(2031)
      expect(await hub.call(mail, {})).toBe(1)
      await hub.enqueue(mail, { to: 'later' }, { at: new Date('2031-05-05T13:00:00Z') })
      await clock.advance(3_599_000)
      expect(sent).toHaveLength(1)
      await clock.advance(2000)
      expect(sent).toHaveLength(2)
    } finally {
      vi.useRealTimers()
    }
  })

  it('is again what it was when all is closed', async () => {
    const kit = await kitOf()
    await kit.clock.advance(3_600_000)
    await kit.close()
    const next = await kitOf()
    const { nowMs } = next.clock
    expect(nowMs).toBeLessThan(Date.now() + 60_000)
  })
})

describe('faults', () => {
  it('a worker that died can be started again, and takes over what it held', async () => {
    const ran: string[] = []
    const once = defineTask('hold:1.0', { idempotent: true }, async (_, { signal }) => {
      ran.push('start')
      if (ran.length > 1) return 'done'
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
    })
    const { hub, worker, clock } = await kitOf({ tasks: [once] })
    const called = hub.call('hold:1.0', {}, { timeoutMs: 60_000 })
    await clock.advance(10)
    expect(worker.busy).toBe(1)
    worker.die()
    expect(worker.busy).toBe(0)
    expect(() => worker.die()).toThrow('already stopped')
    await worker.start()
    await expect(worker.start()).rejects.toThrow('already running')
    await clock.advance(8000)
    expect(await called).toBe('done')
  })

  it('Redis is away for as long as the test says, and all find it again', async () => {
    const { hub, redis, worker } = await kitOf()
    await hub.call(mail, {})
    const states: string[] = []
    worker.events.on('redis:down', () => states.push('down'))
    worker.events.on('redis:up', () => states.push('up'))
    await redis.goAway()
    await redis.comeBack()
    expect(states.sort()).toEqual(['down', 'down', 'up', 'up'])
    expect(await hub.call(mail, {})).toBe(1)
    expect(redis.command('EXISTS', 'pshub:workers')).toBe(1)
    const words = Array.from({ length: 300 }, (_, n) => `ü${n}`)
    expect(redis.command('RPUSH', 'list', ...words)).toBe(300)
    expect(redis.command('LRANGE', 'list', 0, -1)).toEqual(words)
    expect(() => redis.command('NONSENSE')).toThrow('unknown command')
  })
})

it('wrong options are refused', async () => {
  await expect(inMemory({ tasks: [mail], jobs: 'later' as never })).rejects.toThrow(
    "'jobs' must be one of run, inline, wait",
  )
  await expect(inMemory({ tasks: [mail], worker: { slots: 0 } })).rejects.toThrow('slots')
})
