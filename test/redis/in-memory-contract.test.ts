import { afterEach, beforeEach, describe } from 'vitest'
import { callCases } from '../support/stage-calls.ts'
import { jobCases } from '../support/stage-jobs.ts'
import { memoryStage, type Stage } from '../support/stages.ts'

/** The cases that the Redis in memory of pshub/testing has in common with a real one. Its clock is moved, so that none of them waits. */
describe('on a Redis in memory', () => {
  let stage: Stage
  beforeEach(async () => {
    stage = await memoryStage()
  })
  afterEach(() => stage.end())

  describe('calls', () => callCases(() => stage))
  describe('jobs', () => jobCases(() => stage))
})
