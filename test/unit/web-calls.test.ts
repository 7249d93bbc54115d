import type { FailureOverview, SlowCallOverview, UnansweredOverview } from 'pshub'
import { describe, expect, it } from 'vitest'
import { longestPhase } from '../../registry/contract.ts'
import { failureGroups, failurePage, failuresQuery, failureView, timesOf } from '../../registry/web/rows/failures.ts'
import { shareOf, slowPage, slowQuery, slowView } from '../../registry/web/rows/slow-calls.ts'

const failed = (id: string, changes: Partial<FailureOverview> = {}): FailureOverview => ({
  id,
  at: 1_000_000,
  code: 'TaskFailed',
  message: 'on fire',
  execUs: 5,
  task: 'print:1.0',
  queue: 'q',
  worker: 'w1',
  host: 'h',
  pid: 1,
  ...changes,
})
const refused = (hub: string, changes: Partial<UnansweredOverview> = {}): UnansweredOverview => ({
  code: 'Overloaded',
  lastMinute: 2,
  count: 100,
  atMs: 3000,
  message: 'too much',
  task: 'print:1.0',
  queue: 'q',
  from: 'web',
  hub,
  host: 'h',
  pid: 9,
  ...changes,
})

describe('failures', () => {
  const groups = failureGroups(
    [
      failed('a', { at: 2_000_000 }),
      failed('b', { at: 4_000_000, worker: 'w2' }),
      failed('c', { message: 'out of ink', at: 3_500_000 }),
      failed('d', { task: 'mail:1.0', at: 1_000_000 }),
      failed('e', { code: 'Overloaded', message: 'too much', at: 500_000 }),
    ],
    [refused('hub1'), refused('hub2', { count: 1, lastMinute: 0, atMs: 5000, id: 'r' })],
  )
  const list = (query: Record<string, string>) =>
    failurePage(groups, failureView(query)).found.map(({ task, code, times }) => `${task} ${code} ${times}`)

  it('are of one kind where task, code, message and teller are equal, with all their calls, the latest first', () => {
    expect(list({})).toEqual([
      'print:1.0 Overloaded 101',
      'print:1.0 TaskFailed 2',
      'print:1.0 TaskFailed 1',
      'mail:1.0 TaskFailed 1',
      'print:1.0 Overloaded 1',
    ])
    expect(groups[0]).toMatchObject({ isUnanswered: true, lastMinute: 2, atMs: 5000 })
    expect(groups[0]!.entries.map(({ id, hub, times }) => [id, hub, times])).toEqual([
      ['r', 'hub2', 1],
      [undefined, 'hub1', 100],
    ])
    expect(groups[1]).toMatchObject({ isUnanswered: false, lastMinute: undefined, atMs: 4000 })
    expect(groups[1]!.entries.map(({ id, worker }) => [id, worker])).toEqual([
      ['b', 'w2'],
      ['a', 'w1'],
    ])
    expect(timesOf(groups)).toBe(106)
  })
  it('are asked for by task, code and words, as long as the service takes them', () => {
    expect(failuresQuery(failureView({ task: 'mail:1.0', code: 'Timeout', q: ' out of  ink ' }))).toBe(
      '?code=Timeout&task=mail:1.0&text=out+of++ink',
    )
    expect(failuresQuery(failureView({}))).toBe('')
    expect(failuresQuery(failureView({ code: 'x'.repeat(99) }))).toBe(`?code=${'x'.repeat(64)}`)
    expect(slowQuery(slowView({ phase: 'queue' }))).toBe('?phase=queue')
    expect(slowQuery(slowView({ phase: 'nonsense' }))).toBe('')
  })
})

describe('slow calls', () => {
  const call = (id: string, [backlog, queue, exec]: [number, number, number], task = 'a:1.0'): SlowCallOverview => ({
    id,
    at: 1,
    us: { backlog, queue, exec },
    totalUs: backlog + queue + exec,
    loopMs: 0,
    task,
    queue: 'q',
    worker: 'w',
    host: 'h',
    pid: 1,
  })
  const calls = [call('x', [10, 0, 90]), call('y', [60, 20, 20], 'b:1.0'), call('z', [0, 30, 10])]
  const list = (query: Record<string, string>) => slowPage(calls, slowView(query)).found.map(({ id }) => id)

  it('spend most of their time in one part', () => {
    expect(calls.map(longestPhase)).toEqual(['exec', 'backlog', 'queue'])
    expect(longestPhase(call('e', [5, 5, 5]))).toBe('backlog')
    expect(calls.map(each => shareOf(each, longestPhase(each)))).toEqual([0.9, 0.6, 0.75])
    expect(shareOf(call('0', [0, 0, 0]), 'exec')).toBe(0)
  })
  it('are sorted by the whole or a part', () => {
    expect(list({})).toEqual(['x', 'y', 'z'])
    expect(list({ sort: '-backlog' })).toEqual(['y', 'x', 'z'])
    expect(list({ sort: '-queue' })).toEqual(['z', 'y', 'x'])
    expect(list({ sort: 'exec' })).toEqual(['z', 'y', 'x'])
  })
})
