import { expect, it } from 'vitest'
import { Batcher } from '../../src/forward/batcher.ts'
import type { ForwardTarget } from '../../src/forward/target.ts'

const jobs = ['a', 'b', 'c'].map(id => ({ id, task: 'paid', args: {}, attempt: 1 }))

/** What three jobs of one batch are told. */
const told = async (forward: unknown) => {
  const target = { forward } as ForwardTarget
  const batcher = new Batcher({ target, batch: 3, waitMs: 60_000, timeoutMs: 60_000, slots: 3 })
  const outcomes = await Promise.allSettled(jobs.map(job => batcher.add(job, new AbortController().signal)))
  return outcomes.map(outcome => (outcome.status === 'fulfilled' ? 'taken' : outcome.reason))
}

it.each([
  [{ reason: 'it is full', status: 200 }, 'The status of a TaskError must be'],
  [{ reason: 'it is full', retryAfterMs: Number.NaN }, 'retryAfterMs must be milliseconds'],
  [{ reason: 'it is full', retryAfterMs: Number.POSITIVE_INFINITY }, 'retryAfterMs must be milliseconds'],
  [{ reason: 'it is full', retryAfterMs: '5' }, 'retryAfterMs must be milliseconds'],
])('where %o is said of one job the others are done, and it is tried again', async (known, why) => {
  const [a, b, c] = await told(() => ({ taken: ['a', 'c'], failed: [{ id: 'b', ...known }] }))
  expect([a, c]).toEqual(['taken', 'taken'])
  expect(b).toMatchObject({ code: 'NotTaken', isFinal: false, retryAfterMs: 0 })
  expect(b.message).toMatch(/^it is full \(/)
  expect(b.message).toContain(why)
})

it.each([[7], ['xyz'], [{ taken: 7 }], [{ taken: [], failed: [null] }], [null]])('%o took none', async outcome => {
  for (const reason of await told(() => outcome)) expect(reason).toMatchObject({ code: 'NotTaken', isFinal: false })
})
