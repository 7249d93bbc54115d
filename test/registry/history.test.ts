import type { Overview } from 'pshub'
import { describe, expect, it } from 'vitest'
import { HistoryStore } from '../../registry/server/history.ts'

const load = (callsPerSecond: number) =>
  ({ callsPerSecond, errorRate: 0, us: { backlog: { p95: 7 }, exec: { p50: 5, p95: 9 } } }) as never

const reading = (atMs: number, { calls = 1, tasks = ['t:1.0'], queues = ['q'], backlog = 3 } = {}) => ({
  tookMs: 1,
  overview: {
    atMs,
    tasks: tasks.map(task => ({ task, queue: 'q', digest: 'd', workers: [], load: load(calls) })),
    workers: [],
    queues: queues.map(queue => ({ queue, backlog, oldestMs: undefined, slots: 4, busyShare: 0.5, load: load(calls) })),
    load: load(calls),
  } as unknown as Overview,
})

const start = 1_000_000_000_000
const step = 10_000
const recent = (history: HistoryStore, task = 't:1.0') => history.read('task', task, '15m').series.callsPerSecond

describe('history', () => {
  it('has the mean of each step, oldest first, with gaps where nothing was read', () => {
    const history = new HistoryStore()
    for (const [atMs, calls] of [
      [0, 2],
      [3000, 4],
      [9999, 9],
      [30_000, 8],
    ] as const)
      history.onReading(reading(start + atMs, { calls }))
    const { fromMs, stepMs, series } = history.read('all', '', '15m')
    expect(series.callsPerSecond).toHaveLength(90)
    expect(series.callsPerSecond.slice(-5)).toEqual([null, 5, null, null, 8])
    expect([fromMs + 89 * stepMs, stepMs]).toEqual([start + 30_000, step])
    expect(series).toMatchObject({ backlogP95Us: expect.arrayContaining([7]), execP50Us: expect.arrayContaining([5]) })
    expect(series.busyShare.at(-1)).toBe(0.5)
    expect(history.read('queue', 'q', '15m').series.backlog.at(-1)).toBe(3)
    expect(history.read('all', '', '1d').series.callsPerSecond.slice(-2)).toEqual([null, 5.75])
  })

  it('forgets what is older than its range, also after a pause that is longer', () => {
    const history = new HistoryStore()
    for (let at = 0; at < 200; at++) history.onReading(reading(start + at * step, { calls: at }))
    expect(recent(history)).toEqual(Array.from({ length: 90 }, (_, at) => 110 + at))
    history.onReading(reading(start + 500 * step, { calls: 7 }))
    expect(recent(history)).toEqual([...new Array(89).fill(null), 7])
  })

  it('starts anew when the clock goes back, and bears one that goes back a little', () => {
    const history = new HistoryStore()
    history.onReading(reading(start + 5 * step, { calls: 1 }))
    history.onReading(reading(start + 5 * step - 1, { calls: 9 }))
    expect(recent(history).slice(-2)).toEqual([null, null])
    history.onReading(reading(start + 5 * step, { calls: 3 }))
    expect(recent(history).slice(-2)).toEqual([null, 2])
    history.onReading(reading(start - 3600_000, { calls: 4 }))
    expect(recent(history)).toEqual([...new Array(89).fill(null), 4])
  })

  it('remembers what went for a day, so that it may come back', () => {
    const history = new HistoryStore()
    history.onReading(reading(start, { calls: 6 }))
    history.onReading(reading(start + step, { tasks: [], queues: [] }))
    history.onReading(reading(start + 2 * step, { calls: 8 }))
    expect(recent(history).slice(-3)).toEqual([6, null, 8])
    const day = (later: number) =>
      history.read('task', 't:1.0', '1d').series.callsPerSecond.some(value => value !== null && later > 0)
    history.onReading(reading(start + 23 * 3600_000, { tasks: [] }))
    expect(day(1)).toBe(true)
    history.onReading(reading(start + 25 * 3600_000, { tasks: [] }))
    expect(day(1)).toBe(false)
  })

  it('is bounded: further names wait until one has gone', () => {
    const history = new HistoryStore()
    const many = Array.from({ length: 3000 }, (_, at) => `task${at}:1.0`)
    history.onReading(reading(start, { tasks: many }))
    const known = () => many.filter(task => recent(history, task).some(value => value !== null)).length
    const first = known()
    expect(first).toBeLessThanOrEqual(2000)
    expect(first).toBeGreaterThan(1900)
    history.onReading(reading(start + step, { tasks: ['new:1.0', ...many] }))
    expect(recent(history, 'new:1.0').at(-1)).toBeNull()
    for (const at of [2, 3]) history.onReading(reading(start + at * step, { tasks: ['new:1.0', ...many.slice(100)] }))
    expect(recent(history, 'new:1.0').at(-1)).toBe(1)
    expect(recent(history, many[200]).at(-1)).toBe(1)
  })
})
