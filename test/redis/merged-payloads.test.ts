import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { mergedFixture, noting } from '../support/merged-fixture.ts'

const it_ = useRedis()
const { keysOf, declared } = mergedFixture(it_)

describe('merged jobs', () => {
  it('are serialized for their way, and deserialized for the handler', async () => {
    const seen: unknown[] = []
    const task = defineTask(
      'dates:1.0',
      {
        keyed: 'merged',
        args: { type: 'string' },
        serialize: (day: Date) => day.toISOString(),
        deserialize: (json: unknown) => new Date(json as string),
      },
      byKey => {
        seen.push(...byKey.get('a')!)
      },
    )
    await it_.worker([task])
    await it_.hub().enqueue(task, new Date(5), { key: 'a' })
    await eventually(() => seen.length === 1)
    expect(seen).toEqual([new Date(5)])
  })

  it('give up what is no payload of theirs, and run the others', async () => {
    it_.allowLeftovers()
    const { task, runs } = noting({ args: { type: 'number' }, batch: 4 })
    const hub = await declared(task)
    for (const key of ['a', 'b']) await hub.enqueue('merge:1.0', 1, { key, score: 2 })
    await it_.redis.zadd(
      keysOf().merged('merge:1.0', 'a'),
      '1',
      '"text"',
      '0',
      '{not],["json',
      '3',
      `${'['.repeat(80)}${']'.repeat(80)}`,
    )
    await it_.worker([task])
    await eventually(async () => (await hub.dead('q').count()) === 3 && runs.length >= 1)
    expect(runs.flatMap(({ keys }) => keys).sort()).toEqual([
      ['a', [1]],
      ['b', [1]],
    ])
  })

  it('refuse what has no meaning for them', async () => {
    const { task } = noting()
    const hub = await declared(task)
    const refused = async (options: object) => (await failure(hub.enqueue('merge:1.0', 1, options))).message
    expect(await refused({})).toContain('its jobs are merged: give a key')
    expect(await refused({ key: 'a', tracked: true })).toContain('tracked is not allowed for a merged job')
    expect(await refused({ key: 'a', retries: 3 })).toContain('Set it on the task')
    expect(await refused({ key: 'a', score: Number.NaN })).toContain('score must be a number')
    expect(await refused({ key: 'a', score: '1' })).toContain('score must be a number')
    expect((await failure(hub.batch([['merge:1.0', 1, { key: 'a' }]]))).message).toContain('cannot be one of a batch')
    expect((await failure(hub.chain([['merge:1.0', 1, { key: 'a' }]]))).message).toContain('a step of a chain')
    await it_.worker([task])
    expect(await failure(hub.call('merge:1.0', 1))).toMatchObject({ code: 'InvalidArgs' })
  })
})
