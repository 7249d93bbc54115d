import { describe, expect, it } from 'vitest'
import { stretchesOf } from '../../registry/web/rows/job-times.ts'
import type { JobDetails } from '../../src/index.ts'

/** What the page of a job draws of its times. */
const told = (job: Partial<JobDetails>, nowMs = 10_000) => {
  const none = { state: 'waiting', tries: 0, errors: [], isTracked: true, atMs: undefined }
  const times = { enqueuedMs: undefined, dueMs: undefined, startedMs: undefined, endedMs: undefined }
  return stretchesOf({ ...none, ...times, ...job } as JobDetails, nowMs).map(
    ({ kind, name, end, fromMs, toMs, isOpen, isToCome }) =>
      `${kind} ${fromMs}-${toMs} ${name}${end && `, ${end}`}${isToCome ? ' (to come)' : isOpen ? ' (open)' : ''}`,
  )
}
const failed = (at: number, started?: number) => ({ at, code: 'E', message: '', ...(started ? { started } : {}) })

describe('the times of a job', () => {
  it('that ends at its first try are two waits and a run', () => {
    expect(told({ state: 'done', enqueuedMs: 1000, dueMs: 4000, startedMs: 4100, endedMs: 5000 })).toEqual([
      'wait 1000-4000 waiting for its time',
      'wait 4000-4100 waiting for a slot',
      'run 4100-5000 try 1, done',
    ])
  })

  it('that goes on end now, or when it is due', () => {
    const enqueuedMs = 1000
    expect(told({ enqueuedMs, dueMs: 1000 })).toEqual(['wait 1000-10000 waiting for a slot (open)'])
    expect(told({ state: 'running', enqueuedMs, dueMs: 1000, startedMs: 2000 })).toEqual([
      'wait 1000-2000 waiting for a slot',
      'run 2000-10000 try 1 (open)',
    ])
    expect(told({ state: 'scheduled', enqueuedMs, dueMs: 60_000 })).toEqual([
      'wait 1000-60000 waiting for its time (to come)',
    ])
  })

  it('that was given up has each try, and one part where nobody wrote down when it began', () => {
    const errors = [failed(2000), failed(4000, 3500), failed(6000)]
    expect(
      told({ state: 'dead', tries: 3, errors, enqueuedMs: 1000, dueMs: 5000, startedMs: 5500, endedMs: 6000 }),
    ).toEqual([
      'both 1000-2000 try 1, failed: E',
      'wait 2000-3500 waiting for its next try and a slot',
      'run 3500-4000 try 2, failed: E',
      'wait 4000-5000 waiting for its next try',
      'wait 5000-5500 waiting for a slot',
      'run 5500-6000 try 3, failed: E',
    ])
  })

  it('that failed more often than is kept says so', () => {
    const errors = [failed(5000, 4000), failed(7000, 6000)]
    expect(told({ state: 'retrying', tries: 9, errors, enqueuedMs: 1000, dueMs: 9000 })).toEqual([
      'both 1000-4000 the first 7 tries, their times are not kept',
      'run 4000-5000 try 8, failed: E',
      'wait 5000-6000 waiting for its next try and a slot',
      'run 6000-7000 try 9, failed: E',
      'wait 7000-9000 waiting for its next try (open)',
    ])
  })

  it('that was dead and is tried again begins to count anew', () => {
    const job = { tries: 0, errors: [failed(3000, 2000)], enqueuedMs: 1000, dueMs: 1000, startedMs: 8000 }
    expect(told({ ...job, state: 'done', endedMs: 9000 })).toEqual([
      'wait 1000-2000 waiting to be taken',
      'run 2000-3000 an earlier try, failed: E',
      'wait 3000-8000 dead, and waiting for a slot',
      'run 8000-9000 try 1, done',
    ])
  })

  it('that was cancelled while it waited ends with that', () => {
    const times = { enqueuedMs: 1000, endedMs: 3000 }
    expect(told({ state: 'cancelled', ...times, dueMs: 60_000 })).toEqual([
      'wait 1000-3000 waiting for its time, cancelled',
    ])
    expect(told({ state: 'expired', ...times, dueMs: 2000 })).toEqual([
      'wait 1000-2000 waiting for its time',
      'wait 2000-3000 waiting for a slot, expired',
    ])
  })

  it('of which nothing is known are none, and clocks that differ turn none around', () => {
    expect(told({ state: 'dead', errors: [failed(3000)], tries: 1, endedMs: 3000 })).toEqual([])
    expect(told({ state: 'done', enqueuedMs: 1000, startedMs: 1010, endedMs: 1005 })).toEqual([
      'wait 1000-1010 waiting for a slot',
      'run 1010-1010 try 1, done',
    ])
  })
})
