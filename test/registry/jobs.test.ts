import { describe, expect, it } from 'vitest'
import { eventually } from '../support/hub-fixture.ts'
import { bodyOf, errorOf, print, usePrintJobs } from '../support/print-jobs.ts'
import { jsonOf, useRegistry } from '../support/registry-fixture.ts'

/** What the registry's API says of jobs and does with them. */
const fixture = useRegistry()
const { keys, withDead } = usePrintJobs(fixture)

describe('GET /api/jobs', () => {
  it('lists them page by page, with the filters', async () => {
    const { registry, id } = await withDead()
    const pipeline = fixture.redis.pipeline()
    for (let n = 0; n < 120; n++)
      pipeline.zadd(keys().scheduled, 4e12 + n, `{"id":"s${n}","task":"${n % 2 ? 'print' : 'copy'}:1.0"}`)
    await pipeline.exec()
    const list = async (query: string) => jsonOf(await registry.get(`api/jobs?${query}`, 'view'))
    expect(await list('')).toMatchObject({
      jobs: [],
      counts: [{ queue: 'q', waiting: 0, scheduled: 120, retrying: 0, dead: 1 }],
    })
    const first = await list('state=scheduled')
    expect([first.jobs.length, first.jobs[0].id, first.more]).toEqual([50, 's0', true])
    const second = await list(`state=scheduled&limit=100&from=${first.next}`)
    expect([second.jobs.length, second.jobs[0].id, second.more]).toEqual([70, 's50', false])
    expect((await list('state=scheduled&task=copy:1.0&text=S1&queue=q')).jobs).toHaveLength(15)
    expect((await list('state=dead')).jobs).toMatchObject([{ id, error: { message: 'no such page' } }])
    expect((await list('state=dead&queue=other')).jobs).toEqual([])
  })

  it.each([
    ['state=lost', 'BadRequest', "'state' must be one of waiting, running, scheduled, retrying, dead, done."],
    ['state=dead&limit=1000', 'BadRequest', "'limit' must be a whole number from 0 to 500."],
    ['state=dead&from=x', 'InvalidArgs', 'from must be the next value of an earlier listing'],
    ['state=dead&sort=x', 'BadRequest', "Unknown member 'sort'."],
  ])('refuses %s', async (query, code, message) => {
    const registry = await fixture.registry()
    expect(await errorOf(await registry.get(`api/jobs?${query}`))).toEqual([
      400,
      code,
      expect.stringContaining(message),
    ])
  })
})

describe('one job', () => {
  it('is shown, tried again with other arguments, and shown again', async () => {
    const { registry, id } = await withDead()
    expect(await jsonOf(await registry.get(`api/jobs/${id}?queue=q`, 'view'))).toMatchObject({
      ...{ id, state: 'dead', args: { page: -1 }, errors: [{ message: 'no such page' }], isTracked: true },
    })
    const retried = await registry.post(`api/jobs/${id}/retry`, { queue: 'q', args: { page: 2 } })
    expect(await bodyOf(retried)).toEqual([200, { id, changed: true }])
    const shown = await eventually(async () => {
      const details = await jsonOf(await registry.get(`api/jobs/${id}`))
      return details.state === 'done' && details
    })
    expect(shown).toMatchObject({ result: '{"printed":2}', hasMessage: false })
    expect(await jsonOf(await registry.post(`api/jobs/${id}/retry`, { queue: 'q' }))).toEqual({ id, changed: false })
  })

  it('has its arguments as they were enqueued, and takes others as they are written', async () => {
    fixture.allowLeftovers()
    const registry = await fixture.registry()
    const written = '{"z": 9007199254740993, "args": [1.50, "\\"}"]}'
    const message = (args: string) =>
      `{"at":1000,"ttl":0,"id":"exact","job":{"tries":1,"errors":[]},"task":"away:1.0","args":${args},"from":"shop"}`
    await fixture.redis.zadd(keys().dead, 5, message(written))
    await fixture.redis.set(keys().paused, '1000')
    // Nobody declares its task, so that it is hidden unless somebody asks for it.
    const read = async () => (await registry.post('api/jobs/exact/reveal', { queue: 'q', state: 'dead' })).text()
    const text = await read()
    expect(text).toContain(`"args":${written}`)
    expect(JSON.parse(text)).toMatchObject({
      argsText: written,
      args: { args: [1.5, '"}'] },
      from: 'shop',
      state: 'dead',
    })
    const argsText = '{"n":12345678901234567890}'
    for (const wrong of ['{', '', '{"__proto__":1}'])
      expect(await errorOf(await registry.post('api/jobs/exact/retry', { queue: 'q', argsText: wrong }))).toEqual([
        ...[400, 'InvalidArgs', expect.stringMatching(/^The arguments of the task: (arguments not JSON|.*__proto__)/)],
      ])
    expect((await registry.post('api/jobs/exact/retry', { queue: 'q', argsText })).status).toBe(200)
    expect(await fixture.redis.lrange(keys().jobs, 0, -1)).toEqual([expect.stringContaining(`"args":${argsText},`)])
    // What says it all by itself is said once.
    await fixture.redis.zadd(keys().dead, 6, message('{"n":1}'))
    expect(JSON.parse(await read())).not.toHaveProperty('argsText')
    await fixture.redis.del(keys().paused)
  })

  it('is deleted, and cancelled', async () => {
    const { registry, id } = await withDead()
    expect(await jsonOf(await registry.post(`api/jobs/${id}/delete`, { queue: 'q' }))).toEqual({ id, changed: true })
    const options = { delayMs: 60_000 }
    const later = await jsonOf(await registry.post('api/enqueue/print:1.0', { options }))
    const seen = { queue: 'q', state: 'scheduled' }
    expect(await jsonOf(await registry.post(`api/jobs/${later.id}/cancel`, seen))).toMatchObject({ changed: true })
    expect(await errorOf(await registry.post(`api/jobs/${later.id}/cancel`, seen))).toEqual([
      404,
      'NoSuchJob',
      expect.any(String),
    ])
    const registryOf = await fixture.registry({ runTasks: ['mail:1.0'] })
    expect((await registryOf.post(`api/jobs/${id}/delete`, { queue: 'q' })).status).toBe(200)
  })

  it('is run at once where it waits for its time, with a line in the log', async () => {
    fixture.allowLeftovers()
    await fixture.worker([print])
    const registry = await fixture.registry()
    const options = { delayMs: 3_600_000 }
    const { id } = await jsonOf(await registry.post('api/enqueue/print:1.0', { args: { page: 1 }, options }))
    const seen = { queue: 'q', state: 'scheduled' }
    const strict = await fixture.registry({ runTasks: ['mail:1.0'] })
    expect((await strict.post(`api/jobs/${id}/run`, seen)).status).toBe(403)
    expect((await strict.post('api/jobs-matching/run', { state: 'scheduled' })).status).toBe(403)
    expect(await jsonOf(await registry.post(`api/jobs/${id}/run`, seen))).toEqual({ id, changed: true })
    await eventually(async () => (await jsonOf(await registry.get('api/jobs'))).counts[0].waiting === 0)
    expect((await registry.post(`api/jobs/${id}/run`, seen)).status).toBe(404)
    for (let n = 0; n < 3; n++) await registry.post('api/enqueue/print:1.0', { args: { page: n }, options })
    expect(await jsonOf(await registry.post('api/jobs-matching/run', { state: 'scheduled' }))).toMatchObject({
      ...{ matching: 3, changed: 3, skipped: 0 },
    })
    expect(await fixture.redis.zcard(keys().scheduled)).toBe(0)
    const dead = await registry.post('api/jobs-matching/run', { state: 'dead' })
    expect(await errorOf(dead)).toEqual([400, 'InvalidArgs', expect.stringContaining('run is not possible')])
  })

  it('is not tried again where its task may not be run', async () => {
    const { id } = await withDead()
    const registry = await fixture.registry({ runTasks: ['mail:*'] })
    expect((await registry.post(`api/jobs/${id}/retry`, { queue: 'q' })).status).toBe(403)
    expect((await registry.post('api/jobs-matching/retry', { state: 'dead' })).status).toBe(403)
    expect((await registry.post('api/jobs-matching/retry', { state: 'dead', task: 'print:1.0' })).status).toBe(403)
    expect((await registry.post('api/jobs-matching/retry', { state: 'dead', task: 'mail:1.0' })).status).toBe(200)
    expect(await fixture.redis.zcard(keys().dead)).toBe(1)
  })

  it('shows its chain, which can be cancelled', async () => {
    fixture.allowLeftovers()
    await fixture.worker([print])
    const registry = await fixture.registry()
    const chain = await fixture.hub().chain([['print:1.0', { page: -1 }], ['print:1.0']])
    await eventually(async () => (await chain.status())[0]!.state === 'dead')
    const { chain: shown } = await jsonOf(await registry.get(`api/jobs/${chain.id}`))
    expect(shown).toMatchObject({ id: chain.id, steps: [{ state: 'dead' }, { state: 'pending' }] })
    const cancelled = await registry.post(`api/jobs/${chain.id}/cancel-chain`, {})
    expect(await bodyOf(cancelled)).toEqual([200, { id: chain.id, changed: true }])
    expect((await chain.status())[1]!.state).toBe('cancelled')
    const lone = await jsonOf(
      await registry.post('api/enqueue/print:1.0', { options: { tracked: true, delayMs: 60_000 } }),
    )
    expect((await registry.post(`api/jobs/${lone.id}/cancel-chain`, {})).status).toBe(400)
  })
})

describe('jobs that match', () => {
  it('are counted, tried again, deleted and cancelled in steps', async () => {
    const { registry } = await withDead()
    for (let n = 0; n < 250; n++) await fixture.redis.zadd(keys().dead, n, `{"id":"d${n}","task":"away:1.0"}`)
    const count = await jsonOf(await registry.get('api/jobs-matching?state=dead&task=away:1.0', 'view'))
    expect(count).toMatchObject({ matching: 250, changed: 0 })
    const match = { state: 'dead', task: 'away:1.0', untilMs: count.atMs }
    const first = await jsonOf(await registry.post('api/jobs-matching/delete', match))
    expect(first).toMatchObject({ matching: 200, changed: 200, next: expect.any(String) })
    const second = await jsonOf(await registry.post('api/jobs-matching/delete', { ...match, from: first.next }))
    expect(second.changed).toBe(50)
    expect(second.next).toBeUndefined()
    expect(await fixture.redis.zcard(keys().dead)).toBe(1)
    const retried = await jsonOf(await registry.post('api/jobs-matching/retry', { state: 'dead', text: 'NO SUCH' }))
    expect(retried).toMatchObject({ matching: 1, changed: 1 })
    await registry.post('api/enqueue/print:1.0', { options: { delayMs: 60_000 } })
    expect(await jsonOf(await registry.post('api/jobs-matching/cancel', { state: 'scheduled' }))).toMatchObject({
      changed: 1,
    })
  })
})
