import { afterEach, beforeEach, describe } from 'vitest'
import { useRedis } from '../support/hub-fixture.ts'
import { callCases } from '../support/stage-calls.ts'
import { jobCases } from '../support/stage-jobs.ts'
import { realStage, type Stage } from '../support/stages.ts'

/** The cases of the Redis in memory on a real one, where time passes by itself. */
describe('on a real Redis', () => {
  const it_ = useRedis()
  let stage: Stage
  beforeEach(async () => {
    stage = await realStage(it_.server.port)
  })
  afterEach(() => stage.end())

  describe('calls', () => callCases(() => stage))
  describe('jobs', () => jobCases(() => stage))
})
