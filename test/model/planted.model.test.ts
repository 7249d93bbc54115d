import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { libraryText } from '../../src/redis/library.ts'
import { useRedis } from '../support/hub-fixture.ts'
import { runJobs } from './jobs-run.ts'
import { anySteps as anyStepsOfJobs } from './jobs-steps.ts'
import { loadWithSetClock } from './keys-actors.ts'
import { runKeys } from './keys-run.ts'
import { anyKeySteps } from './keys-steps.ts'
import { eachBug } from './planted.ts'
import { bugsOfCalls, bugsOfJobs, bugsOfKeys } from './planted-bugs.ts'
import { anySteps, run } from './run.ts'

/**
 * Whether the models would notice. The runs are the same each time; PSHUB_MODEL_SEED begins others. What fails with a bug must pass
 * without it, or the search has found something else.
 */
const seed = Number(process.env.PSHUB_MODEL_SEED ?? 20)
const it_ = useRedis()
let namespaces = 0

/** The first of so many runs that fails, or undefined. */
const firstFailing = async <Run>(
  runs: fc.Arbitrary<Run>,
  numRuns: number,
  perform: (run: Run) => Promise<unknown>,
): Promise<Run | undefined> => {
  const property = fc.asyncProperty(runs, async each => {
    await perform(each)
  })
  const { counterexample } = await fc.check(property, { seed, numRuns, endOnFailure: true })
  return counterexample?.[0]
}

describe('the model finds', () => {
  afterEach(async () => {
    await it_.redis.config('SET', 'maxmemory', 0)
    await it_.redis.flushall()
  })

  it.each(eachBug(bugsOfCalls))('$operation: $bug', { timeout: 120_000 }, async ({ library }) => {
    const found = await firstFailing(anySteps(), 300, steps => run(it_.redis, steps, { library: library() }))
    expect(found).toBeDefined()
    await run(it_.redis, found!)
  })

  it('a worker that settles under a lost identity', async () => {
    const found = await firstFailing(anySteps(), 300, steps => run(it_.redis, steps, { unfenced: true }))
    expect(found).toBeDefined()
    await run(it_.redis, found!)
  })
})

describe('the model of jobs finds', () => {
  afterEach(() => it_.redis.flushall())

  const perform = (steps: Parameters<typeof runJobs>[2]) => runJobs(it_.redis, `jobs${++namespaces}`, steps)

  it.each(eachBug(bugsOfJobs))('$operation: $bug', { timeout: 120_000 }, async ({ touches, library }) => {
    await it_.redis.function('LOAD', 'REPLACE', library())
    const found = await firstFailing(anyStepsOfJobs(touches), 400, perform)
    expect(found).toBeDefined()
    await it_.redis.function('LOAD', 'REPLACE', libraryText())
    await perform(found!)
  })
})

describe('the model of keys finds', () => {
  afterEach(() => it_.redis.flushall())

  const perform = (steps: Parameters<typeof runKeys>[2]) => runKeys(it_.redis, `keys${++namespaces}`, steps)

  it.each(eachBug(bugsOfKeys))('$operation: $bug', { timeout: 120_000 }, async ({ library }) => {
    await loadWithSetClock(it_.redis, library())
    const found = await firstFailing(anyKeySteps(), 400, perform)
    expect(found).toBeDefined()
    await loadWithSetClock(it_.redis)
    await perform(found!)
  })
})
