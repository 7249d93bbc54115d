import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** What becomes of jobs that were given up. */
const it_ = useRedis()
const keys = () => queueKeys(it_)

describe('dead jobs', () => {
  const dying = async (count: number) => {
    let isMended = false
    const task = defineTask('dies:1.0', { retries: 0 }, args => {
      if (!isMended) throw new Error('broken')
      return args
    })
    await it_.worker([task])
    const hub = it_.hub({ name: 'shop' })
    const jobs = []
    for (let n = 0; n < count; n++) jobs.push(await hub.enqueue(task, { n }, { keepResultMs: 60_000 }))
    for (const job of jobs) expect(await failure(job.result())).toMatchObject({ code: 'TaskFailed', message: 'broken' })
    const mend = () => {
      isMended = true
    }
    return { hub, jobs, mend, dead: hub.dead('q') }
  }

  it('are listed with what went wrong, found by filters, and deleted', async () => {
    const { jobs, dead, hub } = await dying(3)
    expect(await dead.count()).toBe(3)
    const all = await dead.list()
    expect(all.map(({ args }) => args)).toEqual([{ n: 2 }, { n: 1 }, { n: 0 }])
    expect(all[0]).toMatchObject({ id: jobs[2]!.id, task: 'dies:1.0', from: 'shop', tries: 1, following: 0 })
    expect(all[0]!.errors).toMatchObject([{ code: 'TaskFailed', message: 'broken' }])
    expect(await dead.list({}, 2)).toHaveLength(2)
    expect(await dead.count({ ids: [jobs[1]!.id] })).toBe(1)
    expect(await dead.count({ code: 'InvalidArgs' })).toBe(0)
    await it_.redis.zadd(keys().dead, 1, 'garbage')
    expect([await dead.count(), await dead.count({})]).toEqual([4, 3])
    await it_.redis.zrem(keys().dead, 'garbage')
    expect(await dead.list({ task: 'other:1.0' })).toEqual([])
    expect(await dead.list({ code: 'InvalidArgs' })).toEqual([])
    expect(await dead.list({ beforeMs: all[2]!.atMs })).toEqual([])
    expect(await dead.delete({ ids: [jobs[0]!.id, 'nobody'] })).toBe(1)
    expect(await dead.delete()).toBe(2)
    expect(await dead.count()).toBe(0)
    expect(() => hub.dead('no queue')).toThrow(/queue must be the name/)
    it_.allowLeftovers()
  })

  it('are tried again, one with other arguments, and end well', async () => {
    const { jobs, dead, mend } = await dying(25)
    mend()
    expect(await dead.retry({ ids: [jobs[0]!.id] }, { args: { n: 'mended' } })).toBe(1)
    expect(await jobs[0]!.result()).toEqual({ n: 'mended' })
    expect(await dead.retry({ code: 'TaskFailed' })).toBe(24)
    expect(await Promise.all(jobs.slice(1).map(job => job.result()))).toEqual(
      Array.from({ length: 24 }, (_, n) => ({ n: n + 1 })),
    )
    expect(await jobs[1]!.status()).toMatchObject({ state: 'done', error: undefined })
    expect(await dead.count()).toBe(0)
    it_.allowLeftovers()
  })

  it('are not all meant by a filter that is none', async () => {
    const { dead } = await dying(1)
    for (const act of ['count', 'list', 'retry', 'delete'] as const) {
      const unknown = await failure(dead[act]({ older: 5 } as never))
      const message = "dead jobs: there is no filter 'older'. Known: ids, task, code, key, beforeMs."
      expect(unknown).toMatchObject({ code: 'InvalidArgs', message })
      expect(await failure(dead[act]({ ids: 'a' } as never))).toMatchObject({ code: 'InvalidArgs' })
    }
    expect(await dead.delete()).toBe(1)
    it_.allowLeftovers()
  })

  it('go on with their chain, and are not disturbed by what is no job', async () => {
    const { hub, dead, mend } = await dying(0)
    const chain = await hub.chain([
      ['dies:1.0', { n: 1 }],
      ['dies:1.0', { n: 2 }, { pass: 'before' }],
    ])
    await failure(chain.result())
    expect((await chain.status()).map(({ state }) => state)).toEqual(['dead', 'pending'])
    await it_.redis.zadd(keys().dead, 1, 'garbage')
    expect(await dead.list()).toMatchObject([{ id: chain.id, following: 1 }])
    mend()
    // Its record lasts for an hour, and it for 180 days.
    await it_.redis.del(keys().job(chain.id))
    expect(
      (await hub.jobDetails(chain.id, { queue: 'q', state: 'dead' })).chain!.steps.map(({ state }) => state),
    ).toEqual(['dead', 'pending'])
    expect(await dead.retry({ ids: [chain.id] })).toBe(1)
    const revived = await hub.job(chain.id)
    expect(await revived.status()).toMatchObject({ task: 'dies:1.0', enqueuedMs: expect.any(Number) })
    expect((await revived.chain())!.steps).toHaveLength(2)
    expect(await chain.steps[1]!.result()).toEqual({ before: { n: 1 }, n: 2 })
    it_.allowLeftovers()
  })
})
