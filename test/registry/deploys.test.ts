import type { Overview } from 'pshub'
import { describe, expect, it } from 'vitest'
import { readBuildsRow } from '../../registry/server/builds.ts'
import { Deploys } from '../../registry/server/deploys.ts'

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
    queues: [],
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

  it('which two registries saw are one, and old ones are forgotten', () => {
    const deploys = new Deploys()
    const deploy = { kind: 'task', what: 'a:2.0', queue: 'q' } as const
    const later = { ...deploy, atMs: start + 3600_000 }
    deploys.recall([{ ...deploy, atMs: start + 900 }, later, { ...deploy, atMs: start }], [], true)
    expect(told(deploys)).toEqual(['task a:2.0 0', 'task a:2.0 3600000'])
    deploys.onReading(overview(start + 30 * 86_400_000 + 1, {}))
    expect(told(deploys)).toEqual(['task a:2.0 3600000'])
  })
})

/** At a second, builds of live workers by queue. */
const running = (second: number, queues: Record<string, (string | undefined)[]>): Overview =>
  ({
    atMs: start + second * 1000,
    tasks: [],
    workers: Object.entries(queues).flatMap(([queue, builds]) =>
      builds.map(build => ({ live: true, client: 'js 1', queue, build })),
    ),
    queues: [{ queue: 'q', shards: [{ queue: 'q' }, { queue: 'shard.1.q' }] }],
  }) as unknown as Overview

const marks = (...readings: [second: number, queues: Record<string, (string | undefined)[]>][]) => {
  const deploys = new Deploys()
  for (const [second, queues] of readings) deploys.onReading(running(second, queues))
  return deploys
    .of('all', '', 0)
    .flatMap(({ kind, queue, what, atMs }) => (kind === 'build' ? `${(atMs - start) / 1000} ${queue} ${what}` : []))
}

describe('a new build', () => {
  it('is one deploy of its queue, however many workers run it', () => {
    expect(
      marks(
        [0, { q: ['a', 'a'], mail: [undefined] }],
        [1, { q: ['a', 'b'], mail: ['b'] }],
        [2, { q: ['b', 'b', 'c'] }],
      ),
    ).toEqual(['1 q b', '1 mail b', '2 q c'])
  })

  it('is none that lost workers have, and none where nobody says one', () => {
    const deploys = new Deploys()
    deploys.onReading(running(0, { q: ['a'] }))
    const { workers, ...rest } = running(1, { q: ['b'] })
    deploys.onReading({ ...rest, workers: workers.map(worker => ({ ...worker, live: false })) })
    deploys.onReading(running(2, { q: [undefined, 'a'] }))
    expect(deploys.of('all', '', 0)).toEqual([])
  })

  it('is one that comes back after it was replaced: at once, or side by side', () => {
    const atOnce = marks([0, { q: ['a'] }], [1, {}], [2, { q: ['b'] }], [3, {}], [4, { q: ['a'] }])
    expect(atOnce).toEqual(['2 q b', '4 q a'])
    const sideBySide = marks(
      [0, { q: ['a'] }],
      [1, { q: ['a', 'b'] }],
      [2, { q: ['b'] }],
      [62, { q: ['b'] }],
      [63, { q: ['b', 'a'] }],
      [64, { q: ['a'] }],
    )
    expect(sideBySide).toEqual(['1 q b', '63 q a'])
  })

  it('is remembered in bounds, and nothing else that Redis may have is', () => {
    const deploys = new Deploys()
    const queues = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`q${at}`, [`b${at % 7}`]]))
    deploys.onReading(running(0, queues))
    const rows = deploys.builds.rows()
    expect(rows.flatMap(([, , ...names]) => names)).toHaveLength(100)
    deploys.onReading(running(1, { q: ['a'] }))
    expect(deploys.builds.size).toBe(2000)
    for (const row of [
      ['builds'],
      ['builds', 'a'],
      ['builds', '', 'q'],
      ['builds', 'x'.repeat(201), 'q'],
      ['builds', 7, 'q'],
      ['builds', 'a', 'q', {}],
      ['builds', 'a', 'x'.repeat(201)],
      ['deploy', 'a', 'q'],
    ])
      expect(readBuildsRow(row), JSON.stringify(row)).toBeUndefined()
    expect(readBuildsRow(['builds', 'a', 'q', 'r'])).toEqual(['builds', 'a', 'q', 'r'])
  })
})
