import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
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
    const other = await fixture.worker([add], { queue: 'other' })
    const read = async (id: string) => jsonOf(await registry.get(`api/workers/${id}`, 'view'))
    const detail = await eventually(async () => {
      const seen = await read(worker.id)
      return seen.failures?.length === 1 && seen.others?.length === 1 && seen
    })
    expect(detail.row).toMatchObject({ id: worker.id, queue: 'q', live: true, pid: process.pid })
    expect(detail.tasks).toMatchObject([
      { task: 'add:1.0', totals: { ok: 3, errors: {} }, load: { errorRate: 0 } },
      { task: 'fails:1.0', totals: { ok: 0, errors: { TaskFailed: 1 } }, load: { errors: { TaskFailed: 1 } } },
    ])
    expect(detail.tasks[0].load.callsPerSecond).toBeGreaterThan(0)
    expect(detail.others).toEqual([{ id: other.id, queue: 'other', live: true }])
    expect(detail.failures).toMatchObject([{ task: 'fails:1.0', worker: worker.id }])
    expect((await read(other.id)).tasks).toEqual([{ task: 'add:1.0' }])
    const refused = await eventually(async () => {
      const all = await jsonOf(await registry.get('api/refusals', 'view'))
      return all.length > 0 && all
    })
    expect(refused).toMatchObject([{ task: 'nobody:1.0', code: 'NoSuchTask', count: 1 }])
  })

  it('is refused by name where there is none', async () => {
    const registry = await fixture.registry()
    for (const id of ['nobody', 'x'.repeat(400), '%3Cb%3E%2F..%2F']) {
      const answer = await registry.get(`api/workers/${id}`, 'view')
      expect([id, answer.status]).toEqual([id, 404])
      expect((await jsonOf(answer)).error.message).toMatch(/^The registry knows no worker ".{0,210}"\.$/)
    }
  })
})
