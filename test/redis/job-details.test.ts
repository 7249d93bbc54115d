import { describe, expect, it } from 'vitest'
import { defineTask, type JobsQuery } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** What is found of single jobs, wherever they lie, and of many page by page. */
const it_ = useRedis()
const keys = (queue?: string) => queueKeys(it_, queue)

const broken = defineTask('broken:1.0', { retries: 0 }, () => {
  throw new Error('out of ink')
})
const stays = defineTask('stays:1.0', {}, (_, ctx) => new Promise(end => ctx.signal.addEventListener('abort', end)))
const echo = defineTask('echo:1.0', {}, (args: unknown) => args)

/** Pages of so many, until there is no next one: ids. */
const allPages = async (query: JobsQuery): Promise<string[][]> => {
  const hub = it_.hub()
  const pages: string[][] = []
  let from: string | undefined
  do {
    const { jobs, next, more } = await hub.jobs({ ...query, from })
    expect(more).toBe(next !== undefined)
    pages.push(jobs.map(({ id }) => id!))
    from = next
  } while (from !== undefined && pages.length < 100)
  return pages
}

describe('a listing', () => {
  it('goes on where the page before ended, over lists and over queues', async () => {
    it_.allowLeftovers()
    const message = (id: string) => `{"id":"${id}","task":"t:1.0"}`
    const { redis } = it_
    await redis.hset(`${it_.namespace}:tasks`, 't:1.0', '{"task":"t:1.0","queue":"q"}')
    await redis.hset(`${it_.namespace}:tasks`, 'u:1.0', '{"task":"u:1.0","queue":"r"}')
    await redis.rpush(keys().jobsHigh, message('h1'), message('h2'))
    await redis.rpush(keys().jobs, ...Array.from({ length: 45 }, (_, n) => message(`n${n}`)))
    await redis.rpush(keys().jobsLow, message('l1'))
    await redis.rpush(keys('r').jobs, message('r1'))
    const waiting = await allPages({ state: 'waiting', limit: 7 })
    expect(waiting.map(page => page.length)).toEqual([7, 7, 7, 7, 7, 7, 7])
    expect(waiting.flat()).toEqual(['h1', 'h2', ...Array.from({ length: 45 }, (_, n) => `n${n}`), 'l1', 'r1'])
    // What is due at the same moment, in several queues.
    await redis.zadd(keys().scheduled, ...Array.from({ length: 9 }, (_, n) => [5 + (n % 3), message(`s${n}`)]).flat())
    await redis.zadd(keys('r').scheduled, 5, message('sr1'), 6, message('sr2'), 99, message('sr3'))
    const scheduled = await allPages({ state: 'scheduled', limit: 2 })
    const inOneGo = (await it_.hub().jobs({ state: 'scheduled' })).jobs
    expect(scheduled.flat().toSorted()).toEqual(inOneGo.map(({ id }) => id).toSorted())
    expect(scheduled.flat()).toEqual(inOneGo.map(({ id }) => id))
    await redis.zadd(keys().dead, 1, message('old'), 3, message('new'))
    await redis.zadd(keys('r').dead, 2, message('middle'))
    expect(await allPages({ state: 'dead', limit: 1 })).toEqual([['new'], ['middle'], ['old']])
  })

  it('goes on behind what it looked at for nothing', async () => {
    it_.allowLeftovers()
    const filler = Array<string>(10_500).fill('{"id":"x","task":"t:1.0"}')
    await it_.redis.rpush(keys().jobs, ...filler, '{"id":"last","task":"rare:1.0"}')
    expect(await allPages({ queue: 'q', state: 'waiting', task: 'rare:1.0' })).toEqual([[], ['last']])
  })

  it('reads no more than some megabytes at a time', async () => {
    it_.allowLeftovers()
    const large = (id: string) => `{"id":"${id}","task":"t:1.0","args":"${'x'.repeat(1_000_000)}"}`
    for (let n = 0; n < 40; n++) await it_.redis.rpush(keys().jobs, large(`n${n}`))
    const pages = await allPages({ queue: 'q', state: 'waiting' })
    expect(pages.map(page => page.length)).toEqual([34, 6])
  })

  it('looks for a text in ids, tasks, callers, failures and arguments', async () => {
    it_.allowLeftovers()
    const at = '"at":1,"ttl":0,'
    await it_.redis.rpush(
      keys().jobs,
      '{"id":"Findme","task":"t:1.0"}',
      '{"id":"a","task":"find_me:1.0","from":"shop"}',
      `{${at}"id":"b","job":{"tries":1,"errors":[{"at":1,"code":"Gone","message":"No Ink"}]},"task":"t:1.0"}`,
      '{"id":"c","task":"t:1.0","args":{"to":"Ädä","n":[1,{"deep":"blue"}]}}',
    )
    const found = async (text: string) =>
      (await it_.hub().jobs({ queue: 'q', state: 'waiting', text })).jobs.map(({ id }) => id)
    expect(await found('FINDME')).toEqual(['Findme'])
    expect(await found('find_me')).toEqual(['a'])
    expect(await found('SHOP')).toEqual(['a'])
    expect(await found('no ink')).toEqual(['b'])
    expect(await found('gone')).toEqual(['b'])
    expect(await found('ädä')).toEqual(['c'])
    expect(await found('"deep":"blue"')).toEqual(['c'])
    // What each message has, and nobody wrote.
    expect(await found('"task"')).toEqual([])
  })

  it('has those that run, and tracked ones that are kept', async () => {
    const worker = await it_.worker([stays, echo], { slots: 4, jobSlots: 4 })
    const hub = it_.hub()
    const kept = await hub.enqueue(echo, 1, { keepResultMs: 60_000 })
    await kept.result()
    const plain = await hub.enqueue(stays, {})
    const tracked = await hub.enqueue(stays, {}, { tracked: true })
    await eventually(() => worker.busy === 2)
    const running = (await hub.jobs({ state: 'running' })).jobs
    expect(running.map(({ id }) => id).sort()).toEqual([plain.id, tracked.id].sort())
    expect(running[0]).toMatchObject({ queue: 'q', state: 'running', task: 'stays:1.0', worker: worker.id })
    expect(await allPages({ state: 'running', limit: 1 })).toHaveLength(2)
    await it_.redis.hset(keys().job('squat'), 'state', 'strange')
    await it_.redis.set(keys().job('other'), 'no record')
    const { jobs } = await hub.jobs({ state: 'done' })
    expect(jobs).toMatchObject([{ id: kept.id, state: 'done', task: 'echo:1.0', endedMs: expect.any(Number) }])
    expect((await hub.jobs({ state: 'done', task: 'stays:1.0' })).jobs).toEqual([])
    expect((await hub.jobs({ state: 'done', text: kept.id.toUpperCase() })).jobs).toHaveLength(1)
    await tracked.cancel()
    it_.allowStrangers()
  })

  it('of those that are kept goes through all of Redis in bounded steps, and misses none', async () => {
    it_.allowStrangers()
    const pipeline = it_.redis.pipeline()
    for (let n = 0; n < 30_000; n++)
      pipeline.hset(keys().job(`j${n}`), 'state', n % 100 === 0 ? 'done' : 'scheduled', 'task', 't:1.0')
    await pipeline.exec()
    const pages = await allPages({ queue: 'q', state: 'done', limit: 50 })
    const found = pages.flat()
    expect(new Set(found).size).toBe(300)
    expect(found).toHaveLength(300)
    expect(pages.every(page => page.length <= 50)).toBe(true)
  })

  it.each([
    [{ state: 'waiting', from: 'q' }, 'from must be the next value of an earlier listing'],
    [{ state: 'waiting', from: 'no queue!:1' }, 'from must be'],
    [{ state: 'done', from: 'q:1' }, 'from must be'],
    [{ from: 'q:1' }, 'from needs a state'],
    [{ text: 'x' }, 'text needs a state'],
    [{ state: 'dead', text: 'x'.repeat(201) }, 'text must be a string of up to 200 characters'],
  ])('is not made of %j', async (query, message) => {
    const { code, message: told } = await failure(it_.hub().jobs(query as JobsQuery))
    expect([code, told]).toEqual(['InvalidArgs', expect.stringContaining(message)])
  })
})

describe('the details of a job', () => {
  it('are those of its message and its record, wherever it lies', async () => {
    it_.allowLeftovers()
    const hub = it_.hub({ name: 'shop' })
    await it_.worker([broken, echo])
    const dead = await hub.enqueue(broken, { page: 7 }, { tracked: true })
    await eventually(async () => (await dead.status()).state === 'dead')
    expect(await hub.jobDetails(dead.id)).toMatchObject({
      ...{ id: dead.id, queue: 'q', task: 'broken:1.0', state: 'dead', isTracked: true, hasMessage: true },
      ...{ args: { page: 7 }, from: 'shop', priority: 'normal', tries: 1, retries: undefined },
      errors: [{ code: 'TaskFailed', message: 'out of ink' }],
      atMs: expect.any(Number),
      chain: undefined,
      batch: undefined,
    })
    const plain = await hub.enqueue(echo, { n: 1 }, { delayMs: 60_000, retries: 3, priority: 'high', expiresMs: 5000 })
    const dueMs = (await hub.jobs({ state: 'scheduled' })).jobs[0]!.dueMs!
    expect(await hub.jobDetails(plain.id, { queue: 'q', state: 'scheduled', atMs: dueMs })).toMatchObject({
      ...{ state: 'scheduled', isTracked: false, args: { n: 1 }, priority: 'high', retries: 3, dueMs },
      expiresMs: dueMs + 5000,
    })
    // It has moved since it was seen.
    expect(await hub.jobDetails(plain.id, { queue: 'q', state: 'retrying', atMs: 5 })).toMatchObject({
      state: 'scheduled',
    })
    const done = await hub.enqueue(echo, { n: 2 }, { tracked: true })
    await done.result()
    expect(await hub.jobDetails(done.id)).toMatchObject({
      ...{ state: 'done', result: '{"n":2}', hasMessage: false, args: undefined },
    })
  })

  it('are found among many of one state by its time', async () => {
    it_.allowLeftovers()
    const pipeline = it_.redis.pipeline()
    for (let n = 0; n < 12_000; n++) pipeline.zadd(keys().scheduled, n, `{"id":"j${n}","task":"t:1.0"}`)
    await pipeline.exec()
    const hub = it_.hub()
    const at = { queue: 'q', state: 'scheduled', atMs: 11_500 } as const
    expect(await hub.jobDetails('j11500', at)).toMatchObject({ dueMs: 11_500 })
    expect((await failure(hub.jobDetails('j11500', { queue: 'q', state: 'scheduled' }))).code).toBe('NoSuchJob')
  })

  it('tell of its chain and of its batch', async () => {
    it_.allowLeftovers()
    const hub = it_.hub()
    await it_.worker([broken, echo])
    const chain = await hub.chain([
      ['echo:1.0', 1],
      ['broken:1.0', {}],
      ['echo:1.0', 3],
    ])
    await eventually(async () => (await chain.status())[1]!.state === 'dead')
    const details = await hub.jobDetails(chain.steps[1]!.id)
    expect(details.chain).toMatchObject({
      id: chain.id,
      steps: [{ state: 'done' }, { state: 'dead' }, { state: 'pending', task: 'echo:1.0' }],
    })
    const batch = await hub.batch(
      [
        ['echo:1.0', 1],
        ['broken:1.0', 2],
        ['echo:1.0', 3, { delayMs: 60_000 }],
      ],
      { then: ['echo:1.0', 'all'], failed: ['echo:1.0', 'not all'] },
    )
    await eventually(async () => ((await batch.status())?.done ?? 0) + ((await batch.status())?.dead ?? 0) === 2)
    const member = await hub.jobDetails(batch.ids[2]!, { queue: 'q', state: 'scheduled' })
    expect(member.batch).toEqual({
      id: batch.id,
      queue: 'q',
      status: { total: 3, done: 1, dead: 1, endedMs: undefined },
      after: { id: batch.after!.id, task: 'echo:1.0' },
      failed: { id: batch.failed!.id, task: 'echo:1.0' },
    })
    await it_.redis.del(keys().batch(batch.id), keys().batchEnded(batch.id))
    const { batch: gone } = await hub.jobDetails(batch.ids[2]!, { queue: 'q', state: 'scheduled' })
    expect(gone).toMatchObject({ status: undefined, after: undefined })
  })

  it('are not made up', async () => {
    it_.allowLeftovers()
    const hub = it_.hub()
    // A program that is not ours named a chain that never was.
    await it_.redis.zadd(
      keys().dead,
      1,
      '{"at":1,"ttl":0,"id":"odd","job":{"chain":"c","steps":[["q","t:1.0"]]},"task":"t:1.0"}',
    )
    expect(await hub.jobDetails('odd', { queue: 'q' })).toMatchObject({ state: 'dead', chain: undefined })
    expect(await failure(hub.jobDetails('nobody'))).toMatchObject({
      code: 'NoSuchJob',
      message: expect.stringContaining('it was not tracked, or the record has expired'),
    })
    expect((await failure(hub.jobDetails('nobody', { queue: 'q' }))).message).toContain('not in queue q any more')
    expect((await failure(hub.jobDetails('nobody', { queue: 'a b' }))).code).toBe('InvalidArgs')
    expect((await failure(hub.cancelJob('nobody', { queue: 'q' }))).code).toBe('NoSuchJob')
  })
})
