import type { Overview } from 'pshub'
import { describe, expect, it } from 'vitest'
import { Deploys, deployRow, readDeployRow } from '../../registry/server/deploys.ts'

interface Served {
  tasks?: Record<string, string>
  clients?: string[]
  workers?: string[]
}

/** What live workers of one queue have: tasks with the digests of their schemas. */
const overview = (atMs: number, { tasks = {}, clients = ['js 1'], workers = ['w'] }: Served): Overview =>
  ({
    atMs,
    tasks: Object.entries(tasks).map(([task, digest]) => ({ task, queue: 'q', digest, workers })),
    workers: clients.map(client => ({ live: true, client, queue: 'q' })),
  }) as unknown as Overview

const start = 1e12
const told = (deploys: Deploys) =>
  deploys.of('all', '', 0).map(({ kind, what, atMs }) => `${kind} ${what} ${atMs - start}`)

describe('deploys', () => {
  it('are what live workers have that was not there before', () => {
    const deploys = new Deploys()
    deploys.onReading(overview(start, { clients: [] }))
    const first = { 'a:1.0': 'x', 'b:1.0': 'x' }
    deploys.onReading(overview(start + 1, { tasks: first }))
    expect(told(deploys)).toEqual([])
    deploys.onReading(overview(start + 2, { tasks: { ...first, 'a:2.0': 'y' } }))
    deploys.onReading(overview(start + 3, { tasks: { ...first, 'a:2.0': 'y', 'b:1.0': 'z' } }))
    deploys.onReading(overview(start + 4, { tasks: first, clients: ['js 1', 'js 2'] }))
    expect(told(deploys)).toEqual(['task a:2.0 2', 'schema b:1.0 3', 'client js 2 4'])
    expect(deploys.of('task', 'a:1.0', 0).map(({ what }) => what)).toEqual(['a:2.0', 'js 2'])
    expect(deploys.of('queue', 'other', 0)).toEqual([])
    expect(deploys.of('queue', 'q', start + 3)).toHaveLength(2)
  })

  it('are no workers that start anew, go, and come back with the same', () => {
    const deploys = new Deploys()
    const tasks = { 'a:1.0': 'x' }
    deploys.onReading(overview(start, { tasks }))
    deploys.onReading(overview(start + 1, { tasks, workers: [], clients: [] }))
    deploys.onReading(overview(start + 2, { tasks: { 'a:3.0': 'x' }, workers: [] }))
    deploys.onReading(overview(start + 3, { tasks, workers: ['another'] }))
    expect(told(deploys)).toEqual([])
  })

  it('that came while nobody looked are told from what was known before, where all of that is known', () => {
    for (const areAll of [true, false]) {
      const deploys = new Deploys()
      deploys.recall([], ['a:1.0'], areAll)
      deploys.onReading(overview(start, { tasks: { 'a:1.0': 'x', 'a:2.0': 'x' } }))
      expect(told(deploys)).toEqual(areAll ? ['task a:2.0 0'] : [])
    }
  })

  it('which two registries saw are one, and old ones are forgotten', () => {
    const deploys = new Deploys()
    const deploy = { kind: 'task', what: 'a:2.0', queue: 'q' } as const
    const later = { ...deploy, atMs: start + 3600_000 }
    deploys.recall([{ ...deploy, atMs: start + 900 }, later, { ...deploy, atMs: start }], [], true)
    expect(told(deploys)).toEqual(['task a:2.0 0', 'task a:2.0 3600000'])
    deploys.onReading(overview(start + 30 * 86_400_000 + 1, {}))
    expect(told(deploys)).toEqual(['task a:2.0 3600000'])
  })

  it('are bounded, however often something new comes', () => {
    const deploys = new Deploys()
    for (let n = 0; n < 700; n++) deploys.onReading(overview(start + n, { tasks: { [`a:${n}.0`]: 'x' } }))
    expect(deploys.of('all', '', 0)).toHaveLength(100)
    expect(deploys.of('all', '', 0).at(-1)).toMatchObject({ what: 'a:699.0' })
    expect(deploys.inStep(start / 60_000, 60_000)).toHaveLength(20)
  })

  it('come back from Redis as they were, and nothing else does', () => {
    const deploy = { atMs: start, kind: 'client', what: 'js 2', queue: 'q' } as const
    expect(readDeployRow(deployRow(deploy))).toEqual(deploy)
    const [mark, kind, what, queue, atMs] = deployRow(deploy)
    for (const row of [
      [],
      [mark, kind, what, queue],
      ['task', kind, what, queue, atMs],
      [mark, 'x', what, queue, atMs],
      [mark, kind, '', queue, atMs],
      [mark, kind, 'x'.repeat(201), queue, atMs],
      [mark, kind, what, {}, atMs],
      [mark, kind, what, queue, -1],
      [mark, kind, what, queue, 1.5],
      [mark, kind, what, queue, atMs, 1],
    ])
      expect(readDeployRow(row)).toBeUndefined()
  })
})
