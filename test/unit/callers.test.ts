import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maxCallers, otherCallers } from '../../src/figures/callers.ts'
import { CallerSum, parseWorkerRecord } from '../../src/figures/load.ts'
import { sliceMs, TaskStats, type TaskStatsJson, type WorkerTasksJson } from '../../src/figures/task-stats.ts'

const us = { backlog: 0, queue: 0, exec: 1 }
const ran = (stats: TaskStats, from: string | undefined, now: number, times = 1) => {
  for (let n = 0; n < times; n++) stats.ran('a:1.0', undefined, us, now, from)
}
const readAt = (stats: TaskStats, now: number): TaskStatsJson => JSON.parse(stats.text(now)).tasks['a:1.0']
const sumOf = (callers: Record<string, number> = {}) => Object.values(callers).reduce((sum, count) => sum + count, 0)
const minuteMs = 6 * sliceMs

describe('who calls a task', () => {
  it('is counted since the start, and of the last minute', () => {
    const stats = new TaskStats(0)
    ran(stats, 'web', 0, 3)
    ran(stats, undefined, 9_999)
    ran(stats, 'cron', 25_000, 2)
    stats.expired('a:1.0', 25_000, 'web')
    expect(readAt(stats, 59_999)).toMatchObject({
      callers: { web: 4, '': 1, cron: 2 },
      window: { callers: { web: 4, '': 1, cron: 2 } },
    })
    const later = readAt(stats, minuteMs)
    expect(later.callers).toEqual({ web: 4, '': 1, cron: 2 })
    expect(later.window!.callers).toEqual({ web: 1, cron: 2 })
    // The slice that is used again begins with nothing.
    ran(stats, 'cron', minuteMs)
    expect(readAt(stats, minuteMs).window!.callers).toEqual({ web: 1, cron: 3 })
  })

  it('has names for so many, of which a quiet one makes room', () => {
    const stats = new TaskStats(0)
    for (let n = 0; n < maxCallers; n++) ran(stats, `s${n}`, 0, n + 1)
    for (let n = 1; n < maxCallers; n++) ran(stats, `s${n}`, 10_000)
    ran(stats, 'late', 59_999)
    const full = readAt(stats, 59_999)
    expect(full.callers).toMatchObject({ s0: 1, s19: 21, [otherCallers]: 1 })
    expect(full.callers).not.toHaveProperty('late')
    // The only slice that knows s0 has left the window.
    ran(stats, 'late', minuteMs, 5)
    ran(stats, 'later', minuteMs)
    const after = readAt(stats, minuteMs)
    expect(after.callers).toMatchObject({ late: 5, s19: 21, [otherCallers]: 3 })
    expect(after.callers).not.toHaveProperty('s0')
    expect(after.window!.callers).toMatchObject({ late: 5, s19: 1, [otherCallers]: 2 })
    // After a quiet minute there is room for all.
    ran(stats, 's0', 3 * minuteMs)
    expect(readAt(stats, 3 * minuteMs).window!.callers).toEqual({ s0: 1 })
  })

  it('adds up to all calls, whoever calls whenever', () => {
    const call = fc.record({ from: fc.integer({ min: 0, max: 40 }), at: fc.integer({ min: 0, max: 300_000 }) })
    fc.assert(
      fc.property(fc.array(call, { minLength: 150, maxLength: 200 }), calls => {
        const stats = new TaskStats(0)
        for (const { from, at } of calls.sort((a, b) => a.at - b.at)) ran(stats, from === 0 ? '*' : `s${from}`, at)
        const last = calls.at(-1)!
        const { callers, window } = readAt(stats, last.at)
        expect(sumOf(callers)).toBe(calls.length)
        expect(sumOf(window!.callers)).toBe(window!.ok)
        expect(Object.keys(callers!).length).toBeLessThanOrEqual(maxCallers + 1)
        const oldest = (Math.floor(last.at / sliceMs) - 5) * sliceMs
        for (const [name, count] of Object.entries(window!.callers!)) {
          const own = calls.filter(({ from, at }) => `s${from}` === name && at >= oldest)
          if (name !== otherCallers) expect(count).toBeLessThanOrEqual(own.length)
        }
      }),
    )
  })

  it('with made-up names does not make the record of a worker too long to be read', () => {
    const stats = new TaskStats(0)
    const count = 200
    for (let task = 0; task < count; task++) {
      for (let n = 0; n < maxCallers + 5; n++)
        stats.ran(`task${task}:1.0`, undefined, us, 5, `${n}`.padEnd(64, '\u0001'))
    }
    // In the last minute all of it is short, and each task has a window.
    for (let task = 0; task < count; task++) stats.ran(`task${task}:1.0`, undefined, us, 2 * minuteMs, 'web')
    const text = stats.text(2 * minuteMs)
    expect(text.length).toBeLessThan(700_000)
    const { tasks, others } = JSON.parse(text) as WorkerTasksJson
    expect(others).toBeUndefined()
    for (const { ok, window } of Object.values(tasks)) {
      expect(ok).toBe(maxCallers + 6)
      expect(window!.callers).toEqual({ web: 1 })
    }
    expect(Object.values(tasks).filter(({ callers }) => callers !== undefined).length).toBeGreaterThan(20)
  })

  it('is added up over workers, busiest first', () => {
    const own = { 'a:1.0': '' }
    const sum = new CallerSum()
    for (const startedAt of [0, 10_000]) {
      const stats = new TaskStats(startedAt)
      ran(stats, 'once', startedAt, 50)
      const later = startedAt + 100_000
      for (let n = 2; n < maxCallers; n++) ran(stats, `s${n}`, later)
      ran(stats, 'web', later, 5)
      ran(stats, 'one more', later, 10)
      ran(stats, 'too late', later, 30)
      const record = parseWorkerRecord(JSON.parse(stats.text(later)), own)!
      sum.add(record.tasks.get('a:1.0')!, record.ms)
    }
    const callers = sum.list()
    expect(callers.map(({ name }) => name).slice(0, 3)).toEqual(['one more', 'web', 's10'])
    expect(callers[1]).toEqual({ name: 'web', calls: 10, callsPerSecond: expect.closeTo(0.2) })
    // One whose name was given to another service, and one that found none.
    expect(callers.at(-1)).toEqual({ name: otherCallers, calls: 160, callsPerSecond: expect.closeTo(1.2) })
  })
})
