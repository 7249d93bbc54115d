import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { useRedis } from '../support/hub-fixture.ts'
import { changedLibrary } from './planted.ts'
import { plantedBugs } from './planted-bugs.ts'
import { anySteps, run } from './run.ts'

const it_ = useRedis()

/** What the first failing run says; the runs are the same each time. */
const firstFailure = async (options: Parameters<typeof run>[2] = {}): Promise<string | undefined> => {
  const property = fc.asyncProperty(anySteps(), async steps => {
    await run(it_.redis, steps, options)
  })
  const details = await fc.check(property, { seed: 20, numRuns: 300, endOnFailure: true })
  return details.failed ? (details.errorInstance as Error).message : undefined
}

describe('the model finds', () => {
  afterEach(async () => {
    await it_.redis.config('SET', 'maxmemory', 0)
    await it_.redis.flushall()
  })

  it.each(plantedBugs)('$operation: $bug', { timeout: 120_000 }, async ({ operation, from, to }) => {
    expect(await firstFailure({ library: changedLibrary(operation, from, to) })).toBeDefined()
  })

  it('a worker that settles under a lost identity', async () => {
    expect(await firstFailure({ unfenced: true })).toBeDefined()
  })
})
