import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maxKeptCalls, maxKeptTasks } from '../../src/figures/kept-calls.ts'
import {
  type Failure,
  failureMemoryMs,
  maxFailuresLength,
  parseFailures,
  RecentFailures,
} from '../../src/figures/recent-failures.ts'

const failure = (id: string, message = 'no'): Failure => ({ id, at: 1, code: 'TaskFailed', message, execUs: 5 })
const allOwn = new Proxy({}, { getOwnPropertyDescriptor: () => ({ configurable: true, value: '' }) })
const idsOf = (failures: RecentFailures, now: number): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(JSON.parse(failures.text(now)) as Record<string, Failure[]>).map(([task, list]) => [
      task,
      list.map(({ id }) => id),
    ]),
  )

describe('recent failures', () => {
  it('are the last of each task, newest first, for an hour', () => {
    const failures = new RecentFailures()
    expect(failures.isChanged(0)).toBe(false)
    for (let n = 0; n < 14; n++) failures.keep('a:1.0', failure(`${n}`), n)
    failures.keep('b:1.0', failure('b'), 20)
    expect(failures.isChanged(20)).toBe(true)
    expect(idsOf(failures, 20)).toEqual({
      'a:1.0': Array.from({ length: maxKeptCalls }, (_, at) => `${13 - at}`),
      'b:1.0': ['b'],
    })
    expect(failures.isChanged(21)).toBe(false)
    expect(failures.isChanged(failureMemoryMs + 3)).toBe(false)
    expect(failures.isChanged(failureMemoryMs + 12)).toBe(true)
    expect(idsOf(failures, failureMemoryMs + 12)).toEqual({ 'a:1.0': ['13'], 'b:1.0': ['b'] })
    expect(failures.isChanged(failureMemoryMs + 12)).toBe(false)
    expect(failures.isChanged(failureMemoryMs + 20)).toBe(true)
    expect(idsOf(failures, failureMemoryMs + 20)).toEqual({})
  })

  it('are kept of so many tasks, of which the one that has not failed for longest makes room', () => {
    const failures = new RecentFailures()
    for (let n = 0; n < maxKeptTasks; n++) failures.keep(`t${n}:1.0`, failure('x'), n)
    failures.keep('t5:1.0', failure('y'), 100)
    failures.keep('t0:1.0', failure('y'), 100)
    expect(Object.keys(idsOf(failures, 100))).toHaveLength(maxKeptTasks)
    failures.keep('new:1.0', failure('z'), 101)
    const kept = idsOf(failures, 101)
    expect(Object.keys(kept)).toHaveLength(maxKeptTasks)
    expect(kept).toMatchObject({ 't0:1.0': ['y', 'x'], 't5:1.0': ['y', 'x'], 'new:1.0': ['z'] })
    expect(kept).not.toHaveProperty('t1:1.0')
  })

  it('are of a bounded length, whatever their messages are', () => {
    const failures = new RecentFailures()
    for (let n = 0; n < maxKeptTasks * maxKeptCalls; n++)
      failures.keep(`t${n % maxKeptTasks}:1.0`, failure(`${n}`, '\u0001'.repeat(5000)), n)
    const text = failures.text(500)
    expect(text.length).toBeLessThanOrEqual(maxFailuresLength)
    const kept = idsOf(failures, 500)
    // Those that failed last, all ten of each.
    expect(Object.keys(kept).length).toBeGreaterThan(3)
    expect(Object.keys(kept)[0]).toBe('t49:1.0')
    expect(Object.values(kept).every(ids => ids.length === maxKeptCalls)).toBe(true)
    const [first] = parseFailures(JSON.parse(text), allOwn)['t49:1.0']!
    expect(first!.message).toBe('\u0001'.repeat(300))
  })

  it('of a stranger never throw', () => {
    fc.assert(fc.property(fc.anything(), value => void parseFailures(value, allOwn)))
    fc.assert(fc.property(fc.array(fc.anything()), list => void parseFailures({ 'a:1.0': list }, allOwn)))
    const right: Record<string, unknown> = { ...failure('x'), from: 'shop' }
    const odd = fc.record(
      Object.fromEntries(Object.keys(right).map(name => [name, fc.oneof(fc.constant(right[name]), fc.anything())])),
    )
    fc.assert(
      fc.property(odd, value => {
        for (const { id, at, message } of parseFailures({ 'a:1.0': [value] }, allOwn)['a:1.0']!)
          expect([typeof id, typeof at, typeof message]).toEqual(['string', 'number', 'string'])
      }),
    )
  })
})
