import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask, PutOff } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { mergedFixture, noting } from '../support/merged-fixture.ts'

const it_ = useRedis()
const { keysOf, waiting, stateOf, declared } = mergedFixture(it_)

describe('merged jobs', () => {
  it('are not of a task that yields, which nobody would read; what its handler yields all the same is done', async () => {
    const keyed = 'merged' as const
    const message = 'merge:1.0: nobody reads what a run of merged jobs yields; let its handler yield nothing.'
    const declarations: (() => unknown)[] = [
      () => defineTask('merge:1.0', { keyed, yields: true } as object),
      () => defineTask('merge:1.0', { keyed }, async function* () {} as never),
    ]
    for (const declare of declarations) expect(declare).toThrow(new ConfigError(message))
    const done: string[] = []
    const task = defineTask('merge:1.0', { keyed }, byKey =>
      (function* () {
        for (const key of byKey.keys()) yield done.push(key)
      })(),
    )
    const hub = await declared(task)
    await hub.enqueue('merge:1.0', 1, { key: 'a' })
    await it_.worker([task])
    await eventually(async () => (await it_.redis.keys(`${it_.namespace}:{q}:merged:*`)).length === 0)
    await eventually(() => done.length > 0)
    expect(done).toEqual(['a'])
  })

  it('are handed to their handler together, each payload once, the lowest score first', async () => {
    const { task, runs } = noting({ batch: 10 })
    const hub = await declared(task)
    await hub.enqueue('merge:1.0', { v: 3 }, { key: 'a', score: 3 })
    await hub.enqueue('merge:1.0', { v: 1 }, { key: 'a', score: 1 })
    await hub.enqueueMany([
      ['merge:1.0', { v: 2, w: 0 }, { key: 'a', score: 2 }],
      ['merge:1.0', { w: 0, v: 2 }, { key: 'a', score: 2 }],
      ['merge:1.0', 'x', { key: 'b' }],
    ])
    await it_.worker([task])
    await eventually(() => runs.length === 1)
    expect(runs[0]!.keys).toEqual([
      ['a', [{ v: 1 }, { v: 2, w: 0 }, { v: 3 }]],
      ['b', ['x']],
    ])
    await eventually(async () => (await it_.redis.keys(`${it_.namespace}:{q}:merged:*`)).length === 0)
    expect(await it_.redis.hgetall(keysOf().lined)).toEqual({})
  })

  it('give up the payload with the lowest score after so many tries, and run the others at once', async () => {
    it_.allowLeftovers()
    const { task, runs } = noting({ retries: 1, backoff: 5 }, byKey => {
      if (byKey.get('a')?.includes('bad')) throw new Error('bad one')
    })
    const hub = await declared(task)
    await hub.enqueueMany([
      ['merge:1.0', 'bad', { key: 'a', score: 1 }],
      ['merge:1.0', 'good', { key: 'a', score: 2 }],
    ])
    const worker = await it_.worker([task])
    await eventually(() => runs.length === 3)
    expect(runs.map(({ keys, attempt }) => [keys[0]![1], attempt])).toEqual([
      [['bad', 'good'], 1],
      [['bad', 'good'], 2],
      [['good'], 1],
    ])
    const [dead] = await hub.dead('q').list()
    expect(dead).toMatchObject({ task: 'merge:1.0', args: 'bad', key: 'a', score: 1, tries: 2 })
    expect(dead!.errors.map(({ message }) => message)).toEqual(['bad one', 'bad one'])
    // Put back it merges with what waits, as if new and due now.
    await worker.stop()
    await hub.enqueue('merge:1.0', 'more', { key: 'a', score: 0, delayMs: 900_000 })
    expect(await hub.dead('q').retry()).toBe(1)
    expect(await waiting('a')).toEqual({ '"bad"': 1, '"more"': 0 })
    expect(await stateOf('a')).toEqual({ tries: 0, dueMs: undefined })
  })

  it('are put off without having failed', async () => {
    const { task, runs } = noting({}, () => {
      if (runs.length < 3) throw new PutOff(30)
    })
    await it_.worker([task])
    await it_.hub().enqueue('merge:1.0', 1, { key: 'a' })
    await eventually(() => runs.length === 3)
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 1, 1])
    const fences = runs.map(({ fence }) => fence)
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
  })
})
