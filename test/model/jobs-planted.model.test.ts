import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { useRedis } from '../support/hub-fixture.ts'
import { jobsPlantedBugs } from './jobs-planted-bugs.ts'
import { anySteps, runJobs } from './jobs-run.ts'
import { changedLibrary } from './planted.ts'

const it_ = useRedis()
let runs = 0

describe('the model of jobs finds', () => {
  afterEach(() => it_.redis.flushall())

  it.each(jobsPlantedBugs)('$operation: $bug', { timeout: 120_000 }, async ({ operation, from, to }) => {
    await it_.redis.function('LOAD', 'REPLACE', changedLibrary(operation, from, to))
    const property = fc.asyncProperty(anySteps, async steps => {
      await runJobs(it_.redis, `jobs${++runs}`, steps)
    })
    const { failed } = await fc.check(property, { seed: 20, numRuns: 400, endOnFailure: true })
    await it_.redis.function('FLUSH')
    expect(failed).toBe(true)
  })
})
