import { afterEach, describe, expect, it } from 'vitest'
import { libraryText } from '../../src/redis/library.ts'
import { useRedis } from '../support/hub-fixture.ts'
import { runJobs } from './jobs-run.ts'
import { anySteps as anyStepsOfJobs } from './jobs-steps.ts'
import { eachBug, firstFailing } from './planted.ts'
import { bugsOfCalls, bugsOfJobs } from './planted-bugs.ts'
import { anyLossySteps, anySteps, run } from './run.ts'

/** Whether the models would notice bugs in what becomes of calls and jobs; planted-keys.long.test.ts has those of keys. */
const it_ = useRedis()
let namespaces = 0

describe('the model finds', () => {
  afterEach(async () => {
    await it_.redis.config('SET', 'maxmemory', 0)
    await it_.redis.flushall()
  })

  it.each(eachBug(bugsOfCalls))('$operation: $bug', { timeout: 120_000 }, async ({ library }) => {
    const changed = library()
    // What cannot be made, or loaded, is no bug that a run has shown.
    await it_.redis.function('LOAD', 'REPLACE', changed)
    const found = await firstFailing(anySteps(), 300, steps => run(it_.redis, steps, { library: changed }))
    expect(found).toBeDefined()
    await run(it_.redis, found!)
  })

  it.each([
    ['a worker that settles under a lost identity', anySteps, { settlesLost: true }],
    ['connections that do not fence their predecessors', anyLossySteps, { unfenced: true }],
  ])('%s', { timeout: 120_000 }, async (_, steps, faults) => {
    const found = await firstFailing(steps(), 1000, each => run(it_.redis, each, faults))
    expect(found).toBeDefined()
    await run(it_.redis, found!)
  })
})

describe('the model of jobs finds', () => {
  afterEach(() => it_.redis.flushall())

  const perform = (steps: Parameters<typeof runJobs>[2]) => runJobs(it_.redis, `jobs${++namespaces}`, steps)

  it.each([['a step of a chain that comes twice', ['arrive', 'sendOut', 'chain']]] as const)(
    'connections that do not fence their predecessors by %s',
    { timeout: 120_000 },
    async (_, pieces) => {
      const perform = (steps: Parameters<typeof runJobs>[2], isFenced = true) =>
        runJobs(it_.redis, `jobs${++namespaces}`, steps, isFenced)
      const found = await firstFailing(anyStepsOfJobs(pieces), 600, steps => perform(steps, false))
      expect(found).toBeDefined()
      await perform(found!)
    },
  )

  it.each(eachBug(bugsOfJobs))('$operation: $bug', { timeout: 120_000 }, async ({ touches, library }) => {
    await it_.redis.function('LOAD', 'REPLACE', library())
    const found = await firstFailing(anyStepsOfJobs(touches), 400, perform)
    expect(found).toBeDefined()
    await it_.redis.function('LOAD', 'REPLACE', libraryText())
    await perform(found!)
  })
})
