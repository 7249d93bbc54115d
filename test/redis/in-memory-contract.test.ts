import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { callCases } from '../support/stage-calls.ts'
import { jobCases } from '../support/stage-jobs.ts'
import { memoryStage, realStage, type Stage } from '../support/stages.ts'

/** The same cases on the Redis in memory of pshub/testing, whose clock is moved, and on a real one, where time goes by. */
describe.each(['in memory', 'real'])('on a Redis that is %s', kind => {
  let server: Awaited<ReturnType<typeof startServer>> | undefined
  let stage: Stage
  beforeAll(async () => {
    if (kind === 'real') server = await startServer()
  })
  afterAll(() => server?.stop())
  beforeEach(async () => {
    stage = await (server ? realStage(server.port) : memoryStage())
  })
  afterEach(() => stage.end())

  describe('calls', () => callCases(() => stage))
  describe('jobs', () => jobCases(() => stage))
})
