import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { useRedis } from '../support/hub-fixture.ts'
import { loadWithSetClock } from './keys-actors.ts'
import { runKeys } from './keys-run.ts'
import { anyKeySteps } from './keys-steps.ts'
import { searchOf } from './search.ts'

/**
 * What the functions make of keys, ordered and merged, against a small model: all of Redis is compared after each step, and at the end nothing
 * is left of any key. See search.ts for longer searches, and to see a failure again.
 */
const search = searchOf(1 / 2)
const { numRuns } = search
const it_ = useRedis()
let runs = 0

const situations = [
  'a given-up command arrived',
  'a job of a line lost three workers',
  'a key that lost a worker runs alone',
  'a payload came while its key ran',
  'a payload lost three workers',
  'a run left payloads behind',
  'a run of several keys',
  'an equal payload came',
  'an orphan of the future was freed',
  'an orphan was freed',
  'the clock was set back',
  'what came back was there again',
  'what came meanwhile had a time of its own',
]

describe('keys', () => {
  beforeAll(() => loadWithSetClock(it_.redis))

  it(
    `are where the model says after each step of ${numRuns} runs, and nothing is left of them`,
    async () => {
      const seen = new Set<string>()
      const agree = fc.asyncProperty(anyKeySteps(), async steps => {
        for (const situation of await runKeys(it_.redis, `keys${++runs}`, steps)) seen.add(situation)
      })
      await fc.assert(agree, search)
      if (numRuns < 100) return
      for (let more = 0; more < 8 && seen.size < situations.length; more++) await fc.assert(agree, { numRuns: 25 })
      expect([...seen].sort()).toEqual(situations)
    },
    60_000 + numRuns * 1000,
  )
})
