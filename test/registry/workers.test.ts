import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { jsonOf, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const add = defineTask('add:1.0', {}, async () => 1)
const fails = defineTask('fails:1.0', {}, async () => {
  throw new Error('no')
})

describe('one worker', () => {
  it('has what it did itself of each task, not what others did', async () => {
    const registry = await fixture.registry()
    const worker = await fixture.worker([add, fails])
    const hub = fixture.hub()
    for (let call = 0; call < 3; call++) await hub.call('add:1.0', {})
    await failure(hub.call('fails:1.0', {}))
    await failure(hub.call('nobody:1.0', {}))
    const failsToo = defineTask('fails_too:1.0', {}, async () => {
      throw new Error('no')
    })
    const other = await fixture.worker([add, failsToo], { queue: 'other' })
    await failure(hub.call('fails_too:1.0', {}))
    await eventually(async () => (await jsonOf(await registry.get('api/failures'))).total === 2)
    const read = async (id: string) => jsonOf(await registry.get(`api/workers/${id}`, 'view'))
    const detail = await eventually(async () => {
      const seen = await read(worker.id)
      return seen.failures?.length === 1 && seen.others?.length === 1 && seen
    })
    expect(detail.row).toMatchObject({ id: worker.id, queue: 'q', live: true, pid: process.pid })
    expect(detail.tasks).toMatchObject([
      { task: 'add:1.0', totals: { ok: 3, failed: {} }, load: { errorRate: 0 } },
      { task: 'fails:1.0', totals: { ok: 0, failed: { TaskFailed: 1 } }, load: { failed: { TaskFailed: 1 } } },
    ])
    expect(detail.tasks[0].load.callsPerSecond).toBeGreaterThan(0)
    expect(detail.others).toEqual([{ id: other.id, queue: 'other', live: true }])
    expect(detail.failures).toMatchObject([{ task: 'fails:1.0', worker: worker.id }])
    const second = await read(other.id)
    expect(second.tasks).toMatchObject([{ task: 'add:1.0' }, { task: 'fails_too:1.0' }])
    expect(second.tasks[0]).toEqual({ task: 'add:1.0' })
    expect(second.failures).toMatchObject([{ task: 'fails_too:1.0', worker: other.id }])
    const refused = await eventually(async () => {
      const all = await jsonOf(await registry.get('api/unanswered', 'view'))
      return all.calls.length > 0 && all.calls
    })
    expect(refused).toMatchObject([{ task: 'nobody:1.0', code: 'NoSuchTask', count: 1 }])
  })

  it('has no figures of the last minute once its lease is gone, but what it did in all', async () => {
    const registry = await fixture.registry()
    const worker = await fixture.worker([add])
    const { id } = worker
    await fixture.hub().call('add:1.0', {})
    const read = async () => jsonOf(await registry.get(`api/workers/${id}`))
    expect(await eventually(async () => (await read()).tasks?.[0]?.load)).toMatchObject({ errorRate: 0 })
    // As if another one had taken over: it goes on under a new id.
    await fixture.redis.zrem(makeKeys(fixture.namespace).queue('q').leases, id)
    const lost = await eventually(async () => {
      const seen = await read()
      return seen.row?.live === false && seen.others.length > 0 && seen
    })
    expect(lost.tasks).toEqual([{ task: 'add:1.0', totals: { ok: 1, rejected: {}, failed: {} } }])
    expect(lost.others).toEqual([{ id: worker.id, queue: 'q', live: true }])
    expect(worker.id).not.toBe(id)
  })

  it('is refused by name where there is none', async () => {
    const registry = await fixture.registry()
    for (const id of ['nobody', 'x'.repeat(400), '%3Cb%3E%2F..%2F']) {
      const answer = await registry.get(`api/workers/${id}`, 'view')
      expect([id, answer.status]).toEqual([id, 404])
      expect((await jsonOf(answer)).detail).toMatch(/^The registry knows no worker ".{0,210}"\.$/)
    }
  })
})
