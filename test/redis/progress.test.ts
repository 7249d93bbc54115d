import { describe, expect, it } from 'vitest'
import { defineTask, TaskError } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { useThreads } from '../support/threaded-worker.ts'

const it_ = useRedis()
const threads = useThreads(it_)

describe('progress', () => {
  it('comes to the caller that asks for it, and to no other', async () => {
    const told: unknown[] = []
    const steps = defineTask('steps:1.0', { timeoutMs: 10_000 }, async (_, ctx) => {
      for (let done = 1; done <= 3; done++) {
        ctx.progress({ done, total: 3, message: `step ${done}` })
        await delay(300, 'progress is told four times a second at most')
      }
      return 'ready'
    })
    await it_.worker([steps])
    const hub = it_.hub()
    expect(await hub.call(steps, {}, { onProgress: progress => told.push(progress) })).toBe('ready')
    expect(told).toEqual([1, 2, 3].map(done => ({ done, total: 3, message: `step ${done}` })))
    expect(await hub.call(steps)).toBe('ready')
    expect(told).toHaveLength(3)
  })

  it('is told some times a second at the most, the last one of them', async () => {
    const told: number[] = []
    const busy = defineTask('busy:1.0', { timeoutMs: 10_000 }, async (_, ctx) => {
      for (let done = 1; done <= 600; done++) {
        ctx.progress({ done })
        await delay(1, 'more often than it is told')
      }
      await delay(300, 'the last word comes with the next time it is told')
    })
    await it_.worker([busy])
    const startedAt = performance.now()
    await it_.hub().call(busy, {}, { onProgress: ({ done }) => told.push(done) })
    expect(told[0]).toBe(1)
    expect(told.at(-1)).toBe(600)
    // However long it took.
    expect(told.length).toBeLessThanOrEqual((performance.now() - startedAt) / 200 + 2)
    expect(told).toEqual(told.toSorted((a, b) => a - b))
  })

  it('that is none fails its task, and a listener that throws fails nobody', async () => {
    const odd = defineTask('odd:1.0', {}, (given, ctx) => ctx.progress(given as never))
    await it_.worker([odd])
    const hub = it_.hub()
    for (const [given, said] of [
      [{ done: 'x' }, 'done must be a number'],
      [{ done: 1, totl: 2 }, "did you mean 'total'"],
      [{ done: 1, total: -1 }, 'total must be a number'],
      [3, 'must be an object'],
    ] as const)
      expect(await failure(hub.call(odd, given))).toMatchObject({
        code: 'TaskFailed',
        message: expect.stringContaining(said),
      })
    const problems: unknown[] = []
    hub.events.on('problem', problem => problems.push(problem))
    const onProgress = () => {
      throw new Error('no')
    }
    await hub.call(odd, { done: 1 }, { onProgress })
    expect(problems).toEqual([{ where: 'onProgress', reason: 'no' }])
  })

  it('of a job is in its status and its details while it runs, and gone with its run', async () => {
    const seen = { goesOn: false }
    const steps = defineTask('steps:1.0', { retries: 0 }, async (fails, ctx) => {
      ctx.progress({ done: 1, total: 4, message: 'page 1' })
      await eventually(() => seen.goesOn)
      if (fails === true) throw new TaskError('no')
    })
    await it_.worker([steps])
    const hub = it_.hub()
    for (const fails of [false, true]) {
      seen.goesOn = false
      const job = await hub.enqueue(steps, fails, { keepResultMs: 300 })
      const progress = { done: 1, total: 4, message: 'page 1' }
      await eventually(async () => (await job.status()).progress !== undefined)
      expect(await job.status()).toMatchObject({ state: 'running', progress })
      expect(await hub.jobDetails(job.id)).toMatchObject({ state: 'running', progress })
      const key = `${it_.namespace}:{q}:progress:${job.id}`
      expect(await it_.redis.pttl(key)).toBeGreaterThan(50_000)
      // What is there may be anything.
      await it_.redis.set(key, '{"done":"x"}', 'KEEPTTL')
      expect((await job.status()).progress).toBeUndefined()
      await it_.redis.del(key)
      await it_.redis.rpush(key, 'x')
      expect((await job.status()).progress).toBeUndefined()
      seen.goesOn = true
      await job.result().catch(() => undefined)
      expect(await job.status()).toMatchObject({ state: fails ? 'dead' : 'done' })
      expect((await job.status()).progress).toBeUndefined()
      await eventually(async () => !(await it_.keys()).some(name => name.includes(':progress:')))
    }
    await it_.redis.del(`${it_.namespace}:{q}:dead`)
    it_.allowLeftovers()
  })

  it('of a job that was given up is told no more', async () => {
    let tell: (() => void) | undefined
    const deaf = defineTask('deaf:1.0', { retries: 0, jobTimeoutMs: 50 }, (_, ctx) => {
      tell = () => ctx.progress({ done: 1 })
      tell()
      return new Promise(() => {})
    })
    await it_.worker([deaf, defineTask('next:1.0', {}, () => 'next')])
    const hub = it_.hub()
    const job = await hub.enqueue(deaf, {}, { tracked: true })
    await failure(job.result())
    const written = async () => (await it_.keys()).some(name => name.includes(':progress:'))
    await eventually(async () => !(await written()))
    tell!()
    // Sent behind what was told, over the same connection.
    expect(await (await hub.enqueue('next:1.0', {}, { tracked: true })).result()).toBe('next')
    expect(await written()).toBe(false)
    it_.allowLeftovers()
  })

  it('of a handler in a thread comes from there', async () => {
    const told: number[] = []
    await threads.startWorker()
    const hub = it_.hub()
    await hub.call('steps:1.0', 3, { onProgress: ({ done }) => told.push(done) })
    expect(told).toEqual([1, 2, 3])
  })
})
