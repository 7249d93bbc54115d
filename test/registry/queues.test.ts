import { describe, expect, it } from 'vitest'
import { HistoryStore } from '../../registry/server/history.ts'
import { queueRow } from '../../registry/server/rows.ts'
import { defineTask } from '../../src/index.ts'
import { eventually } from '../support/hub-fixture.ts'
import { jsonOf, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()

const echo = defineTask('echo:1.0', {}, (value: unknown) => value)
const fail = defineTask('fail:1.0', {}, () => {
  throw new Error('no luck')
})

describe('POST /api/queues/<queue>', () => {
  it('pauses and resumes a queue, and what is shown says so', async () => {
    await fixture.worker([echo])
    const registry = await fixture.registry()
    const paused = await jsonOf(await registry.post('api/queues/q/pause', {}))
    expect(paused).toEqual({ queue: 'q', pausedMs: expect.any(Number) })
    expect((await jsonOf(await registry.post('api/queues/q/pause', {}))).pausedMs).toBe(paused.pausedMs)
    await eventually(async () => (await jsonOf(await registry.get('api/overview'))).paused === 1)
    expect(await jsonOf(await registry.get('api/queues'))).toMatchObject([{ queue: 'q', pausedMs: paused.pausedMs }])
    expect(await jsonOf(await registry.post('api/queues/q/resume', {}))).toEqual({ queue: 'q' })
    await eventually(async () => (await jsonOf(await registry.get('api/overview'))).paused === 0)
    expect((await registry.post('api/call/echo:1.0', { x: 1 })).status).toBe(200)
  })
})

describe('GET /api/tasks/<task>', () => {
  it('tells who calls it and what failed lately', async () => {
    await fixture.worker([echo, fail])
    const registry = await fixture.registry()
    const hub = fixture.hub({ name: 'shop' })
    await hub.call('echo:1.0', {})
    await hub.call('fail:1.0', {}).catch(() => undefined)
    await eventually(async () => (await hub.failures()).length === 1)
    const detailOf = async (task: string) => jsonOf(await registry.get(`api/tasks/${task}`))
    // Figures are published with the next beat.
    await eventually(async () => (await detailOf('fail:1.0')).callers.length > 0)
    const detail = await detailOf('fail:1.0')
    expect(detail.callers).toMatchObject([{ name: 'shop', calls: 1 }])
    expect(detail.failures).toMatchObject([{ task: 'fail:1.0', code: 'TaskFailed', message: 'no luck', from: 'shop' }])
    expect((await detailOf('echo:1.0')).failures).toEqual([])
    expect((await jsonOf(await registry.get('api/failures'))).calls).toHaveLength(1)
  })
})

describe('the row of a queue', () => {
  it('says how long its backlog takes to drain, where that is known', () => {
    const drainMs = (backlog: number, callsPerSecond: number) =>
      queueRow({ queue: 'q', backlog, load: { callsPerSecond } } as never, new HistoryStore()).drainMs
    expect([drainMs(10, 2), drainMs(1, 3), drainMs(0, 2), drainMs(10, 0)]).toEqual([5000, 333, undefined, undefined])
  })
})
