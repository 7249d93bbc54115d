import { describe, expect, it } from 'vitest'
import {
  isTracked,
  type JobChoices,
  noChoices,
  optionsOf,
  scheduleOf,
} from '../../registry/web/try-it/background/choices.ts'

const nowMs = Date.parse('2026-11-23T00:00:00Z')
const read = (changes: Partial<JobChoices>) => optionsOf({ ...noChoices, ...changes }, nowMs)

describe('how a job is enqueued', () => {
  it('is as the task says, and its record is kept for an hour', () => {
    expect(read({})).toEqual({ options: { keepResultMs: 3_600_000 } })
    expect(read({ keep: 'no' })).toEqual({ options: {} })
  })

  it.each<[Partial<JobChoices>, object]>([
    [{ when: 'in', delay: '1,5', unit: 'min' }, { delayMs: 90_000 }],
    [{ when: 'in', delay: '2', unit: 'd' }, { delayMs: 172_800_000 }],
    [{ when: 'at', at: '2026-11-24T10:00:00' }, { atMs: new Date('2026-11-24T10:00:00').getTime() }],
    // What is not chosen does not count.
    [{ when: 'now', delay: '5', at: 'x', uniqueId: 'y' }, {}],
    [{ retries: ' 0 ' }, { retries: 0 }],
    [{ priority: 'low' }, { priority: 'low' }],
    [{ key: 'order-17' }, { key: 'order-17' }],
    [{ unique: 'args' }, { unique: true }],
    [{ unique: 'id', uniqueId: 'daily' }, { unique: 'daily' }],
    [{ keep: 'week' }, { keepResultMs: 604_800_000 }],
  ])('%j is %j', (changes, options) => {
    expect(read({ keep: 'no', ...changes })).toEqual({ options })
  })

  it.each<[Partial<JobChoices>, string]>([
    [{ when: 'in', delay: '' }, 'The delay must be a number.'],
    [{ when: 'in', delay: '-1' }, 'The delay must be a number.'],
    [{ when: 'in', delay: '4000', unit: 'd' }, 'The delay must be at most ten years.'],
    [{ when: 'at' }, 'Choose the day and the time.'],
    [{ when: 'at', at: '2040-01-01T00:00' }, 'The time must be at most ten years from now.'],
    [{ retries: '1.5' }, 'The retries must be a whole number.'],
    [{ unique: 'id' }, 'The unique id must have 1 to 100 characters.'],
  ])('%j is not', (changes, wrong) => expect(read(changes)).toEqual({ wrong }))

  it('of a merged task is its time, its key and its score', () => {
    const merged = (changes: Partial<JobChoices>) => optionsOf({ ...noChoices, key: 'a', ...changes }, nowMs, true)
    expect(merged({ retries: '3', priority: 'low', unique: 'args' })).toEqual({ options: { key: 'a' } })
    expect(merged({ score: ' -2,5 ', when: 'in', delay: '1', unit: 's' })).toEqual({
      options: { key: 'a', score: -2.5, delayMs: 1000 },
    })
    for (const score of ['soon', '1e999', 'NaN', '1 2'])
      expect(merged({ score })).toEqual({ wrong: 'The score must be a number.' })
    expect(read({ score: '3', keep: 'no' })).toEqual({ options: {} })
  })

  it('says whether somebody can look at it later', () => {
    expect([isTracked({}), isTracked({ unique: true }), isTracked({ keepResultMs: 1 })]).toEqual([false, true, true])
  })
})

describe('a schedule', () => {
  const times = { name: 'nightly', cron: ' 0 3 * * * ', timezone: '', missed: 'once' } as const
  it('is what was written', () => {
    expect(scheduleOf(times, 'a:1.0', { n: 1 }, '')).toEqual({
      schedule: { name: 'nightly', cron: '0 3 * * *', missed: 'once', task: 'a:1.0', args: { n: 1 } },
    })
    expect(scheduleOf({ ...times, timezone: 'Europe/Berlin' }, 'a:1.0', 1, '')).toMatchObject({
      schedule: { timezone: 'Europe/Berlin' },
    })
    expect(scheduleOf(times, 'a:1.0', 1, 'order-17')).toMatchObject({ schedule: { key: 'order-17' } })
  })
  it('needs a name and a time', () => {
    expect(scheduleOf({ ...times, name: 'a b' }, 'a:1.0', 1, '')).toEqual({
      wrong: expect.stringContaining('The name'),
    })
    expect(scheduleOf({ ...times, cron: ' ' }, 'a:1.0', 1, '')).toEqual({
      wrong: expect.stringContaining('Enter a cron entry'),
    })
  })
})
