import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { useRedis } from '../support/hub-fixture.ts'
import { runJobs } from './jobs-run.ts'
import { anyRun } from './jobs-steps.ts'
import { searchOf } from './search.ts'

/**
 * What the functions make of jobs, against a small model: all of Redis is compared after each step, and at the end each job has come to
 * its end. See search.ts for longer searches, and to see a failure again.
 */
const search = searchOf(1 / 4)
const { numRuns } = search
const it_ = useRedis()
let runs = 0

const situations = [
  'a batch did not end well',
  'a batch ended well',
  'a batch is told from another queue',
  'a cancelled job was not tried again',
  'a cancelled job was passed over',
  'a dead job stays dead beside its twin',
  'a given-up command arrived',
  'a job was given up that killed three workers',
  'a job was put off',
  'a step goes to another queue',
  'a twin',
  'a twin of a batch',
  'another one waits meanwhile',
  'done elsewhere, and not known to be',
]

describe('jobs', () => {
  it(
    `are where the model says after each step of ${numRuns} runs, and all come to their ends`,
    async () => {
      const seen = new Set<string>()
      const agree = fc.asyncProperty(anyRun(), async steps => {
        for (const situation of await runJobs(it_.redis, `jobs${++runs}`, steps)) seen.add(situation)
      })
      await fc.assert(agree, search)
      if (numRuns < 100) return
      // The rarest comes up in 3 of 100 runs: one of 30 times it is missing here, one of 30,000 behind 200 more.
      for (let more = 0; more < 8 && seen.size < situations.length; more++) await fc.assert(agree, { numRuns: 25 })
      expect([...seen].sort()).toEqual(situations)
    },
    60_000 + numRuns * 1000,
  )
})
