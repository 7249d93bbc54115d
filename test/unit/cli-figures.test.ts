import { describe, expect, it } from 'vitest'
import type { Overview } from '../../src/catalogue/overview.ts'
import { type Sort, writeOverviewTables } from '../../src/cli/top-view.ts'
import type { Load } from '../../src/figures/load.ts'
import { linesOf } from '../support/lines-of.ts'

describe('the view of pshub top', () => {
  const load = (exec: number, callsPerSecond: number): Load => ({
    callsPerSecond,
    errorRate: 0,
    failed: {},
    rejected: {},
    notRun: {},
    us: {
      backlog: undefined,
      queue: undefined,
      exec: { count: 1, sum: exec, p50: exec, p95: exec, p99: exec, max: exec },
    },
  })
  const tasks = Array.from({ length: 40 }, (_, n) => ({
    task: `t${n}:1.0`,
    queue: 'q',
    workers: ['w'],
    load: load(n, 40 - n),
  }))
  const workers = Array.from({ length: 9 }, (_, n) => ({
    id: `worker-${n}-of-nine`,
    queue: 'q',
    host: 'h',
    pid: n,
    slots: 4,
    tasks: {},
    live: true,
    stats: { busy: 1, draining: false, busyShare: n / 10 },
    load: load(1, 1),
  }))
  const queues = [{ queue: 'q', backlog: 3, held: 0, busy: 9, slots: 36, workers: 9, load: load(1, 820) }]
  const overview = { tasks, workers, queues } as unknown as Overview
  const view = (lines: number | undefined, sort: Sort = 'load') =>
    linesOf(80, sink => writeOverviewTables(sink, overview, sort, lines))

  it('keeps to the lines that there are, whatever their number', () => {
    expect(view(undefined)).toHaveLength(40 + 9 + 1 + 5)
    for (let lines = 3; lines < 60; lines++) expect(view(lines).length, `${lines}`).toBe(Math.min(lines, 55))
    const text = view(20).join('\n')
    expect(text).toMatch(/^QUEUE .*\nq .*\n\nTASK .*\nt39:1.0 /)
    expect(text).toMatch(/\n34 more\n\nID .*\nworker-8 /)
    // Where there is no room for all, the tasks stay.
    expect(view(8).join('\n')).not.toContain('ID ')
    expect(view(4).join('\n')).toMatch(/^TASK .*\nt39:1.0 .*\nt38:1.0 .*\n38 more$/)
  })

  it('is sorted by what was asked for', () => {
    const first = (sort: Sort) => /^TASK.*\n(t\d+)/m.exec(view(undefined, sort).join('\n'))![1]
    expect([first('load'), first('calls'), first('name')]).toEqual(['t39', 't0', 't0'])
  })
})
