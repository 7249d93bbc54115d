import { describe, expect, it } from 'vitest'
import { UsageError } from '../../src/cli/arguments.ts'
import { enqueueLines, readLines } from '../../src/cli/enqueue-file.ts'
import { enqueueOptionsOf } from '../../src/cli/enqueue-flags.ts'
import { makeOutput } from '../../src/cli/output.ts'
import { toldLine } from '../../src/cli/progress.ts'
import type { Hub } from '../../src/hub/hub.ts'
import { HubError } from '../../src/wire/errors.ts'

describe('the flags of pshub enqueue', () => {
  it.each([
    [{}, {}],
    [
      { queue: 'mail', tracked: 'true' },
      { queue: 'mail', tracked: true },
    ],
    [{ wait: 'true' }, { tracked: true }],
    [
      { delay: '5m', expires: '1d', keep: '0' },
      { delayMs: 300_000, expiresMs: 86_400_000, keepResultMs: 0 },
    ],
    [{ at: '2030-01-01T08:00+01:00' }, { at: new Date(Date.UTC(2030, 0, 1, 7)) }],
    [{ backoff: '30s' }, { backoff: 30_000 }],
    [{ backoff: '1s,10s,1m' }, { backoff: [1000, 10_000, 60_000] }],
    [{ priority: 'low' }, { priority: 'low' }],
    [{ unique: '' }, { unique: true }],
    [{ unique: 'november' }, { unique: 'november' }],
  ] as [Record<string, string>, object][])('%j are %j', (flags, options) => {
    expect(enqueueOptionsOf(flags)).toEqual(options)
  })

  it.each([
    [{ queue: 'a b' }, '--queue must be the name of a queue'],
    [{ delay: '1s', at: '2030-01-01T08:00Z' }, 'Give --delay or --at, not both.'],
    [{ at: '2030-01-01' }, "--at must be a date and time like 2026-12-01T08:00:00Z; it is '2030-01-01'."],
    [{ retries: '-1' }, '--retries must be a whole number of at least 0'],
    [{ backoff: 'linear' }, '--backoff must be exponential, polynomial, a time'],
    [{ priority: 'urgent' }, "--priority must be high, normal, low; it is 'urgent'."],
  ] as [Record<string, string>, string][])('%j are refused', (flags, message) => {
    expect(() => enqueueOptionsOf(flags)).toThrow(message)
  })
})

describe('a file of entries', () => {
  it('has an entry in each line that is not empty, or the arguments of one', () => {
    expect(readLines('f', '["a:1.0",1]\r\n\n  \n["b:1.0"]', undefined)).toEqual([
      { entry: ['a:1.0', 1], line: 1 },
      { entry: ['b:1.0'], line: 4 },
    ])
    expect(readLines('f', '["a:1.0",1]', 't:1.0')).toEqual([{ entry: ['t:1.0', ['a:1.0', 1]], line: 1 }])
  })

  it('is told by its line where it is no JSON', () => {
    expect(() => readLines('f', '1\n\n{', 't:1.0')).toThrow(/^f, line 3, is not JSON: /)
    expect(() => readLines('f', '\n', 't:1.0')).toThrow(UsageError)
  })
})

describe('enqueuing from a file', () => {
  const lines = Array.from({ length: 25_000 }, (_, at) => ({ entry: ['t:1.0', at] as const, line: at + 1 }))
  const enqueue = (answers: (Error | undefined)[]) => {
    let sent = 0
    const hub = {
      enqueueMany: async (entries: unknown[], _: object, { checkOnly = false }) => {
        if (checkOnly) return { ids: [], twins: 0 }
        const error = answers[sent++]
        if (error) throw error
        return { ids: entries.map(String), twins: 0 }
      },
    }
    const { env, stdin, stdout, stderr } = process
    const host = { env, cwd: '.', stdin, stdout, stderr }
    const output = makeOutput(host)
    const invocation = { positionals: [], flags: { json: 'true' }, output, host, commands: async () => [] }
    return enqueueLines(hub as unknown as Hub, lines, {}, invocation, new AbortController().signal)
  }

  it('says how many are in where Redis goes away in the middle', async () => {
    const away = new HubError('NotEnqueued', 'Redis is away.')
    const broken = new HubError('NotEnqueued', '7 of 10000 ...', { data: { enqueued: 7 }, cause: away })
    await expect(enqueue([undefined, broken])).rejects.toMatchObject({
      code: 'OutcomeUnknown',
      message: '10007 of 25000 jobs were enqueued (the first of each queue), then it failed: Redis is away.',
      data: { enqueued: 10_007 },
    })
    // Certainly nothing.
    await expect(enqueue([away])).rejects.toBe(away)
    await expect(enqueue([new TypeError('a bug')])).rejects.toThrow(TypeError)
  })
})

it('the progress of a job is a bar, with what the handler says it is at', () => {
  const half = '[###############...............]  50%   5 of 10  page'
  expect(toldLine({ done: 5, total: 10, message: 'page\u001b[31m 5' })).toBe(`${half}\\u001b[31m 5`)
  expect(toldLine({ done: 5 })).toBe('5 done')
  expect(toldLine({ done: 12, total: 10 })).toContain('100%')
})
