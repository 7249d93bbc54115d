import { describe, expect, it } from 'vitest'
import type { QueueRow, Summary } from '../../registry/contract.ts'
import type { JobPage } from '../../registry/job-contract.ts'
import { healthOf } from '../../registry/web/rows/health.ts'
import { countIn, hasFilter, jobPlace, jobsQuery, jobsView, keyOfJob, seenState } from '../../registry/web/rows/jobs.ts'
import type { QueuedJob } from '../../src/index.ts'

const load = { callsPerSecond: 0, errorRate: 0, failed: {}, rejected: {}, notRun: {}, us: {} }
const queue = (name: string, changes: Partial<QueueRow>): QueueRow =>
  ({ queue: name, backlog: 0, jobs: 0, dead: 0, workers: 1, load, trend: [], ...changes }) as QueueRow
/** All that health looks at, with nothing wrong. */
const fine = { tasks: 1, unserved: 0, conflicts: 0, doubled: 0, workers: 1, draining: 0, lost: 0, unreadable: [] }
const summary = { ...fine, paused: 0, backlog: 0, jobs: 0, dead: 0, load } as unknown as Summary
const wrong = (changes: Partial<Summary>, queues: QueueRow[]) =>
  healthOf({ ...summary, ...changes }, queues)
    .filter(({ tone }) => tone !== 'good')
    .map(({ name, tone, place }) => `${name} ${tone} ${place}`)

describe('health', () => {
  it('tells of jobs that wait for long, but where nobody is to take them', () => {
    const waiting = (...rows: QueueRow[]) => wrong({ jobs: 1 }, rows)
    const late = { oldestJobMs: 301_000 }
    expect(waiting(queue('a', { oldestJobMs: 299_000 }))).toEqual([])
    expect(waiting(queue('a', late))).toEqual(['Jobs bad jobs?queue=a&state=waiting'])
    expect(waiting(queue('a', late), queue('b', late))).toEqual(['Jobs bad jobs?state=waiting'])
    expect(waiting(queue('a', { ...late, pausedMs: 1 }))).toEqual([])
    const texts = healthOf({ ...summary, jobs: 1 }, [queue('a', late), queue('b', { oldestJobMs: 3_600_000 })])
    expect(texts[0]!.text).toBe('Overdue in 2 queues: the oldest due job has waited 1 h.')
  })
  it('tells a growing dead set from one that is there, and one that is full', () => {
    const dead = (changes: Partial<QueueRow>) => wrong({ dead: 1 }, [queue('a', changes)])
    const growing = ['Dead jobs bad jobs?queue=a&state=dead']
    expect(dead({ dead: 19, deadBefore: 10 })).toEqual(['Dead jobs warn jobs?state=dead'])
    expect(dead({ dead: 20, deadBefore: 10 })).toEqual(growing)
    expect(dead({ dead: 500, deadBefore: undefined })).toEqual(['Dead jobs warn jobs?state=dead'])
    expect(dead({ dead: 10_000, deadBefore: 10_000 })).toEqual(growing)
    const [concern] = healthOf({ ...summary, dead: 1 }, [queue('a', { dead: 25, deadBefore: 5 })])
    expect(concern!.text).toBe('Growing in a: 20 new dead jobs in the last 15 minutes.')
  })
})

describe('the list of jobs', () => {
  it('is what its address says', () => {
    const query = (of: Record<string, string>) => jobsQuery(jobsView(of))
    expect(query({})).toBe('state=waiting')
    expect(query({ state: 'lost', q: '  ' })).toBe('state=waiting')
    expect(query({ state: 'dead', queue: 'mail', task: 'a:1.0', q: ' x&y ', from: 'mail:50' })).toBe(
      'state=dead&queue=mail&task=a%3A1.0&text=x%26y&from=mail%3A50',
    )
    expect(jobsView({ q: 'x'.repeat(300) }).text).toHaveLength(200)
    expect(query({ state: 'waiting', key: ' a&b ' })).toBe('state=waiting&key=+a%26b+')
    expect(hasFilter(jobsView({ key: 'a' }))).toBe(true)
    expect([hasFilter(jobsView({ from: 'a:1' })), hasFilter(jobsView({ q: 'x' }))]).toEqual([false, true])
  })
  it('knows the key of a job, but of a run of several', () => {
    const of = (changes: object) =>
      keyOfJob({ id: 'x', state: 'running', task: 't:1.0', queue: 'q', ...changes } as QueuedJob)
    expect(of({})).toBe(undefined)
    expect(of({ key: 'a' })).toEqual({ task: 't:1.0', key: 'a', queue: 'q' })
    expect(of({ id: 'm-17', key: 'a' })).toMatchObject({ key: 'a' })
    expect(of({ id: 'm-17', key: 'a and 2 more' })).toBe(undefined)
    expect(of({ state: 'waiting', key: 'a and 2 more' })).toMatchObject({ key: 'a and 2 more' })
  })
  it('has the counts that are known', () => {
    const page = (...waiting: (number | undefined)[]) =>
      ({ counts: waiting.map(each => ({ queue: 'q', waiting: each })) }) as JobPage
    expect(countIn(page(1, 2), 'waiting')).toBe(3)
    expect(countIn(page(1, undefined), 'waiting')).toBe(1)
    expect(countIn(page(undefined), 'waiting')).toBe(undefined)
    expect(countIn(page(), 'waiting')).toBe(0)
    expect(countIn(page(1), 'running')).toBe(undefined)
  })
  it('leads to where each one lies', () => {
    const job = { queue: 'q', state: 'dead', dueMs: undefined, deadMs: 1.5 } as QueuedJob
    expect(jobPlace(job)).toEqual({ queue: 'q', state: 'dead', at: '1.5' })
    expect(jobPlace({ ...job, deadMs: Number.NEGATIVE_INFINITY })).toEqual({ queue: 'q', state: 'dead' })
    expect([seenState('dead'), seenState('done'), seenState('zzz')]).toEqual(['dead', undefined, undefined])
  })
})
