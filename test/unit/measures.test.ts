import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { Histogram } from '../../src/figures/histogram.ts'
import { maxKeptCalls, maxKeptTasks } from '../../src/figures/kept-calls.ts'
import { LoadSum, parseWorkerRecord } from '../../src/figures/load.ts'
import { LoopDelay } from '../../src/figures/loop-delay.ts'
import { parseSlowCalls, type SlowCall, SlowCalls, slowMemoryMs } from '../../src/figures/slow-calls.ts'
import { maxWindows, maxWindowsLength, TaskStats, type WorkerTasksJson } from '../../src/figures/task-stats.ts'
import type { Phases } from '../../src/wire/phases.ts'
import { SlotPool } from '../../src/worker/slot-pool.ts'
import { Slots } from '../../src/worker/slots.ts'

const us = (exec: number, backlog = 0, queue = 0): Phases => ({ backlog, queue, exec })
const readAt = (stats: TaskStats, now: number): WorkerTasksJson => JSON.parse(stats.text(now))
const allOwn = new Proxy({}, { getOwnPropertyDescriptor: () => ({ configurable: true, value: '' }) })

describe('what tasks did', () => {
  it('is counted since the start, and of the last minute with its waits', () => {
    const stats = new TaskStats(1000)
    stats.ran('a:1.0', undefined, us(1200, 30, 5), 1000)
    stats.ran('a:1.0', { code: 'TaskFailed' }, us(400), 31_000)
    stats.expired('a:1.0', 60_999)
    const early = readAt(stats, 60_999)
    expect(early.ms).toBe(59_999)
    expect(early.tasks['a:1.0']).toMatchObject({ ok: 1, rejected: { Expired: 1 }, failed: { TaskFailed: 1 } })
    expect(early.tasks['a:1.0']!.window).toMatchObject({ ok: 1, rejected: { Expired: 1 }, failed: { TaskFailed: 1 } })
    expect(early.tasks['a:1.0']!.window!.us.exec).toMatchObject({ sum: 1600, max: 1200 })
    expect(early.tasks['a:1.0']!.window!.us.queue).toEqual({ counts: [0, 1, 5, 1], sum: 5, max: 5 })
    // The first slice leaves as a whole.
    const later = readAt(stats, 61_000)
    expect(later.ms).toBe(50_000)
    expect(later.tasks['a:1.0']).toMatchObject({
      ok: 1,
      window: { ok: 0, rejected: { Expired: 1 }, failed: { TaskFailed: 1 } },
    })
    expect(stats.isChanged).toBe(true)
    const quiet = readAt(stats, 120_999)
    expect(quiet.tasks['a:1.0']).toEqual({
      ok: 1,
      rejected: { Expired: 1 },
      failed: { TaskFailed: 1 },
      callers: { '': 3 },
    })
    expect(stats.isChanged).toBe(false)
    stats.ran('a:1.0', undefined, us(1), 130_000)
    expect(readAt(stats, 130_000).tasks['a:1.0']).toMatchObject({ ok: 2, window: { ok: 1, rejected: {}, failed: {} } })
  })

  it('is the same as looking through the calls, whenever one looks', () => {
    const call = fc.record({ at: fc.integer({ min: 0, max: 200_000 }), exec: fc.integer({ min: 0, max: 1e6 }) })
    fc.assert(
      fc.property(fc.array(call, { maxLength: 60 }), fc.integer({ min: 0, max: 60_000 }), (calls, more) => {
        const stats = new TaskStats(0)
        calls.sort((a, b) => a.at - b.at)
        for (const { at, exec } of calls) stats.ran('a:1.0', undefined, us(exec), at)
        const now = (calls.at(-1)?.at ?? 0) + more
        const { ms, tasks } = readAt(stats, now)
        const seen = calls.filter(({ at }) => at >= now - ms)
        expect(ms).toBeLessThanOrEqual(60_000)
        expect(ms).toBeGreaterThanOrEqual(Math.min(now, 50_000))
        expect(tasks['a:1.0']?.window?.ok ?? 0).toBe(seen.length)
        expect(tasks['a:1.0']?.window?.us.exec.sum ?? 0).toBe(seen.reduce((sum, { exec }) => sum + exec, 0))
        expect(tasks['a:1.0']?.ok ?? 0).toBe(calls.length)
      }),
    )
  })

  it('of a thousand tasks stays of a bounded length, and no call is missing in the sum', () => {
    const stats = new TaskStats(0)
    const count = 1000
    for (let n = 0; n < count; n++)
      for (let call = 0; call <= n; call++) stats.ran(`task${n}:1.0`, undefined, us(2 ** (call % 30)), 5)
    const text = stats.text(10)
    expect(text.length).toBeLessThan(maxWindowsLength + count * 80 + 2000)
    const { tasks, others, ms } = JSON.parse(text) as WorkerTasksJson
    const windows = Object.values(tasks).flatMap(({ window }) => window ?? [])
    expect(windows.length).toBeGreaterThan(50)
    expect(windows.length).toBeLessThanOrEqual(maxWindows)
    expect(tasks['task999:1.0']!.window!.ok).toBe(1000)
    expect(tasks['task0:1.0']!.window).toBeUndefined()
    const all = (count * (count + 1)) / 2
    expect([...windows, others!].reduce((sum, { ok }) => sum + ok, 0)).toBe(all)
    expect(Object.values(tasks).reduce((sum, { ok }) => sum + ok, 0)).toBe(all)
    const record = parseWorkerRecord(JSON.parse(text), allOwn)!
    const sum = new LoadSum()
    for (const { window } of record.tasks.values()) sum.add(window, ms)
    sum.add(record.others, ms)
    expect(sum.load().us.exec!.count).toBe(all)
  })

  it('costs a beat as much as there are busy tasks, not as there are tasks', () => {
    const stats = new TaskStats(0)
    for (let n = 0; n < 5000; n++) stats.ran(`task${n}:1.0`, undefined, us(2 ** (n % 30)), 0)
    stats.text(0)
    stats.text(100_000)
    stats.ran('task7:1.0', undefined, us(100), 100_000)
    const encoded = vi.spyOn(JSON, 'stringify')
    const added = vi.spyOn(Histogram.prototype, 'add')
    const text = stats.text(100_000)
    // Name, totals and window of that one; three histograms of one slice.
    expect(encoded).toHaveBeenCalledTimes(3)
    expect(added).toHaveBeenCalledTimes(3)
    vi.restoreAllMocks()
    expect(Object.keys(JSON.parse(text).tasks)).toHaveLength(5000)
  })
})

describe('the load', () => {
  it('adds up workers whose windows cover different times', () => {
    const windowOf = (calls: number, code: string | undefined, startedAt: number) => {
      const stats = new TaskStats(startedAt)
      for (let n = 0; n < calls; n++)
        stats.ran('a:1.0', code === undefined ? undefined : { code }, us(1000 * (n + 1)), 20_000)
      return parseWorkerRecord(readAt(stats, 20_000), allOwn)!
    }
    const sum = new LoadSum()
    for (const record of [windowOf(30, undefined, 10_000), windowOf(10, 'TaskFailed', 15_000)])
      sum.add(record.tasks.get('a:1.0')!.window, record.ms)
    const { callsPerSecond, errorRate, failed, us: waits } = sum.load()
    expect({ callsPerSecond, errorRate, failed }).toEqual({
      callsPerSecond: 5,
      errorRate: 0.25,
      failed: { TaskFailed: 10 },
    })
    expect(waits.exec).toMatchObject({ count: 40, max: 30_000 })
    // Exactly: the 20th of 40 values is 10 ms, the 38th 28 ms.
    expect(Math.abs(waits.exec!.p50 - 10_000)).toBeLessThanOrEqual(10_000 / 32)
    expect(Math.abs(waits.exec!.p95 - 28_000)).toBeLessThanOrEqual(28_000 / 32)
    expect(new LoadSum().load()).toEqual({
      callsPerSecond: 0,
      errorRate: 0,
      failed: {},
      rejected: {},
      notRun: {},
      us: { backlog: undefined, queue: undefined, exec: undefined },
    })
  })

  it('takes of a stranger what is right, and never throws', () => {
    const histogram = { counts: [5, 1], sum: 5, max: 5 }
    const window = { ok: 1, failed: {}, us: { backlog: histogram, queue: histogram, exec: histogram } }
    const own = { 'a:1.0': '', 'b:1.0': '', __proto__: null }
    const hostile = JSON.parse(
      `{"ms":1000,"tasks":{"a:1.0":{"ok":1,"failed":{"__proto__":3,"not a code":2,"Timeout":1}},"b:1.0":{"ok":"1","failed":{}},"c:1.0":{"ok":1,"failed":{}},"__proto__":{"ok":1,"failed":{}}}}`,
    )
    hostile.tasks['a:1.0'].window = window
    const record = parseWorkerRecord(hostile, own)!
    expect([...record.tasks.keys()]).toEqual(['a:1.0'])
    expect(record.tasks.get('a:1.0')!.totals).toEqual({ ok: 1, rejected: {}, failed: { TaskFailed: 5, Timeout: 1 } })
    expect(record.tasks.get('a:1.0')!.window).toMatchObject({ ok: 1, failed: {} })
    const broken = [
      { ms: 0 },
      { ms: '1000' },
      { ms: 1e12 },
      { tasks: { 'a:1.0': { ok: 1, failed: {}, window: { ...window, us: { exec: histogram } } } } },
      { tasks: { 'a:1.0': { ok: 1, failed: {}, window: { ...window, ok: -1 } } } },
      { tasks: { 'a:1.0': { ok: 1, failed: {}, window: { ...window, failed: { Timeout: 1e300 } } } } },
    ]
    for (const change of broken) {
      const read = parseWorkerRecord({ ...hostile, ...change }, own)!
      expect(read.tasks.get('a:1.0')!.window, JSON.stringify(change)).toBeUndefined()
    }
    const anything = fc.oneof(
      fc.anything(),
      fc.record({ ms: fc.anything(), others: fc.anything(), tasks: fc.dictionary(fc.string(), fc.anything()) }),
    )
    fc.assert(
      fc.property(anything, value => {
        const read = parseWorkerRecord(value, allOwn)
        const sum = new LoadSum()
        for (const { window } of read?.tasks.values() ?? []) sum.add(window, read!.ms)
        expect(sum.load().callsPerSecond).toBeGreaterThanOrEqual(0)
      }),
    )
  })
})

describe('slow calls', () => {
  const slow = (id: string, exec: number): SlowCall => ({ id, at: 1, us: us(exec), loopMs: 0 })
  const idsOf = (calls: SlowCalls, now: number) =>
    Object.fromEntries(
      Object.entries(JSON.parse(calls.text(now)) as Record<string, SlowCall[]>).map(([task, list]) => [
        task,
        list.map(({ id }) => id),
      ]),
    )

  it('are the slowest of each task, slowest first, for some minutes', () => {
    const calls = new SlowCalls()
    for (let n = 0; n < 30; n++) {
      const exec = 10_000 + ((n * 7) % 30) * 1000
      if (calls.isSlow('a:1.0', us(exec))) calls.keep('a:1.0', slow(`${(n * 7) % 30}`, exec), n)
    }
    expect(idsOf(calls, 30)['a:1.0']).toEqual(Array.from({ length: maxKeptCalls }, (_, at) => `${29 - at}`))
    expect(calls.isSlow('a:1.0', us(20_000))).toBe(false)
    expect(calls.isSlow('a:1.0', us(1, 15_000, 15_000))).toBe(true)
    expect(calls.isSlow('b:1.0', us(999))).toBe(false)
    expect(calls.isChanged(31)).toBe(false)
    expect(calls.isChanged(slowMemoryMs + 5)).toBe(true)
    expect(idsOf(calls, slowMemoryMs + 30)).toEqual({})
    expect(calls.isChanged(slowMemoryMs + 30)).toBe(false)
    expect(calls.isSlow('a:1.0', us(1000))).toBe(true)
  })

  it('are kept of so many tasks, of which the quickest makes room', () => {
    const calls = new SlowCalls()
    for (let n = 0; n < maxKeptTasks; n++) calls.keep(`t${n}:1.0`, slow('x', 2000 + n), 0)
    expect(calls.isSlow('new:1.0', us(2000))).toBe(false)
    expect(calls.isSlow('new:1.0', us(2001))).toBe(true)
    calls.keep('new:1.0', slow('y', 2001), 0)
    const tasks = Object.keys(idsOf(calls, 0))
    expect(tasks).toHaveLength(maxKeptTasks)
    expect(tasks).toContain('new:1.0')
    expect(tasks).not.toContain('t0:1.0')
  })

  it('of a stranger are read where they are some', () => {
    const good = { id: 'abc', at: 5, us: us(7), code: 'Timeout', from: 'shop', loopMs: 3 }
    const read = parseSlowCalls(
      {
        'a:1.0': [good, null, 7, { ...good, id: 'no id' }, { ...good, at: -1 }, { ...good, us: { exec: 1 } }],
        'b:1.0': [{ ...good, code: 'not a code', from: 'x'.repeat(100), loopMs: 'long' }],
        'c:1.0': 'nothing',
        'not:1.0': [good],
      },
      { 'a:1.0': '', 'b:1.0': '', 'c:1.0': '' },
    )
    expect(read).toEqual({
      'a:1.0': [good],
      'b:1.0': [{ ...good, code: 'TaskFailed', from: 'x'.repeat(64), loopMs: 0 }],
    })
    fc.assert(fc.property(fc.anything(), value => void parseSlowCalls(value, allOwn)))
    fc.assert(fc.property(fc.array(fc.anything()), list => void parseSlowCalls({ 'a:1.0': list }, allOwn)))
  })
})

describe('the delay of the event loop', () => {
  it('is told of the last minute, and of the time of one call', () => {
    let now = 100_000
    const loop = new LoopDelay(() => now)
    loop.start()
    loop.stop()
    const tick = (lateMs: number) => {
      now += 20 + lateMs
      loop.tick()
    }
    for (let n = 0; n < 98; n++) tick(0)
    const before = now
    tick(300)
    tick(2)
    const { mean, p99, max } = loop.lately()
    expect([mean, max]).toEqual([3, 300])
    expect(p99).toBeLessThan(3)
    expect(loop.longestMs(before, now)).toBe(300)
    expect(loop.longestMs(before - 500, before + 25)).toBe(300)
    expect(loop.longestMs(before - 500, before)).toBe(0)
    expect(loop.longestMs(now - 1, now)).toBe(0)
    // A stall that is not over: the timer has not seen it.
    now += 220
    expect(loop.longestMs(now - 210, now)).toBe(200)
    for (let n = 0; n < 3500; n++) tick(0)
    expect(loop.lately()).toEqual({ mean: 0, p99: 0, max: 0 })
  })
})

describe('the busy share', () => {
  it('is that of the last minute', () => {
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const slots = new Slots(new SlotPool(4, 0))
    const shareAt = (ms: number) => {
      now = ms
      return slots.busyShare()
    }
    expect(shareAt(0)).toBe(0)
    const taken = [slots.take(false, 0), slots.take(false, 0)]
    expect(shareAt(1000)).toBe(0.5)
    slots.free(taken)
    for (let second = 2; second <= 61; second++) shareAt(second * 1000)
    expect(shareAt(61_500)).toBe(0)
    for (let n = 0; n < 4; n++) slots.take(false, now)
    expect(shareAt(121_500)).toBeCloseTo(1, 1)
    vi.restoreAllMocks()
  })
})
