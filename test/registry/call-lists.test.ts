import type { FailureOverview, SlowCallOverview } from 'pshub'
import { beforeEach, describe, expect, it } from 'vitest'
import type { CallList } from '../../registry/contract.ts'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { failingCrowd } from '../support/failing-crowd.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { jsonOf, type TestRegistry, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()

describe('failures and slow calls of many workers', () => {
  let registry: TestRegistry
  beforeEach(async () => {
    await failingCrowd(fixture.redis, fixture.namespace, { workers: 30, tasks: 20 })
    registry = await fixture.registry()
  })
  const read = async <Call>(path: string): Promise<CallList<Call>> => jsonOf(await registry.get(path, 'view'))

  it('come newest or slowest first, a thousand at most, with how many there are', async () => {
    const failures = await read<FailureOverview>('api/failures')
    expect(failures).toMatchObject({ fitting: 6000, total: 6000, codes: ['Expired', 'TaskFailed'] })
    expect(failures.tasks).toHaveLength(20)
    expect(failures.calls).toHaveLength(1000)
    const times = failures.calls.map(({ at }) => at)
    expect(times).toEqual([...times].sort((a, b) => b - a))
    const slow = await read<SlowCallOverview>('api/slow?limit=5')
    expect(slow).toMatchObject({ fitting: 6000, total: 6000 })
    expect(slow.calls.map(({ us }) => us.exec)).toEqual([7909, 7909, 7909, 7909, 7909])
  })

  it('are chosen by task, code, phase and words, and found beyond the first thousand', async () => {
    const one = await read<FailureOverview>('api/failures?task=task_3:1.0&code=Expired')
    expect(one).toMatchObject({ fitting: 300, total: 6000 })
    expect(one.calls.every(({ task, code }) => task === 'task_3:1.0' && code === 'Expired')).toBe(true)
    expect(await read('api/failures?task=task_3:1.0&code=TaskFailed')).toMatchObject({ fitting: 0, calls: [] })
    expect((await read<FailureOverview>('api/failures?text=CALL-29-7-9%20luck')).calls).toMatchObject([
      { id: 'call-29-7-9', worker: 'failing-29', task: 'task_7:1.0' },
    ])
    expect(await read('api/slow?phase=backlog')).toMatchObject({ fitting: 0, total: 6000 })
    expect(await read('api/slow?phase=exec&task=task_3:1.0&limit=1')).toMatchObject({ fitting: 300 })
  })

  it('refuse what cannot be asked, and say what can', async () => {
    for (const [query, says] of [
      ['failures?limit=1001', "'limit' must be a whole number from 0 to 1000."],
      ['failures?phase=exec', "Unknown member 'phase'. Known: task, code, text, limit."],
      ['slow?phase=sleep', "'phase' must be one of backlog, queue, exec."],
    ]) {
      const response = await registry.get(`api/${query}`, 'view')
      expect([response.status, (await jsonOf(response)).detail]).toEqual([400, says])
    }
  })
})

it('refusals are counted by their calls', async () => {
  const registry = await fixture.registry()
  await fixture.worker([defineTask('echo:1.0', {}, () => 1)])
  const hub = fixture.hub()
  for (const task of ['no:1.0', 'no:1.0', 'nor:1.0']) await failure(hub.call(task, {}))
  const list = await eventually(async () => {
    const seen = await jsonOf(await registry.get('api/unanswered?task=no:1.0', 'view'))
    return seen.total === 3 && seen
  })
  expect(list).toMatchObject({ fitting: 1, total: 3, tasks: ['no:1.0', 'nor:1.0'], calls: [{ count: 2 }] })
})

describe('failures of 40,000 rows', () => {
  it('are read in short commands, newest first, and no more are kept than are looked at; a task with few is among them', async () => {
    await failingCrowd(fixture.redis, fixture.namespace, { workers: 200, tasks: 20 })
    const keys = makeKeys(fixture.namespace)
    const id = 'failing-rare'
    const card = { id, queue: 'q', host: 'h', pid: 1, slots: 1, tasks: { 'rare:1.0': 'd' } }
    const rare = { id: 'call-rare', at: 1_000_000, code: 'TaskFailed', message: 'long ago', execUs: 1 }
    await fixture.redis.hset(keys.workers, id, JSON.stringify(card))
    await fixture.redis.hset(keys.failures, id, JSON.stringify({ 'rare:1.0': [rare] }))
    await fixture.redis.config('RESETSTAT')
    const all = await fixture.hub().failures()
    expect(all).toHaveLength(10_001)
    expect(all.at(-1)).toMatchObject({ id: 'call-rare', worker: id })
    const times = all.map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => b - a))
    const stats = await fixture.redis.info('commandstats')
    // Of 200 records of some 35 kB each.
    expect(Number(/cmdstat_hmget:calls=(\d+)/.exec(stats)![1])).toBeGreaterThan(25)
  }, 60_000)
})
