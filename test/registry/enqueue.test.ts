import { describe, expect, it } from 'vitest'
import { eventually } from '../support/hub-fixture.ts'
import { bodyOf, errorOf, print, usePrintJobs } from '../support/print-jobs.ts'
import { jsonOf, useRegistry } from '../support/registry-fixture.ts'

/** How jobs come by the registry's API, at once and at their times, and what its overview says of them. */
const fixture = useRegistry()
const { keys, withDead } = usePrintJobs(fixture)

describe('POST /api/enqueue/<task>', () => {
  it('enqueues with the options, and says what was there already', async () => {
    fixture.allowLeftovers()
    await fixture.worker([print])
    const registry = await fixture.registry()
    const options = { delayMs: 60_000, retries: 3, priority: 'high', unique: 'once', keepResultMs: 5000 }
    const first = await jsonOf(
      await registry.post('api/enqueue/print', { args: { page: 1 }, options }, { role: 'run' }),
    )
    expect(first).toEqual({ id: expect.any(String), queue: 'q', task: 'print:1.0', isTwin: false })
    expect(await jsonOf(await registry.post('api/enqueue/print', { options }))).toMatchObject({
      id: first.id,
      isTwin: true,
    })
    expect(await jsonOf(await registry.get(`api/jobs/${first.id}`, 'view'))).toMatchObject({
      ...{ state: 'scheduled', args: { page: 1 }, retries: 3, priority: 'high', unique: 'print:1.0:once' },
    })
    const atMs = Date.now() + 120_000
    const { id } = await jsonOf(await registry.post('api/enqueue/print:1.0', { options: { atMs, tracked: true } }))
    expect((await jsonOf(await registry.get(`api/jobs/${id}`))).dueMs).toBe(atMs)
    expect((await registry.post('api/enqueue/print:1.0')).status).toBe(200)
  })

  it('refuses what is wrong, and says what', async () => {
    await fixture.worker([print])
    const registry = await fixture.registry({ runTasks: ['print:*', 'gone:1.0'] })
    const refused = async (path: string, body?: unknown) => errorOf(await registry.post(`api/enqueue/${path}`, body))
    expect(await refused('print:1.0', { args: { page: 'x' } })).toEqual([400, 'InvalidArgs', expect.any(String)])
    expect(await refused('print:1.0', { arguments: {} })).toEqual([
      400,
      'BadRequest',
      "Unknown member 'arguments'. Known: args, options.",
    ])
    expect(await refused('print:1.0', { options: { delay: 1 } })).toEqual([
      400,
      'BadRequest',
      expect.stringContaining("Unknown member 'delay'. Known: queue, delayMs, atMs, retries, key,"),
    ])
    expect(await refused('print:1.0', { options: { atMs: 1_764_280_000 } })).toEqual([
      400,
      'InvalidArgs',
      expect.stringContaining('1764280000 is in 1970: multiply seconds by 1000'),
    ])
    expect(await refused('print:1.0', [])).toEqual([400, 'BadRequest', 'Send an object with args, options.'])
    expect(await refused('gone:1.0')).toEqual([404, 'NoSuchTask', expect.any(String)])
    expect(await refused('other:1.0')).toEqual([403, 'Forbidden', expect.stringContaining('other:1.0')])
    const refusal = await jsonOf(await registry.post('api/enqueue/print:1.0', { args: { page: 'x' } }))
    expect(refusal.data.problems).toMatchObject([{ pointer: '/page' }])
  })
})

describe('schedules', () => {
  it('are written, listed, paused, resumed, run and removed', async () => {
    await fixture.worker([print])
    const registry = await fixture.registry()
    const entry = { name: 'nightly', cron: '0 3 * * *', timezone: 'Europe/Berlin', missed: 'skip', task: 'print:1.0' }
    const written = await jsonOf(await registry.post('api/schedules', { ...entry, args: { page: 3 } }))
    expect(written).toMatchObject({ ...entry, queue: 'q', args: { page: 3 }, nextMs: expect.any(Number) })
    // What is listed was read up to half a second ago.
    const listed = async (isSo: (schedule: { pausedMs?: number; lastMs?: number }) => boolean) =>
      eventually(async () => {
        const [schedule] = await jsonOf(await registry.get('api/schedules', 'view'))
        return schedule !== undefined && isSo(schedule)
      })
    await listed(() => true)
    const act = async (action: string) => bodyOf(await registry.post(`api/schedules/q/nightly/${action}`, {}))
    expect(await act('pause')).toEqual([200, { name: 'nightly', queue: 'q' }])
    await listed(({ pausedMs }) => pausedMs !== undefined)
    expect(await act('resume')).toEqual([200, { name: 'nightly', queue: 'q' }])
    expect(await act('run')).toEqual([200, { name: 'nightly', queue: 'q', job: expect.any(String), isTwin: false }])
    await listed(({ pausedMs, lastMs }) => pausedMs === undefined && lastMs !== undefined)
    expect(await act('remove')).toEqual([200, { name: 'nightly', queue: 'q' }])
    expect((await act('remove'))[0]).toBe(404)
    expect((await act('run'))[0]).toBe(404)
  })
})

describe('the overview', () => {
  it('counts jobs where they lie, and how old the oldest due one is', async () => {
    const { registry } = await withDead()
    await fixture.redis.zadd(keys().scheduled, 4e12, '{"id":"s","task":"t:1.0"}')
    await fixture.redis.zadd(keys().retries, 4e12, '{"id":"r","task":"t:1.0"}')
    await fixture.redis.set(keys().paused, '1')
    const old = (Date.now() - 600_000) * 1000
    await fixture.redis.rpush(keys().jobs, `{"at":${old},"ttl":0,"id":"w","task":"t:1.0"}`)
    const overview = await eventually(async () => {
      const read = await jsonOf(await registry.get('api/overview'))
      return read.jobs === 1 && read
    })
    expect(overview).toMatchObject({ jobs: 1, scheduled: 1, retrying: 1, dead: 1 })
    expect(overview.oldestJobMs).toBeGreaterThan(590_000)
    const [queue] = await jsonOf(await registry.get('api/queues'))
    expect(queue.oldestJobMs).toBeGreaterThan(590_000)
    expect(queue.deadBefore).toEqual(expect.any(Number))
    const { series } = await jsonOf(await registry.get('api/history?range=15m'))
    expect(series.dead.at(-1)).toEqual(expect.any(Number))
  })
})
