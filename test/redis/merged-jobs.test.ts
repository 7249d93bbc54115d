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
      () => defineTask('merge:1.0', { keyed, yields: { type: 'integer' } } as object),
      () => defineTask('merge:1.0', { keyed }, async function* () {} as never),
      () => defineTask('merge:1.0', { keyed }).handler(function* () {} as never),
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

  it('merge with what waits: its time and its tries stay, and the later score counts', async () => {
    it_.allowLeftovers()
    const { task } = noting({ backoff: 100_000 }, () => Promise.reject(new Error('not yet')))
    const hub = await declared(task)
    const startedMs = Date.now()
    await hub.enqueue('merge:1.0', 'v1', { key: '1', score: 1 })
    await hub.enqueue('merge:1.0', 'v2', { key: '1', score: 2 })
    await it_.worker([task])
    await eventually(async () => (await stateOf('1')).tries === 1)
    const before = await stateOf('1')
    await hub.enqueue('merge:1.0', 'v2', { key: '1', score: 3, delayMs: 900_000 })
    await hub.enqueue('merge:1.0', 'v3', { key: '1', score: 4 })
    expect(await waiting('1')).toEqual({ '"v1"': 1, '"v2"': 3, '"v3"': 4 })
    expect(await stateOf('1')).toEqual(before)
    expect(before.dueMs).toBeGreaterThanOrEqual(startedMs + 100_000)
  })

  it('run when they are due, in the order of their times', async () => {
    const { task, runs } = noting()
    const hub = await declared(task)
    for (const [key, delayMs] of [
      ['c', 600],
      ['a', 200],
      ['d', 800],
      ['b', 400],
    ] as const)
      await hub.enqueue('merge:1.0', 1, { key, delayMs })
    await it_.worker([task])
    await eventually(() => runs.length === 4)
    expect(runs.map(({ keys }) => keys[0]![0])).toEqual(['a', 'b', 'c', 'd'])
  })

  it('wait while their key runs, and come behind it when that went well', async () => {
    let end: () => void = () => undefined
    const { task, runs } = noting({}, () => runs.length > 1 || new Promise<void>(resolve => (end = resolve)))
    await it_.worker([task], { slots: 4 })
    const hub = it_.hub()
    await hub.enqueue('merge:1.0', 1, { key: 'a', score: 1 })
    await eventually(() => runs.length === 1)
    await hub.enqueue('merge:1.0', 1, { key: 'a', score: 2 })
    await hub.enqueue('merge:1.0', 2, { key: 'a', score: 1 })
    expect(await waiting('a')).toEqual({ '1': 2, '2': 1 })
    expect(runs).toHaveLength(1)
    end()
    await eventually(() => runs.length === 2 && runs[1]!.to > 0)
    expect(runs[1]!.keys).toEqual([['a', [2, 1]]])
    expect(runs[1]!.from).toBeGreaterThan(runs[0]!.to)
    expect(runs[1]!.fence).toBeGreaterThan(runs[0]!.fence)
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
  })

  it('come in runs of so many keys and payloads as the task says', async () => {
    const { task, runs } = noting({ batch: 3, maxPayloads: 4 })
    const hub = await declared(task)
    const keys = ['a', 'b', 'c', 'd']
    await hub.enqueueMany(
      Array.from({ length: 40 }, (_, n) => ['merge:1.0', n, { key: keys[n % 4]!, score: n }] as const),
    )
    await it_.worker([task])
    await eventually(() => runs.flatMap(({ keys }) => keys.flatMap(([, payloads]) => payloads)).length === 40)
    for (const run of runs) {
      expect(run.keys.length).toBeLessThanOrEqual(3)
      for (const [, payloads] of run.keys) expect(payloads.length).toBeLessThanOrEqual(4)
    }
    for (const [at, key] of keys.entries()) {
      const own = runs.flatMap(run => run.keys.filter(([name]) => name === key).flatMap(([, payloads]) => payloads))
      expect(own).toEqual(Array.from({ length: 10 }, (_, n) => n * 4 + at))
    }
    await eventually(async () => Object.keys(await it_.redis.hgetall(keysOf().lined)).length === 0)
  })
})
